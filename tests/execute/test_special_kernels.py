"""Kernels that are written for one primitive give what its NumPy function gives, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import tiering
from tapegrad.execute.loops import Loop
from tapegrad.primitives.declare import TABLE

from .comparing import FLOATS, calls, compiled, read, record, tensors


@pytest.fixture
def programs() -> Iterator[list[Any]]:
    tapegrad.manual_seed(0)
    with compiled() as programs:
        yield programs


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


@pytest.mark.parametrize("dtype", FLOATS)
def test_binary_cross_entropy(dtype: str, programs: list[Any]) -> None:
    check_samples("binary_cross_entropy", dtype, programs)
    del programs[:]
    x = tapegrad.rand(20, 30, dtype=getattr(tapegrad, dtype), requires_grad=True)
    edges = tapegrad.tensor(np.array([0.0, 1.0, 1e-30, 0.5], dtype))
    tapegrad.nn.functional.binary_cross_entropy(x.sigmoid(), (x.detach() > 0.5).to(x.dtype)).backward()
    read(x.grad, record("binary_cross_entropy", edges + 0, edges.flip(0)))
    assert not any([calls(program) for program in programs])


def test_cross_entropy_is_one_run(programs: list[Any]) -> None:
    x = tapegrad.randn(50, 100, requires_grad=True)
    target = tapegrad.tensor(np.random.default_rng(0).integers(0, 100, 50))
    for reduction in ("mean", "sum"):
        x.grad = None
        tapegrad.nn.functional.cross_entropy(x * 2, target, reduction=reduction, ignore_index=7).backward()
        read(x.grad)
        assert not calls(programs[-1]) and programs[-1].source.count("execute(") == 1


@pytest.mark.parametrize("dtype", (*FLOATS, "int64", "uint8"))
def test_cross_products(dtype: str, programs: list[Any]) -> None:
    check_samples("cross", dtype, programs)


# Integers

DIVISIONS = ("floor_divide", "div_floor", "trunc_divide", "remainder", "fmod")


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_division_of_integers(name: str, dtype: str, programs: list[Any]) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, -7 % limits.max, 7, 0, 100, 3, limits.min], dtype)
    divisors = [3, 2, 1, limits.max, *([-1, -2, -7, limits.min] if limits.min else [])]
    x = tapegrad.tensor(a) + 0
    for operand in (x, x[::2], x.reshape(2, 4).T, x.reshape(8, 1)):
        read(record(name, operand, tapegrad.tensor(np.array(divisors, dtype)).reshape(-1, 1, 1)))
        read(record(name, operand, 3))
        assert not calls(programs[-1])
    read(record(name, 1000, tapegrad.tensor(np.array([3, 7]))), record(name, x, tapegrad.tensor(np.array([3, 7])).reshape(2, 1)))
    assert not calls(programs[-1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_as_integers(dtype: str, programs: list[Any]) -> None:
    x = tapegrad.tensor(np.array([0.5, -0.5, -1.9, 2.9, 1e6, -1e6, 2.0**31 - 256, -(2.0**31), 0.0, -0.0] * 10, dtype))
    read(x.int(), x.long(), (x * 1.5).long() + 1, x.bool())
    assert not calls(programs[-1])
    far = [300, -300, 70000, -70000, 3e9, -3e9, 1e19, np.nan, np.inf, -np.inf]  # what does not fit wraps, or is 0
    x = tapegrad.tensor(np.array([*far, 255.9, -128.9, 128, -129] * 5, dtype))
    for narrow in (tapegrad.int8, tapegrad.int16, tapegrad.uint8):
        read((x * 1.25).to(narrow), x[::2].to(narrow) + 1)
        assert not calls(programs[-1])


def test_shifts(programs: list[Any]) -> None:
    for name in ("left_shift", "right_shift"):
        for dtype in ("int64", "int32", "int8", "uint8"):
            check_samples(name, "float32", programs)
            x = tapegrad.tensor(np.arange(-5, 20).astype(dtype)) + 0
            read(record(name, x, 3), record(name, x, tapegrad.tensor(np.array([[0], [7], [8], [31], [100]], dtype))))
            assert not calls(programs[-1])


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


# Elements elsewhere, and along an axis

MOVEMENT = ("pad_slice", "pad", "pad_diagonal", "fold", "concatenate", "roll", "tril", "triu")
SCANS = ("cumsum", "cumprod", "argmax", "argmin", "max_with_index", "min_with_index")


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("name", MOVEMENT)
def test_movement(name: str, dtype: str, programs: list[Any]) -> None:
    check_samples(name, dtype, programs, except_numbers=(name, dtype) == ("pad", "int64") or dtype == "bool")


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "bool"])
@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str, dtype: str, programs: list[Any]) -> None:
    check_samples(name, dtype, programs)


@pytest.mark.parametrize("name", SCANS)
def test_scans_at_edges(name: str, programs: list[Any]) -> None:
    nan, inf = float("nan"), float("inf")
    rows = [[1.0, nan, 2.0, nan], [-inf, inf, -inf, inf], [-0.0, 0.0, -0.0, 0.0], [3.0, 3.0, 1.0, 1.0]]
    for operand in (tapegrad.tensor(rows), tapegrad.tensor(rows).T, tapegrad.tensor(rows)[:, ::2]):
        for axis in (0, 1):
            parameters = {"axis": axis, "keepdims": False} if "keepdims" in TABLE[name].parameters else {"axis": axis}
            results = record(name, operand, **parameters)
            read(*results if isinstance(results, tuple) else (results,))
            assert not calls(programs[-1])


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_of_long_lines(name: str, programs: list[Any]) -> None:
    x = tapegrad.randn(4, 3, 5, 10)
    for operand in (x, x.permute(2, 1, 0, 3), x[..., ::2], x[:, :1], x > 0):
        for axis in (0, 1, 2):
            read(record(name, operand, axis=axis))
            assert not calls(programs[-1])


def test_concatenation_promotes(programs: list[Any]) -> None:
    x = tapegrad.randn(2, 3, requires_grad=True)
    y = tapegrad.cat([x * 2, tapegrad.arange(3).reshape(1, 3), tapegrad.tensor([[True, False, True]])])
    (y * tapegrad.cat([y[1:], y[:1]])).sum().backward()
    read(y.detach(), x.grad)
    assert not [name for program in programs for name in calls(program)]


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_updates(dtype: str, programs: list[Any]) -> None:
    """All are kernels but one through a shape that the contiguous copy has no view of."""
    for sample in TABLE["update"].samples():  # type: ignore[misc]
        read(record("update", *tensors(sample.operands, dtype), **sample.parameters))
    assert [calls(program) for program in programs].count(["update"]) == 1


def test_writing_to_views(programs: list[Any]) -> None:
    x = tapegrad.randn(5, 6, requires_grad=True)
    y = x * 2
    y[1] = 0.5
    y[2:4, ::2] *= 3
    y.T[0] = y[:, 1] + x[:, 2]
    y.diagonal()[1:].add_(1.0)
    y[-1, -1] = x.sum()
    y.square().sum().backward()
    read(y.detach(), x.grad)
    assert not [name for program in programs for name in calls(program)]


@pytest.mark.parametrize("value", [-3, 2.5, float("-inf"), float("nan"), True])
def test_masked_fill(value: Any, programs: list[Any]) -> None:
    x = tapegrad.randn(4, 5, requires_grad=True)
    mask = tapegrad.tensor(np.tri(4, 5) > 0)
    y = tapegrad.softmax((x * 2).masked_fill(mask, value).masked_fill(x > 100, 0), -1)
    y.square().sum().backward()
    read(x.grad, tapegrad.arange(5).masked_fill(mask[1], 7))
    assert not [name for program in programs for name in calls(program)]


# Views that begin elsewhere

WINDOWS = ("slice_axis", "select", "flip", "diagonal", "unfold")


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, programs: list[Any]) -> None:
    """Kernels read the memory of what they are views of; Python, when it sees them, has views too."""
    for sample in TABLE[name].samples():  # type: ignore[misc]
        operands = tensors(sample.operands, "float32")
        operand = operands[0]
        view = record(name, *operands, **sample.parameters)
        made = record(name, operand * 2, *operands[1:], **sample.parameters)
        results = [view * 1.5, made + view, view, made]
        read(*results)
        if view.numel():
            assert not calls(programs[-1]), sample
        view = record(name, operand, *operands[1:], **sample.parameters)
        doubled = view * 2  # the view is not seen
        del view
        read(doubled)


def test_a_window_that_is_seen_shares_memory(programs: list[Any]) -> None:
    x = tapegrad.arange(12.0).reshape(3, 4)
    y = x[1]
    z = y * 2
    read(z, y)
    y.numpy()[0] = 50.0
    assert x[1, 0].item() == 50.0


def test_stencils(programs: list[Any]) -> None:
    """Differences of neighbours, and their derivatives: slices of what is computed, and of slices."""
    x = tapegrad.randn(9, 10, dtype=tapegrad.float64, requires_grad=True)
    y = (x * x).exp()
    d = y[2:] - 2 * y[1:-1] + y[:-2]
    e = d[:, 1:] * d[:, :-1].flip(0)
    (e.diagonal(offset=1).sum() + e[3].sum() + e[:, -1].mean()).backward()
    read(e.detach(), x.grad)
    assert not [name for program in programs for name in calls(program) if name != "pad_diagonal"]


def test_windows_of_one_value_are_read_in_one_loop(programs: list[Any]) -> None:
    gates, cell = tapegrad.randn(5, 12) * 2, tapegrad.randn(5, 3)
    i, f, g, o = [gates[:, start : start + 3] for start in (0, 3, 6, 9)]
    result = (i.sigmoid() * g.tanh() + f.sigmoid() * cell).tanh() * o.sigmoid()
    del gates, i, f, g, o
    read(result)
    assert sum([stage.__class__ is Loop for stage in programs[-1].fusion.stages]) == 2


def test_windows_at_a_place_that_is_computed(programs: list[Any]) -> None:
    x = tapegrad.randn(5, 6)
    for place in (0, 3, -1):
        at = tapegrad.tensor(place) + 0
        row = record("select", x * 2, at, axis=1)
        rows = record("slice_axis", x * 2, at.abs() * 0 + 1, axis=0, length=2, step=2)
        read(row * 2, rows * 2)
        assert not calls(programs[-1])


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
    made = []
    compile_plan = tiering.compile_plan

    def compile_and_note(plan: Any, *arguments: Any) -> Any:
        program = compile_plan(plan, *arguments)
        made.append((plan, program))
        return program

    monkeypatch.setattr(tiering, "compile_plan", compile_and_note)
    expected = outcome("interpret", compute)
    assert not made
    assert outcome("jit", compute) == expected
    ((plan, program),) = made
    assert plan.compiled.programs == [program] and not calls(program)


def test_targets_out_of_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: int) -> Any:
        loss = tapegrad.nn.functional.nll_loss(tapegrad.ones(2, 3), tapegrad.tensor([0, place]), reduction="sum")
        assert loss.item() == -2

    check_errors(compute, monkeypatch)


def test_what_is_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: int) -> Any:
        tapegrad.nn.functional.binary_cross_entropy(tapegrad.tensor([0.5, place / 4]) + 0, tapegrad.tensor([0.0, 1.0])).numpy()

    check_errors(compute, monkeypatch)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_by_zero(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: int) -> Any:
        divisor = 99 - tapegrad.tensor([1, place])
        (tapegrad.tensor([7, 8]) // divisor if name == "floor_divide" else tapegrad.tensor([7, 8]) % divisor).numpy()

    check_errors(compute, monkeypatch)


@pytest.mark.parametrize("name", ["select", "index", "gather", "index_add", "index_put", "embedding", "scatter"])
def test_positions_out_of_range(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: int) -> Any:
        x, at = tapegrad.ones(4, 3), tapegrad.tensor([0, place]) + 0  # not known when they are recorded
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


def test_selecting_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: int) -> Any:
        at = tapegrad.tensor(place) + 0
        (record("select", tapegrad.ones(4, 3), at, axis=1) * 2).numpy()

    check_errors(compute, monkeypatch)


def test_numbers_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(place: float) -> Any:
        value = 1e39 if place == 99 else place + 0.5
        tapegrad.ones(3).masked_fill(tapegrad.tensor([True, False, True]), value).numpy()

    check_errors(compute, monkeypatch)
