"""Sorting and choosing by rank: ties, NaN, all dtypes, and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives.reductions import reduce_sum
from tapegrad.primitives.sorting import (
    kthvalue,
    median,
    median_value,
    mode,
    nanmedian,
    nanmedian_value,
    searchsorted,
    sort,
    topk,
)

NAN, INF = math.nan, math.inf
LEAST = -(2**63)


def tensor(values: Any, dtype: str = "float64", requires_grad: bool = False) -> Any:
    return tapegrad.tensor(values, dtype=getattr(tapegrad, dtype), requires_grad=requires_grad)


def gradient(function: Callable[[Any], Any], values: Any) -> Any:
    """Return the gradient of the sum of a function's result."""
    x = tensor(values, requires_grad=True)
    y = function(x)
    (g,) = tapegrad.autograd.grad(reduce_sum(y, axes=tuple(range(y.ndim)), keepdims=False), x)
    return g.tolist()


def check(results: Any, values: Any, indices: Any) -> None:
    np.testing.assert_array_equal(np.array(results[0].tolist()).reshape(np.shape(values)), values)
    np.testing.assert_array_equal(results[1].numpy(), indices)


def with_ties(dtype: str) -> Any:
    """Return rows full of ties, with NaN and infinities where the dtype has them."""
    array = np.random.default_rng(0).integers(0, 6, (50, 17)).astype(np.float64)
    if "float" in dtype:
        array[::2][array[::2] == 0] = NAN
        array[array == 5] = INF
        array[array == 4] = -INF
    return array


def in_order(row: Any, descending: bool) -> list[int]:
    """Return the indices that sort a row stably, NaN being the greatest."""
    keys = [(math.isnan(value), 0 if math.isnan(value) else value) for value in row]
    return sorted(range(len(row)), key=keys.__getitem__, reverse=descending)


# Sort and topk


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int64"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_are_stable_and_nan_is_the_greatest(dtype: str, descending: bool) -> None:
    array = with_ties(dtype)
    expected = np.array([in_order(row, descending) for row in array])
    values = np.take_along_axis(array, expected, 1)
    check(sort(tensor(array, dtype), axis=1, descending=descending, stable=True), values, expected)
    check(sort(tensor(array.T, dtype), axis=0, descending=descending, stable=False), values.T, expected.T)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int64"])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 5, 16, 17])
def test_topk_is_the_beginning_of_a_sort(dtype: str, largest: bool, k: int) -> None:
    array = with_ties(dtype)
    expected = np.array([in_order(row, largest)[:k] for row in array], np.int64)
    values = np.take_along_axis(array, expected, 1)
    check(topk(tensor(array, dtype), k=k, axis=1, largest=largest, sorted=True), values, expected)
    check(topk(tensor(array.T, dtype), k=k, axis=0, largest=largest, sorted=False), values.T, expected.T)


def test_extreme_integers() -> None:
    values = [LEAST, 2**63 - 1, 0, LEAST]
    check(topk(tensor(values, "int64"), k=2, axis=0, largest=True, sorted=True), [2**63 - 1, 0], [1, 2])
    check(sort(tensor(values, "int64"), axis=0, descending=True, stable=True), [2**63 - 1, 0, LEAST, LEAST], [1, 2, 0, 3])


def test_the_gradient_goes_to_the_chosen_elements() -> None:
    def largest(x: Any) -> Any:
        return topk(x, k=2, axis=0, largest=True, sorted=True)[0]

    assert gradient(largest, [3.0, 1.0, 3.0, 3.0]) == [1, 0, 1, 0]


@pytest.mark.parametrize("k", [-1, 4])
def test_topk_of_too_many(k: int) -> None:
    with pytest.raises(RuntimeError, match="^selected index k out of range$"):
        topk(tensor([1.0, 2.0, 3.0]), k=k, axis=0, largest=True, sorted=True)


# By rank


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int64"])
@pytest.mark.parametrize("k", [1, 9, 17])
def test_kthvalue_is_an_element_of_a_sort(dtype: str, k: int) -> None:
    array = with_ties(dtype)
    expected = np.array([in_order(row, False)[k - 1] for row in array])
    check(kthvalue(tensor(array, dtype), k=k, axis=1, keepdims=False), array[range(50), expected], expected)


@pytest.mark.parametrize("k", [0, 3])
def test_kthvalue_of_too_many(k: int) -> None:
    with pytest.raises(RuntimeError, match=r"^kthvalue\(\): selected number k out of range for dimension 0$"):
        kthvalue(tensor([1.0, 2.0]), k=k, axis=0, keepdims=False)


def test_the_median_is_the_lower_one() -> None:
    check(median(tensor([2.0, 1.0, 1.0, 2.0]), axis=0, keepdims=False), 1, 2)
    check(median(tensor([[4, 3, 2, 1], [1, 1, 1, 1]], "int64"), axis=1, keepdims=True), [[2], [1]], [[2], [1]])


def test_medians_and_nan() -> None:
    x = tensor([[1.0, NAN, 2.0, 3.0], [1.0, 3.0, NAN, NAN], [4.0, 1.0, 2.0, 3.0]])
    check(median(x, axis=1, keepdims=False), [NAN, NAN, 2], [1, 2, 2])
    check(nanmedian(x, axis=1, keepdims=False), [2, 1, 2], [2, 0, 2])
    np.testing.assert_array_equal(nanmedian(tensor([NAN, NAN]), axis=0, keepdims=False)[0].tolist(), NAN)
    x = tensor([3.0, NAN, 1.0], "bfloat16")
    check(median(x, axis=0, keepdims=False), NAN, 1)
    check(nanmedian(x, axis=0, keepdims=False), 1, 2)


