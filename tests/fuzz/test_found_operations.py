"""What random programs found about single operations and the version checks: each bug as the shortest program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tapegrad as tg


def leaf(*values: float) -> Any:
    return tg.tensor(values, dtype=tg.float64, requires_grad=True)


def constant(*values: float) -> Any:
    return tg.tensor(values, dtype=tg.float64)


# Operations


def test_integers_and_bool_are_added_in_the_precision_of_the_sum() -> None:
    assert tg.add(constant(0.0), tg.tensor([True]), alpha=0.3).item() == 0.3
    assert tg.sub(constant(0.0), tg.tensor([1]), alpha=0.3).item() == -0.3


def test_number_is_copied() -> None:
    assert tg.zeros(2, dtype=tg.int64).copy_(2.5).tolist() == [2, 2]
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        tg.zeros(2).copy_([1.0, 2.0])


def test_number_has_no_dimension_to_roll_or_join() -> None:
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        tg.tensor(1.0).roll(1, -1)
    with pytest.raises(RuntimeError, match="zero-dimensional tensor"):
        tg.cat([tg.tensor(1.0)], -2)


def test_results_have_the_order_in_memory_of_the_first_operand_that_tells() -> None:
    flat = tg.zeros(2, 3).t()
    deep = tg.zeros(2, 3, 2)
    assert (flat + deep).stride() == (6, 1, 3)
    assert (deep + flat).stride() == (6, 2, 1)
    assert tg.zeros(3, 4)[:, ::2].t().sin().stride() == (1, 2)


def test_copies_have_the_order_in_memory_of_their_tensor() -> None:
    x = tg.zeros(4, 3, 2).permute(2, 0, 1)[:, ::2]
    assert x.clone().stride() == x.flip(0).stride() == (1, 6, 2)
    assert x[[0, 1]].stride() == (6, 3, 1)
    assert x[:, [0]].stride() == (1, 2, 2)


def test_number_is_expanded_without_strides() -> None:
    assert tg.tensor(1.0).expand(1, 2).stride() == (0, 0)


# Version checks


@pytest.fixture
def checked() -> Iterator[None]:
    tg.autograd.set_inplace_checks(True)
    yield
    tg.autograd.set_inplace_checks(False)


VERSION_ERROR = "has been modified by an inplace operation"


def test_operation_in_place_keeps_what_its_tensor_was(mode: str, checked: Any) -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * 1.0
    z *= y
    z.sum().backward()
    assert y.grad.tolist() == [2.0]


def test_version_outlives_the_tensor(mode: str, checked: Any) -> None:
    x = leaf(2.0)
    y = x.exp()
    z = y.square()
    y.mul_(2.0)
    del y
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        z.sum().backward()


def test_version_of_a_result_that_was_written_to_a_view(mode: str, checked: Any) -> None:
    x = leaf(2.0, 3.0) * 1.0
    x[...].view(2).relu_()
    x[[0]] *= 2.0
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        x.sum().backward()


def test_version_of_a_value_without_history(mode: str, checked: Any) -> None:
    x, constants = leaf(2.0), constant(3.0) * 1.0
    y = x * constants
    constants.tolist()
    constants.zero_()
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        y.sum().backward()


@pytest.mark.parametrize("name", ["max", "sort", "cummax", "kthvalue", "median", "mode", "topk"])
def test_version_of_what_was_chosen(mode: str, checked: Any, name: str) -> None:
    arguments = (1, 0) if name in ("kthvalue", "topk") else (0,)
    for place in (0, 1):
        found = getattr(leaf(2.0, 3.0), name)(*arguments)
        with tg.no_grad():
            found[place].zero_()
        if place == 0:  # the positions are enough for the gradient
            found[0].sum().backward()
            continue
        with pytest.raises(RuntimeError, match=r"LongTensor \[\d?\]\] is at version 1; expected version 0"):
            found[0].sum().backward()


# Executor


SUMS = [((1, 1), (0, 1)), ((3, 1), (1,)), ((40, 2), (1,)), ((3, 40), (0,)), ((40, 2, 2), (1, 2)), ((5,), (0,))]


@pytest.mark.parametrize(("shape", "axes"), SUMS)
def test_no_sum_is_minus_zero(mode: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = tg.full(shape, -1.0) * 0
    assert not tg.signbit((x * 1).sum(axes)).any()
    assert not tg.signbit((x * 1).mean(axes)).any()
