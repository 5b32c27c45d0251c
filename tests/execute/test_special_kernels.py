"""Kernels that are written for one primitive give what its NumPy function gives, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import tiering
from tapegrad.primitives.declare import TABLE

from .compiled import FLOATS, calls, compiling, read, record, tensors


@pytest.fixture
def programs(request: pytest.FixtureRequest) -> Iterator[list[Any]]:
    with compiling(request) as programs:
        yield programs


@pytest.fixture
def kernel_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(request.config.cache.mkdir("kernels")))  # type: ignore[union-attr]


def check_samples(name: str, dtype: str, programs: list[Any]) -> None:
    """Compare on the row's samples, and on operands that kernels make."""
    for sample in TABLE[name].samples():  # type: ignore[misc]
        operands = tensors(sample.operands, dtype)
        try:
            results = record(name, *operands, **sample.parameters)
        except (RuntimeError, NotImplementedError):  # the row refuses the dtype
            continue
        results = results if isinstance(results, tuple) else (results,)
        read(*results)
        if all([o.numel() for o in (*operands, *results) if isinstance(o, tapegrad.Tensor)]):
            assert not calls(programs[-1]), sample


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["nll_loss", "nll_loss_transpose"])
def test_losses(name: str, dtype: str, programs: list[Any]) -> None:
    check_samples(name, dtype, programs)


def test_cross_entropy_is_one_run(programs: list[Any]) -> None:
    x = tapegrad.randn(50, 100, requires_grad=True)
    target = tapegrad.tensor(np.random.default_rng(0).integers(0, 100, 50))
    for reduction in ("mean", "sum"):
        x.grad = None
        tapegrad.nn.functional.cross_entropy(x * 2, target, reduction=reduction, ignore_index=7).backward()
        read(x.grad)
        assert not calls(programs[-1]) and programs[-1].source.count("execute(") == 1


# Errors


def outcome(mode: str, compute: Any) -> str:
    """Return the error's text of a computation that is compiled, and then given data that it does not take."""
    before = tapegrad.get_mode()
    tapegrad.set_mode(mode)
    try:
        for place in (1, 0, 2):
            compute(place)
        with pytest.raises((IndexError, RuntimeError)) as caught:
            compute(99)
        return f"{caught.type.__name__}: {caught.value}"
    finally:
        tapegrad.set_mode(before)


def check_errors(compute: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error in jit mode is that of interpret mode, and the program stays."""
    monkeypatch.setattr(tiering, "threshold", 0.0)
    compiled = []
    compile_plan = tiering.compile_plan

    def compile_and_note(plan: Any, environment: list[Any]) -> Any:
        program = compile_plan(plan, environment)
        compiled.append((plan, program))
        return program

    monkeypatch.setattr(tiering, "compile_plan", compile_and_note)
    expected = outcome("interpret", compute)
    assert not compiled
    assert outcome("jit", compute) == expected
    ((plan, program),) = compiled
    assert plan.compiled.program is program and not calls(program)


def test_targets_out_of_bounds(monkeypatch: pytest.MonkeyPatch, kernel_folder: None) -> None:
    def compute(place: int) -> Any:
        loss = tapegrad.nn.functional.nll_loss(tapegrad.ones(2, 3), tapegrad.tensor([0, place]), reduction="sum")
        assert loss.item() == -2

    check_errors(compute, monkeypatch)
