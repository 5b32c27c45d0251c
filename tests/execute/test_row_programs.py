"""Softmax and its like, and reductions along any axes: loops of several passes, without Python in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import nn
from tapegrad.primitives.declare import TABLE

from .comparing import DTYPES, FLOATS, calls, compiled, read, record, runs, tensors

ROWS = ("softmax", "log_softmax", "logsumexp")
REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all")
INF, NAN = float("inf"), float("nan")


@pytest.fixture
def programs() -> Iterator[list[Any]]:
    tapegrad.manual_seed(0)
    with compiled() as programs:
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


@pytest.mark.parametrize("order", [2.0, 1.0, 0.0, INF, -INF])
def test_norms(order: float, programs: list[Any]) -> None:
    x = tapegrad.tensor([[1.0, -2.0, 0.0], [NAN, 1.0, 2.0], [-INF, 0.0, -0.0]])
    for axes in ((1,), (0,), (0, 1)):
        read(record("vector_norm", x * 2, order=order, axes=axes, keepdims=False))
        assert not calls(programs[-1])


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


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_long_lines(name: str, programs: list[Any]) -> None:
    """Over an axis that is neither first nor last, or several; of floats and integers, with NaN among them."""
    x = tapegrad.randn(3, 5, 2, 9, 20)
    x[1, 2, 1, 3] = NAN
    for operand in (x, x.permute(0, 3, 2, 1, 4), x[..., ::2], tapegrad.randint(-3, 4, x.shape, dtype=tapegrad.int8), x > -1):
        for axes in ((1,), (1, 2), (2, 3), (1, 3)):
            read(record(name, operand, axes=axes, keepdims=axes == (1,)))
            assert not calls(programs[-1])


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 37, 9), (2, 6, 63), (3, 3, 8), (2, 2, 40), (1, 50, 64)])
def test_reductions_of_short_lines(name: str, shape: tuple[int, ...], programs: list[Any]) -> None:
    """Several are added up at once, and some may be left at the end."""
    x = tapegrad.randn(shape)
    x[-1, -1, 3] = x[0, 1, 0] = NAN
    for operand in (x, x.to(tapegrad.float64) > -1, tapegrad.randint(-3, 4, shape, dtype=tapegrad.int8)):
        read(record(name, operand, axes=(1,), keepdims=False))
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


def test_reshaping_copies_where_it_has_to(programs: list[Any]) -> None:
    x = tapegrad.randn(4, 6, requires_grad=True)
    y = (x * 2).T.reshape(3, 8)
    z = x.T.reshape(24)
    (y.exp().sum() + (z * z).sum()).backward()
    read(y.detach(), z.detach(), x.grad)
    assert not [name for program in programs for name in calls(program)]


def test_loops_go_on_over_other_shapes_of_the_same_elements(programs: list[Any]) -> None:
    """A product's bias is added to a matrix; what comes then is a batch of rows, or a row of everything."""
    x, bias, w = tapegrad.randn(6, 20, requires_grad=True), tapegrad.randn(20, requires_grad=True), tapegrad.randn(2, 3, 1)
    y = (x + bias).reshape(2, 3, 20) * w
    z = tapegrad.softmax(y, -1) + (y * 2).reshape(6, 4, 5).reshape(2, 3, 20)
    (z.reshape(6, 20) * x.detach()).reshape(2, 60).sum(1).square().sum().backward()
    read(z.detach(), x.grad, bias.grad)
    (program,) = programs
    assert not calls(program) and len(program.fusion.stages) <= 3


def test_rows_that_are_reshaped(programs: list[Any]) -> None:
    x = tapegrad.randn(6, 20)
    means = (x * 2).mean(1)  # a value a row, in one dimension
    read((x - means.reshape(6, 1)) * means.reshape(2, 3).exp().reshape(6, 1), (x.reshape(2, 3, 20) * means.reshape(2, 3, 1)).sum((0, 1)))
    assert not calls(programs[-1])