def test_the_derivative_of_an_indexed_median_goes_to_its_index_and_of_others_to_all_ties() -> None:
    values = [1.0, 2.0, 2.0, 3.0]
    assert gradient(lambda x: median(x, axis=0, keepdims=False)[0], values) == [0, 1, 0, 0]
    assert gradient(lambda x: median_value(x, axis=0, keepdims=False), values) == [0, 0.5, 0.5, 0]
    assert gradient(lambda x: median_value(x, axis=0, keepdims=False), [1.0, NAN, 2.0]) == [0, 1, 0]
    assert gradient(lambda x: nanmedian_value(x, axis=0, keepdims=False), [1.0, 2.0, 2.0, NAN, 3.0]) == [0, 0.5, 0.5, 0, 0]
    assert gradient(lambda x: nanmedian_value(x, axis=0, keepdims=False), [NAN, NAN]) == [0.5, 0.5]


def test_the_median_of_nothing() -> None:
    for primitive in (median_value, nanmedian_value):
        np.testing.assert_array_equal(primitive(tensor(np.zeros((2, 0))), axis=1, keepdims=False).tolist(), [NAN, NAN])
        assert primitive(tensor([], "int64"), axis=0, keepdims=False).item() == LEAST


def test_the_mode_is_the_least_of_the_most_frequent_and_its_last_index() -> None:
    check(mode(tensor([1.0, 2.0, 2.0, 1.0]), axis=0, keepdims=False), 1, 3)
    check(mode(tensor([[3, 1, 2], [5, 5, 1]], "int64"), axis=1, keepdims=False), [1, 5], [1, 1])
    check(mode(tensor([True, False, True], "bool"), axis=0, keepdims=True), [True], [2])
    check(mode(tensor([1.0, NAN, NAN]), axis=0, keepdims=False), 1, 0)
    assert gradient(lambda x: mode(x, axis=0, keepdims=False)[0], [1.0, 2.0, 2.0, 1.0]) == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("primitive", "parameters", "name"),
    [(kthvalue, {"k": 1}, "kthvalue"), (median, {}, "median"), (nanmedian, {}, "median"), (mode, {}, "mode")],
)
def test_nothing_has_no_element_of_any_rank(primitive: Any, parameters: dict[str, int], name: str) -> None:
    with pytest.raises(IndexError) as caught:
        primitive(tensor(np.zeros((0, 3))), axis=0, keepdims=False, **parameters)
    assert str(caught.value) == f"{name}(): Expected reduction dim 0 to have non-zero size."


def test_complex_numbers_and_bool_are_refused() -> None:
    pair, truth = tensor([1j, 2.0], "complex64"), tensor([True, False], "bool")
    for call, error, message in (
        (lambda: sort(pair, axis=0, descending=False, stable=False), RuntimeError, "Sort does not support complex dtypes on CPU"),
        (lambda: topk(truth, k=1, axis=0, largest=True, sorted=True), RuntimeError, "topk does not support bool dtypes on CPU"),
        (lambda: kthvalue(truth, k=1, axis=0, keepdims=False), NotImplementedError, "kthvalue_cpu\" not implemented for 'Bool'"),
        (lambda: median(truth, axis=0, keepdims=False), NotImplementedError, "\"median_out\" not implemented for 'Bool'"),
        (lambda: median_value(pair, axis=0, keepdims=False), NotImplementedError, "not implemented for 'ComplexFloat'"),
        (lambda: mode(pair, axis=0, keepdims=False), NotImplementedError, "\"mode_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: searchsorted(truth, truth, right=False), NotImplementedError, "not implemented for 'Bool'"),
    ):
        with pytest.raises(error, match=message):
            call()


# Search


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 9, 100])
def test_searchsorted_finds_what_numpy_finds(length: int, right: bool) -> None:
    random = np.random.default_rng(length)
    boundaries = np.sort(random.integers(0, 50, (3, length)), 1)
    values = random.integers(-5, 55, (3, 40))
    expected = np.array([np.searchsorted(*pair, "right" if right else "left") for pair in zip(boundaries, values, strict=True)])
    for dtype in ("int64", "float32", "bfloat16"):
        result = searchsorted(tensor(boundaries, dtype), tensor(values, dtype), right=right)
        np.testing.assert_array_equal(result.tolist(), expected)
    result = searchsorted(tensor(boundaries[0], "int64"), tensor(values[0].reshape(4, 10), "int64"), right=right)
    np.testing.assert_array_equal(result.tolist(), expected[0].reshape(4, 10))


def test_searchsorted_puts_nan_last() -> None:
    boundaries, values = tensor([1.0, 2.0, NAN]), tensor([NAN, 2.0, 3.0, INF])
    assert searchsorted(boundaries, values, right=False).tolist() == [3, 1, 3, 3]
    assert searchsorted(boundaries, values, right=True).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("boundaries", "values", "message"),
    [
        (np.zeros(()), np.zeros(2), "boundaries tensor should have positive dimension, but got 0 dimension"),
        (np.zeros((2, 3)), 1.0, "but we got boundaries tensor dim(2) and input value's dim(0) numel(1)"),
        (np.zeros((2, 3)), np.zeros((3, 4)), "but we got boundaries tensor [2, 3] and input value tensor [3, 4]"),
        (np.zeros((2, 3)), np.zeros(4), "but we got boundaries tensor [2, 3] and input value tensor [4]"),
    ],
)
def test_searchsorted_with_shapes_that_do_not_match(boundaries: Any, values: Any, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        searchsorted(tensor(boundaries), tensor(values) if isinstance(values, np.ndarray) else values, right=False)
    assert str(caught.value).startswith("torch.searchsorted(): ")
    assert str(caught.value).endswith(message)
