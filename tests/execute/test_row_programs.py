"""Softmax and its like, and reductions along any axes: loops of several passes, without Python in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import nn
from tapegrad.primitives.declare import TABLE

from .compiled import DTYPES, FLOATS, calls, compiling, read, record, runs, tensors

ROWS = ("softmax", "log_softmax", "logsumexp")
REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all")
INF, NAN = float("inf"), float("nan")


@pytest.fixture
def programs() -> Iterator[list[Any]]:
    with compiling() as programs:
        yield programs


def parameters_of(name: str, axes: Any) -> dict[str, Any]:
    return {"axes": axes, "keepdims": False} if "keepdims" in TABLE[name].parameters else {"axes": axes}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROWS)
def test_rows_samples(name: str, dtype: str, programs: list[Any]) -> None:
    for sample in TABLE[name].samples():  # type: ignore[misc]
        operands = tensors(sample.operands, dtype)
        read(record(name, *operands, **sample.parameters))
        if operands[0].numel():
            assert not calls(programs[-1])


@pytest.mark.parametrize("name", ROWS)
def test_rows_at_edges(name: str, programs: list[Any]) -> None:
    """A row's largest element is not subtracted where it is infinite or NaN."""
    rows = [[1.0, INF, 2.0], [-INF, -INF, -INF], [NAN, 1.0, INF], [1e4, -1e4, 0.0], [-INF, 3.0, 1.0], [-0.0, 0.0, -0.0]]
    for dtype in FLOATS:
        x = tapegrad.tensor(rows, dtype=getattr(tapegrad, dtype))
        read(record(name, x, **parameters_of(name, (1,))), record(name, x * 2 + 1, **parameters_of(name, (1,))))
        read(record(name, x, **parameters_of(name, (0,))), record(name, x[:, :1] * 1, **parameters_of(name, (1,))))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_rows_along_any_axes(name: str, axes: Any, programs: list[Any]) -> None:
    x = tapegrad.randn(5, 7, 600)
    for operand in (x, x.permute(2, 0, 1), x[:, ::2]):
        read(record(name, operand * 2, **parameters_of(name, axes)))
        assert not set(calls(programs[-1])) - {"slice_axis"}


def test_logsumexp_of_integers(programs: list[Any]) -> None:
    read(record("logsumexp", tapegrad.arange(12).reshape(3, 4), axes=(1,), keepdims=False))
    assert not calls(programs[-1])


def test_softmax_joins_its_neighbours(programs: list[Any]) -> None:
    """And its derivative too: one loop, with one pass after another over each row."""
    x, w = tapegrad.randn(6, 40, requires_grad=True), tapegrad.randn(40)
    y = tapegrad.softmax(x * w, -1)
    ((y - y.mean(-1, keepdim=True)) ** 2).sum().backward()
    read(x.grad)
    (program,) = programs
    assert not calls(program) and runs(program) == 1 and len(program.fusion.stages) == 1


def test_layer_norm_joins_softmax(programs: list[Any]) -> None:
    x = tapegrad.randn(6, 40, requires_grad=True)
    norm = nn.LayerNorm(40)
    (norm(tapegrad.log_softmax(x, -1)) ** 2 * tapegrad.randn(40)).sum().backward()
    read(x.grad, norm.weight.grad)
    (program,) = programs
    assert not calls(program) and runs(program) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_samples(name: str, dtype: str, programs: list[Any]) -> None:
    for sample in TABLE[name].samples():  # type: ignore[misc]
        operands = tensors(sample.operands, dtype)
        read(record(name, *operands, **sample.parameters))
        if operands[0].numel():
            assert not calls(programs[-1])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (1, 3), (0, 2), (1, 2), (3,), (0, 1, 2, 3), (4,), (0, 3, 4)])
def test_reductions_over_any_axes(axes: Any, keepdims: bool, programs: list[Any]) -> None:
    x = tapegrad.rand(3, 4, 5, 6, 1)
    for operand in (x, x.permute(3, 2, 1, 0, 4), x * 2, (x * 2).permute(0, 3, 1, 2, 4), x.expand(3, 4, 5, 6, 2)):
        for name in ("reduce_sum", "reduce_max"):
            read(record(name, operand, axes=axes, keepdims=keepdims))
            assert not calls(programs[-1])


@pytest.mark.parametrize("name", ["reduce_prod", "reduce_any", "reduce_all", "reduce_min"])
def test_other_reductions_over_mixed_axes(name: str, programs: list[Any]) -> None:
    x = tapegrad.tensor(np.random.default_rng(0).integers(0, 2, (3, 4, 5)))
    for dtype in (tapegrad.float32, tapegrad.bool, tapegrad.int8, tapegrad.uint8):
        read(record(name, x.to(dtype), axes=(0, 2), keepdims=False), record(name, x.to(dtype), axes=(1,), keepdims=True))
        assert not calls(programs[-1])


def test_batch_norm(programs: list[Any]) -> None:
    x = tapegrad.randn(4, 3, 5, 5, requires_grad=True)
    norm = nn.BatchNorm2d(3)
    (norm(x) ** 2 * tapegrad.randn(5)).sum().backward()
    read(x.grad, norm.weight.grad, norm.bias.grad)
    assert not [name for program in programs for name in calls(program)]


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all"])
def test_truth_of_numbers(name: str, programs: list[Any]) -> None:
    """Any number but zero is true: along columns, rows and all, of values a row, and of an axis of length 1."""
    for dtype in ("int8", "uint8", "int64", "float32", "float64", "bool"):
        x = tapegrad.tensor([[2, 1, 4, 0], [1, 0, 2, 0], [4, 3, 1, 0]], dtype=getattr(tapegrad, dtype))
        half = x / 4 if x.is_floating_point() else x
        for operand in (half, half.unsqueeze(0)):
            for axes in ((0,), (1,), (0, 1)):
                read(record(name, operand, axes=axes, keepdims=False))
                assert not calls(programs[-1])
    rows = tapegrad.tensor([[0.25, 0.5], [0.0, 0.0], [1.5, 0.5]]).amax(1)
    read(record(name, rows, axes=(0,), keepdims=False))
    assert not calls(programs[-1])
