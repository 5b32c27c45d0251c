"""The workloads of bench/ give the same numbers in tapegrad and its peers, at reduced sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from contenders import jax_contender
from peers import differences
from workloads import WORKLOADS
from workloads.declare import Workload

_CALLS = 3
_EACH = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)


def _results(work: Any, read: Any) -> list[Any]:
    """Return the results of several calls."""
    return [read(result).copy() for _ in range(_CALLS) for result in work()]


def _of_torch_shaped(module: Any, workload: Workload) -> list[Any]:
    return _results(workload.make(module, **workload.small), lambda tensor: tensor.detach().numpy())


@pytest.mark.peer
@_EACH
def test_the_numbers_are_pytorchs(mode: str, torch: Any, workload: Workload) -> None:
    results = {"tapegrad": _of_torch_shaped(tapegrad, workload), "torch": _of_torch_shaped(torch, workload)}
    assert differences(results, workload.tolerance) == {}
    assert all(abs(result).max() > 0 for result in results["tapegrad"])


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("workload", [each for each in WORKLOADS.values() if each.make_jax], ids=lambda each: each.name)
def test_the_numbers_are_those_of_jax(workload: Workload) -> None:
    pytest.importorskip("jax")
    jax = jax_contender()
    assert workload.make_jax is not None
    theirs = _results(workload.make_jax(**workload.small), jax.read)
    assert differences({"tapegrad": _of_torch_shaped(tapegrad, workload), "jax": theirs}, workload.tolerance) == {}


def test_what_differs_is_reported() -> None:
    results = {"tapegrad": [np.array([1.0, 2.0])], "torch": [np.array([1.0, 2.1])], "numpy": [np.array([1.0, 2.1])]}
    assert list(differences(results, 0.01)) == ["tapegrad"]
    assert differences(results, 0.1) == {}
    assert list(differences({"tapegrad": [np.zeros(3)], "torch": [np.zeros(4)]}, 0.1)) == ["tapegrad"]
