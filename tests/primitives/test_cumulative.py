"""Running sums, products and extremes where the table's tests do not reach: zeros, infinities, ties, accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives.cumulative import cummax, cummin, cumprod, cumsum, linear_recurrence, logcumsumexp
from tapegrad.primitives.reductions import reduce_sum

NAN, INF = math.nan, math.inf


def tensor(values: Any, dtype: str = "float64", requires_grad: bool = False) -> Any:
    return tapegrad.tensor(values, dtype=getattr(tapegrad, dtype), requires_grad=requires_grad)


def gradient(function: Callable[[Any], Any], values: Any, order: int = 1) -> Any:
    """Return the gradient of the sum of a function's result, or of the sum of its gradient, as an array."""
    x = tensor(values, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = tapegrad.autograd.grad(reduce_sum(y, axes=(0,), keepdims=False), x, create_graph=True)
    return np.array(y.tolist())


# Sums and products


def test_a_running_sum_of_floats_is_as_good_as_in_double_precision() -> None:
    tenths = np.full(100_000, 0.1, np.float32)
    exact = np.cumsum(tenths.astype(np.float64))
    np.testing.assert_array_equal(cumsum(tensor(tenths, "float32"), axis=0).numpy(), exact.astype(np.float32))


def test_a_running_product_may_leave_the_range_of_float32() -> None:
    result = cumprod(tensor([1e30, 1e30, 1e-30], "float32"), axis=0)
    np.testing.assert_allclose(result.numpy(), [1e30, INF, 1e30])


def test_half_precision_sums_do_not_stick() -> None:
    assert cumsum(tensor(np.ones(4096), "float16"), axis=0).tolist()[-1] == 4096


def test_negative_zeros_add_up_to_zero() -> None:
    assert not np.signbit(cumsum(tensor([-0.0, -0.0]), axis=0).numpy()).any()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16"])
def test_integers_and_bool_become_int64(dtype: str) -> None:
    for primitive, expected in ((cumsum, [1, 2]), (cumprod, [1, 1])):
        result = primitive(tensor([1, 1], dtype), axis=0)
        assert result.dtype is tapegrad.int64
        assert result.tolist() == expected


def test_derivatives_of_a_running_product_with_zeros() -> None:
    def function(x: Any) -> Any:
        return cumprod(x, axis=0)

    np.testing.assert_array_equal(gradient(function, [1.0, 0.0, 3.0]), [1, 4, 0])
    np.testing.assert_array_equal(gradient(function, [1.0, 0.0, 3.0], order=2), [4, 5, 1])
    np.testing.assert_array_equal(gradient(function, [0.0, 0.0, 3.0]), [1, 0, 0])
    np.testing.assert_array_equal(gradient(function, [0.0, 0.0, 3.0], order=2), [4, 4, 0])


def test_a_linear_recurrence_is_what_a_loop_computes() -> None:
    random = np.random.default_rng(0)
    for length in (1, 2, 3, 4, 5, 8, 17):
        factors, terms = random.uniform(-2, 2, (2, length, 3))
        for reverse in (False, True):
            result = linear_recurrence(tensor(factors), tensor(terms), axis=0, reverse=reverse).numpy()
            state = np.zeros(3)
            for place in reversed(range(length)) if reverse else range(length):
                state = factors[place] * state + terms[place]
                np.testing.assert_allclose(result[place], state, rtol=1e-12)


def test_a_linear_recurrence_ignores_the_first_factor() -> None:
    for first in (NAN, INF):
        result = linear_recurrence(tensor([first, 2.0, 3.0, 4.0]), tensor([1.0, 1.0, 1.0, 1.0]), axis=0, reverse=False)
        assert result.tolist() == [1, 3, 10, 41]


def test_a_linear_recurrence_needs_operands_of_one_shape() -> None:
    with pytest.raises(RuntimeError, match="linear_recurrence: operands must have the same dtype and shape"):
        linear_recurrence(tensor([1.0]), tensor([1.0, 2.0]), axis=0, reverse=False)


# Log-sum-exp


def running(x: Any) -> Any:
    return logcumsumexp(x, axis=0)


def test_logcumsumexp_of_large_and_small_numbers() -> None:
    np.testing.assert_array_equal(running(tensor([800.0, 0.0, -900.0])).numpy(), [800, 800, 800])
    np.testing.assert_allclose(running(tensor([-800.0, -800.0])).numpy(), [-800, -800 + math.log(2)], rtol=1e-15)
    np.testing.assert_allclose(running(tensor([-1000.0, -1000.0], "float32")).numpy(), [-1000, -1000 + math.log(2)])
    np.testing.assert_allclose(gradient(running, [800.0, 0.0, -900.0]), [3, 0, 0])
    np.testing.assert_allclose(gradient(running, [800.0, 0.0, -900.0], order=2), [0, 0, 0])
    np.testing.assert_allclose(gradient(running, [-900.0, 0.0, 800.0]), [1, 1, 1])


def test_logcumsumexp_of_infinities() -> None:
    np.testing.assert_array_equal(running(tensor([-INF, -INF, 0.0])).numpy(), [-INF, -INF, 0])
    np.testing.assert_array_equal(running(tensor([0.0, INF, -INF, 1.0])).numpy(), [0, INF, INF, INF])
    np.testing.assert_array_equal(running(tensor([0.0, NAN, 1.0])).numpy(), [0, NAN, NAN])
    np.testing.assert_allclose(gradient(running, [-INF, 0.0, 1.0]), [NAN, 1.268941421369995, 0.7310585786300049])
    np.testing.assert_allclose(gradient(running, [0.0, -INF, INF, 1.0]), [2, 0, NAN, 0])
    np.testing.assert_array_equal(gradient(running, [-INF, -INF]), [NAN, NAN])


def test_logcumsumexp_of_complex_numbers_keeps_the_branch_of_the_largest() -> None:
    result = running(tensor([3j, 3j, 1 + 5j, -2 + 9j], "complex128")).numpy()
    np.testing.assert_allclose(result, [3j, 0.6931471805599453 + 3j, 0.9632 + 4.2328j, 0.9673 + 4.1814j], atol=5e-5)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_logcumsumexp_refuses_integers(dtype: str) -> None:
    with pytest.raises(NotImplementedError, match='"logcumsumexp_out_cpu" not implemented for'):
        running(tensor([1], dtype))


# Extremes


def test_the_last_of_ties_is_chosen() -> None:
    values, indices = cummax(tensor([1.0, 1.0, 0.0, 1.0, 2.0]), axis=0)
    assert values.tolist() == [1, 1, 1, 1, 2]
    assert indices.tolist() == [0, 1, 1, 3, 4]
    assert cummin(tensor([1, 1, 2, 1, 0], "int64"), axis=0)[1].tolist() == [0, 1, 1, 3, 4]
    assert cummax(tensor([False, True, False], "bool"), axis=0)[1].tolist() == [0, 1, 1]
    np.testing.assert_array_equal(gradient(lambda x: cummax(x, axis=0)[0], [1.0, 1.0, 0.0, 1.0, 2.0]), [1, 2, 0, 1, 1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("primitive", [cummax, cummin])
def test_nan_stays(primitive: Any, dtype: str) -> None:
    values, indices = primitive(tensor([1.0, NAN, 3.0, NAN, -3.0], dtype), axis=0)
    np.testing.assert_array_equal(values.tolist(), [1, NAN, NAN, NAN, NAN])
    assert indices.tolist() == [0, 1, 1, 3, 3]


def test_complex_numbers_have_no_order() -> None:
    with pytest.raises(NotImplementedError, match="^\"cummin_cpu\" not implemented for 'ComplexDouble'$"):
        cummin(tensor([1j, 2.0], "complex128"), axis=0)
