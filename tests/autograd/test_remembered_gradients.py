"""A sweep by grad() that is met again is remembered: with other leaves in the same places, it gives their gradients."""

from __future__ import annotations

from typing import Any

import pytest

import tapegrad
from tapegrad.autograd import grad

pytestmark = pytest.mark.usefixtures("mode")


def leaf(*numbers: float) -> Any:
    return tapegrad.tensor(numbers, requires_grad=True)


def product(first: Any, second: Any) -> Any:
    return (first * first * second).sum()


def test_other_leaves_in_the_same_places() -> None:
    for factor in range(1, 6):
        x, y = leaf(1.0, 2.0 * factor), leaf(3.0, 4.0)
        gradients = grad(product(x, y), [x, y])
        assert [gradient.tolist() for gradient in gradients] == [[6.0, 16.0 * factor], [1.0, 4.0 * factor**2]]


def test_the_leaves_may_be_asked_for_in_another_order_or_not_at_all() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(4):
        assert [gradient.tolist() for gradient in grad(product(x, y), [x, y])] == [[6.0, 16.0], [1.0, 4.0]]
        assert [gradient.tolist() for gradient in grad(product(x, y), [y, x])] == [[1.0, 4.0], [6.0, 16.0]]
        assert [gradient.tolist() for gradient in grad(product(x, y), [y])] == [[1.0, 4.0]]
        assert [gradient.tolist() for gradient in grad(product(x, y), [x, x])] == [[6.0, 16.0], [6.0, 16.0]]


def test_a_leaf_that_has_a_history_this_time() -> None:
    for step in range(6):
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        second = y
        if step % 2:
            second = y * 2.0
            second.tolist()  # computed: it comes as an outside value, as the leaf does
        assert grad(product(x, second), [x])[0].tolist() == ([12.0, 32.0] if step % 2 else [6.0, 16.0])
        if step % 2:
            assert grad(product(x, second), [y])[0].tolist() == [2.0, 8.0]
            assert grad(product(x, second), [second])[0].tolist() == [1.0, 4.0]


def test_a_second_sweep_without_the_residuals_raises_each_time() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(4):
        loss = product(x, y)
        grad(loss, [x, y], retain_graph=True)
        grad(loss, [x, y])
        with pytest.raises(RuntimeError, match="second time"):
            grad(loss, [x, y])


def test_double_backward() -> None:
    for factor in range(1, 6):
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0 * factor)
        of_x, of_y = grad(product(x, y), [x, y], create_graph=True)
        (second,) = grad((of_x * of_y).sum(), [x])
        assert second.tolist() == [18.0, 96.0 * factor]


def test_what_does_not_depend_on_a_leaf_raises_each_time() -> None:
    x, y, z = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0)
    for _ in range(4):
        assert grad(product(x, y), [x])[0].tolist() == [6.0, 16.0]
        with pytest.raises(RuntimeError, match="not have been used"):
            grad(product(x, y), [z])
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(product(x, y), [tapegrad.tensor([1.0])])


def test_retained_gradients_are_filled_each_time() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(4):
        square = x * x
        square.retain_grad()
        gradients = grad((square * y).sum(), [x])
        assert gradients[0].tolist() == [6.0, 16.0]


def test_a_leaf_with_two_values_on_the_segment() -> None:
    for _ in range(4):
        x = leaf(1.0, 2.0)
        first = (x * x).sum()
        with tapegrad.no_grad():
            x.mul_(2.0)
        (gradient,) = grad(first + (x * 3.0).sum(), [x])
        assert gradient.tolist() == [5.0, 7.0]


def test_a_value_that_has_come_of_the_leaf_this_time() -> None:
    for step in range(6):
        x = leaf(1.0, 2.0)
        second = x * 2.0 if step % 2 else leaf(3.0, 4.0)
        second.tolist()
        expected = [6.0, 24.0] if step % 2 else [6.0, 16.0]
        assert grad(product(x, second), [x])[0].tolist() == expected
