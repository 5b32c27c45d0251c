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


def check_samples(name: str, dtype: str, programs: list[Any], except_numbers: bool = False) -> None:
    """Compare on the row's samples; where there is no kernel, it is for a Python number."""
    for sample in TABLE[name].samples():  # type: ignore[misc]
        operands = tensors(sample.operands, dtype)
        try:
            results = record(name, *operands, **sample.parameters)
        except (RuntimeError, NotImplementedError):  # the row refuses the dtype
            continue
        results = results if isinstance(results, tuple) else (results,)
        read(*results)
        given = [o for o in (*operands, *results) if isinstance(o, tapegrad.Tensor)]
        if all([o.numel() for o in given]) and not (except_numbers and len(given) < len(operands) + len(results)):
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


# Indexing

INDEXING = ("index_select", "gather", "index", "index_add", "index_copy", "index_fill", "scatter", "scatter_add", "index_put")
NUMBERS_PYTHON_CHECKS = {("index_fill", "int64"), ("scatter", "int64"), ("index_put", "int64")}


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name: str, dtype: str, programs: list[Any]) -> None:
    check_samples(name, dtype, programs, except_numbers=(name, dtype) in NUMBERS_PYTHON_CHECKS)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_embedding(dtype: str, programs: list[Any]) -> None:
    """Rows that are taken are added to in the derivative, however often."""
    weight = tapegrad.rand(10, 16, requires_grad=True)
    index = tapegrad.tensor(np.random.default_rng(0).integers(0, 10, (5, 40)), dtype=getattr(tapegrad, dtype))
    y = tapegrad.nn.functional.embedding(index, weight * 2)
    (y * tapegrad.rand(5, 40, 16)).sum().backward()
    read(weight.grad)
    assert not [name for program in programs for name in calls(program)]


def test_indexing_is_fused(programs: list[Any]) -> None:
    x = tapegrad.randn(6, 7, requires_grad=True)
    rows, columns = tapegrad.tensor([[0, -1], [5, 5]]), tapegrad.tensor([3, -7])
    y = (x * 2)[rows, columns] + (x + 1)[:, columns].sum() + tapegrad.gather(x, 1, rows.abs()).sum()
    y.sum().backward()
    read(y.detach(), x.grad)
    assert not [name for program in programs for name in calls(program)]


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

    def compile_and_note(plan: Any, environment: list[Any], draft: Any = None) -> Any:
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


@pytest.mark.parametrize("name", ["select", "index", "gather", "index_add", "index_put", "embedding", "scatter"])
def test_positions_out_of_range(name: str, monkeypatch: pytest.MonkeyPatch, kernel_folder: None) -> None:
    def compute(place: int) -> Any:
        x, at = tapegrad.ones(4, 3), tapegrad.tensor([0, place])
        if name == "select":
            result = x.index_select(1, at)
        elif name == "index":
            result = x[:, at]
        elif name == "gather":
            result = x.gather(1, at.reshape(2, 1))
        elif name == "index_add":
            result = x.index_add(0, at, tapegrad.ones(2, 3))
        elif name == "index_put":
            result = x.index_put((at,), tapegrad.tensor(2.0))
        elif name == "embedding":
            result = tapegrad.nn.functional.embedding(at, x)
        else:
            result = x.scatter(0, at.reshape(1, 2), 2.0)
        result.numpy()

    check_errors(compute, monkeypatch)
