"""Reductions where the table's tests do not reach: accuracy, ties, zeros, NaN, empty operands and errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives import reductions
from tapegrad.primitives.reductions import (
    argmax,
    argmin,
    max_with_index,
    min_with_index,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from tapegrad.primitives.summation import sum_over

NAN, INF = math.nan, math.inf


def tensor(values: Any, dtype: str = "float64", requires_grad: bool = False) -> Any:
    return tapegrad.tensor(values, dtype=getattr(tapegrad, dtype), requires_grad=requires_grad)


def gradient(function: Callable[[Any], Any], values: Any, order: int = 1) -> list[Any]:
    """Return the gradient of the sum of a function's result, or of the sum of its gradient."""
    x = tensor(values, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = tapegrad.autograd.grad(total(y), x, create_graph=True)
    return y.tolist()


def total(x: Any) -> Any:
    return reduce_sum(x, axes=tuple(range(x.ndim)), keepdims=False)


# Sums


def in_threes(array: Any) -> Any:
    return np.stack([array, array, array])


LAYOUTS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "last axis": (in_threes, (1,)),
    "first axis": (lambda array: np.ascontiguousarray(in_threes(array).T), (0,)),
    "first axis of two columns": (lambda array: np.ascontiguousarray(in_threes(array)[:2].T), (0,)),
    "transposed": (lambda array: np.ascontiguousarray(in_threes(array).T).T, (1,)),
    "strided": (lambda array: np.repeat(array, 2)[::2], (0,)),
    "reversed": (lambda array: np.ascontiguousarray(in_threes(array).T)[::-1], (0,)),
    "slice of a matrix": (lambda array: np.repeat(array.reshape(-1, 2), 2, 1)[:, ::2], (0, 1)),
    "outer two of three": (lambda array: np.ascontiguousarray(np.moveaxis(in_threes(array).reshape(3, -1, 4), 0, 2)), (0, 1)),
    "outer and inner": (lambda array: np.ascontiguousarray(np.moveaxis(in_threes(array).reshape(3, -1, 4), 0, 1)), (0, 2)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_the_error_of_a_sum_does_not_grow_with_its_length(layout: str, dtype: str) -> None:
    lay_out, axes = LAYOUTS[layout]
    total = sum_over(lay_out(np.full(1 << 20, 0.1, dtype)), axes)
    np.testing.assert_allclose(total, float(np.float32(0.1)) * (1 << 20), rtol=2e-7)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["first axis of two columns", "slice of a matrix"])
def test_more_ones_than_float32_can_count_one_by_one(layout: str) -> None:
    lay_out, axes = LAYOUTS[layout]
    assert np.all(sum_over(lay_out(np.ones(20_000_000, np.float32)), axes) == 20_000_000)


def test_float64_sums_are_as_accurate() -> None:
    column = np.random.default_rng(0).uniform(0, 1, (1 << 20, 1))
    assert abs(sum_over(column, (0,))[0] / math.fsum(column[:, 0]) - 1) < 1e-15
    assert abs(sum_over(np.hstack([column, column]), (0,))[1] / math.fsum(column[:, 0]) - 1) < 1e-15


def test_half_precision_sums_do_not_stick() -> None:
    assert sum_over(np.ones((4096, 2), np.float16), (0,)).tolist() == [4096.0, 4096.0]
    assert reduce_sum(tensor(np.ones(300), "bfloat16"), axes=(0,), keepdims=False).item() == 300


@pytest.mark.parametrize("shape", [(5, 6), (40, 50), (20, 1, 30), (7, 9, 5, 4), (300, 3, 1), (1, 300), (2, 0, 3), ()])
def test_sums_over_all_axes_of_all_layouts(shape: tuple[int, ...]) -> None:
    base = np.random.default_rng(1).integers(-8, 8, shape).astype(np.float64)
    views = [base, base.T, *([base[::-1], base[..., ::2], np.broadcast_to(base[:1], base.shape)] if shape else [])]
    for view in views:
        for count in range(view.ndim + 1):
            for axes in itertools.combinations(range(view.ndim), count):
                for keepdims in (False, True):
                    np.testing.assert_array_equal(sum_over(view, axes, keepdims), view.sum(axes, keepdims=keepdims))


def test_a_sum_of_an_expanded_axis_is_one_product() -> None:
    expanded = np.broadcast_to(np.float32(0.1), (1000, 1000))
    np.testing.assert_array_equal(sum_over(expanded, (0,)), np.full(1000, np.float32(1000) * np.float32(0.1)))
    np.testing.assert_array_equal(sum_over(np.broadcast_to(np.array([INF, -INF, NAN]), (300, 3)), (0,)), [INF, -INF, NAN])


@pytest.mark.parametrize("shape", [(3,), (300, 3), (300, 1), (3, 300)])
@pytest.mark.parametrize("axis", [0, -1])
def test_negative_zeros_add_up_to_zero(shape: tuple[int, ...], axis: int) -> None:
    for array in (np.full(shape, -0.0), np.broadcast_to(-0.0, shape)):
        assert not np.signbit(sum_over(array, (axis % len(shape),))).any()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("primitive", [reduce_sum, reduce_prod])
def test_integers_and_bool_become_int64(primitive: Any, dtype: str) -> None:
    result = primitive(tensor([1, 1, 1], dtype), axes=(0,), keepdims=False)
    assert result.dtype is tapegrad.int64
    assert result.item() == (3 if primitive is reduce_sum else 1)


def test_integer_sums_do_not_wrap_at_their_own_width() -> None:
    assert reduce_sum(tensor([100] * 5, "int8"), axes=(0,), keepdims=False).item() == 500


# Products


def product(x: Any) -> Any:
    return reduce_prod(x, axes=(0,), keepdims=False)


def test_derivatives_of_a_product_with_zeros() -> None:
    assert gradient(product, [0.0, 2.0, 3.0]) == [6.0, 0.0, 0.0]
    assert gradient(product, [0.0, 2.0, 0.0]) == [0.0, 0.0, 0.0]
    assert gradient(product, [0.0, 2.0, 3.0], order=2) == [5.0, 3.0, 2.0]
    assert gradient(product, [0.0, 2.0, 0.0], order=2) == [2.0, 0.0, 2.0]
    assert gradient(product, [0.0, 0.0, 0.0], order=3) == [2.0, 2.0, 2.0]


def test_derivatives_of_a_product_over_two_axes_with_zeros() -> None:
    def function(x: Any) -> Any:
        return reduce_prod(x, axes=(0, 2), keepdims=False)

    assert gradient(function, [[[1.0, 2.0], [0.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]) == [
        [[40.0, 20.0], [126.0, 0.0]],
        [[10.0, 8.0], [0.0, 0.0]],
    ]


# Extremes


@pytest.mark.parametrize("primitive", [reduce_max, reduce_min])
def test_ties_share_the_gradient_equally(primitive: Any) -> None:
    sign = 1.0 if primitive is reduce_max else -1.0
    values = [[2.0 * sign, 1.0 * sign, 2.0 * sign], [0.0, 0.0, 0.0]]
    assert gradient(lambda x: primitive(x, axes=(1,), keepdims=False), values) == [[0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3]]


@pytest.mark.parametrize(("primitive", "sign"), [(max_with_index, 1.0), (min_with_index, -1.0)])
def test_the_first_of_ties_gets_the_gradient_of_an_indexed_extreme(primitive: Any, sign: float) -> None:
    def value(x: Any) -> Any:
        return primitive(x, axis=0, keepdims=False)[0]

    assert gradient(value, [sign, 3 * sign, 3 * sign, 2 * sign]) == [0.0, 1.0, 0.0, 0.0]
    assert gradient(value, [sign, NAN, 3 * sign, NAN]) == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_is_more_extreme_than_any_number(dtype: str) -> None:
    x = tensor([[1.0, NAN, INF, NAN], [1.0, INF, -INF, INF]], dtype)
    for reduce, position, choose, expected in (
        (reduce_max, argmax, max_with_index, INF),
        (reduce_min, argmin, min_with_index, -INF),
    ):
        values, indices = choose(x, axis=1, keepdims=False)
        for result in (reduce(x, axes=(1,), keepdims=False), values):
            np.testing.assert_array_equal(np.array(result.tolist()), [NAN, expected])
        for result in (position(x, axis=1, keepdims=False), indices):
            assert result.tolist() == [1, 1 if expected > 0 else 2]
        assert position(x, axis=None, keepdims=False).item() == 1


def test_nan_is_true() -> None:
    x = tensor([[0.0, NAN], [NAN, 1.0]])
    assert reduce_any(x, axes=(1,), keepdims=False).tolist() == [True, True]
    assert reduce_all(x, axes=(1,), keepdims=False).tolist() == [False, True]


def test_uint8_stays_uint8_in_all_and_any() -> None:
    for primitive in (reduce_all, reduce_any):
        result = primitive(tensor([3, 3], "uint8"), axes=(0,), keepdims=False)
        assert result.dtype is tapegrad.uint8
        assert result.item() == 1


# Errors


@pytest.mark.parametrize(
    ("name", "parameters", "torch_name"),
    [
        ("reduce_max", {"axes": (0,)}, "amax"),
        ("reduce_min", {"axes": (1, 0)}, "amin"),
        ("argmax", {"axis": 0}, "argmax"),
        ("argmin", {"axis": 0}, "argmin"),
        ("max_with_index", {"axis": 0}, "max"),
        ("min_with_index", {"axis": 0}, "min"),
    ],
)
def test_nothing_has_no_extreme(name: str, parameters: dict[str, Any], torch_name: str) -> None:
    primitive = getattr(reductions, name)
    expected = f"{torch_name}(): Expected reduction dim 0 to have non-zero size."
    with pytest.raises(IndexError) as caught:
        primitive(tensor(np.zeros((0, 3))), keepdims=False, **parameters)
    assert str(caught.value) == expected


def test_argmax_of_nothing_at_all() -> None:
    with pytest.raises(IndexError) as caught:
        argmax(tensor(np.zeros((0, 3))), axis=None, keepdims=False)
    assert str(caught.value) == "argmax(): Expected reduction dim to be specified for input.numel() == 0."


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: reduce_max(x, axes=(0,), keepdims=False), NotImplementedError, "\"max_values_cpu\" not implemented for '{}'"),
        (lambda x: argmin(x, axis=0, keepdims=False), RuntimeError, "argmin(): does not support complex input"),
        (lambda x: max_with_index(x, axis=0, keepdims=False), RuntimeError, "max(): does not support complex input"),
    ],
)
def test_complex_numbers_have_no_order(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call(tensor([1j, 2.0], "complex64"))
    assert str(caught.value) == message.format("ComplexFloat")


def test_argmax_refuses_bool() -> None:
    with pytest.raises(RuntimeError, match=r"^argmax\(\): does not support bool input$"):
        argmax(tensor([True], "bool"), axis=0, keepdims=False)


def test_a_sum_saves_nothing_and_a_product_its_operand() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = reduce_sum(x, axes=(0,), keepdims=False)
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    z = product(x)
    z.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.backward()
