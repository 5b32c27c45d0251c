"""Errors that need data: they are raised when a value that depends on them is read, and the program goes on.

In eager mode, where every value is computed at once, they are raised where they are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tapegrad as tg


def singular(x: Any) -> Any:
    """Return a value that cannot be computed."""
    return tg.linalg.inv(x * 0)


@pytest.fixture
def x() -> Any:
    return tg.ones(2, 2, requires_grad=True)


@pytest.fixture
def deferred() -> Iterator[None]:
    """Run the test in the mode in which values are computed when they are read."""
    before = tg.get_mode()
    tg.set_mode("interpret")
    yield
    tg.set_mode(before)


@pytest.fixture
def eager() -> Iterator[None]:
    before = tg.get_mode()
    tg.set_mode("eager")
    yield
    tg.set_mode(before)


def test_eager_errors_are_raised_where_they_are_made(eager: None, x: Any) -> None:
    y = tg.zeros(2, 2)
    outside = tg.tensor([4]) + 1
    with pytest.raises(RuntimeError, match="singular"):
        singular(x)
    with pytest.raises(IndexError, match="index 5"):
        y.index_fill_(0, outside, 1.0)
    with pytest.raises(RuntimeError, match="Number of elements"):
        y.masked_scatter_(y == 0, tg.ones(1))
    with pytest.raises(RuntimeError, match="singular"):
        y.copy_(singular(x))
    assert y.tolist() == [[0.0, 0.0], [0.0, 0.0]] and y._version == 0
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_known_positions_out_of_range_leave_the_tensor_as_it_was(mode: str) -> None:
    y, outside = tg.zeros(3), tg.tensor([5])
    for wrong in (
        lambda: y.index_fill_(0, outside, 1.0),
        lambda: y.index_add_(0, outside, tg.ones(1)),
        lambda: y.index_copy_(0, outside, tg.ones(1)),
        lambda: y.scatter_(0, outside, 1.0),
        lambda: y.put_(outside, tg.ones(1)),
        lambda: y.__setitem__(outside, 1.0),
        lambda: y.masked_scatter_(tg.tensor([True, True, True]), tg.ones(1)),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            wrong()
        assert y.tolist() == [0.0, 0.0, 0.0] and y._version == 0


def test_error_is_raised_when_the_value_is_read(mode: str, x: Any) -> None:
    with pytest.raises(RuntimeError, match="singular"):
        singular(x).tolist()


def test_error_of_a_value_that_nobody_reads_is_not_raised(deferred: None, x: Any) -> None:
    singular(x)
    assert (x + 1).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_error_is_raised_again(deferred: None, x: Any) -> None:
    value = singular(x.detach())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="singular"):
            value.tolist()
    for read in (value.numpy, lambda: value.sum().item(), lambda: repr(value), lambda: bool(value[0, 0])):
        with pytest.raises(RuntimeError, match="singular"):
            read()


def test_errors_are_not_one_object(deferred: None, x: Any) -> None:
    value = singular(x)
    raised = []
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            value.tolist()
        raised.append(caught.value)
    assert raised[0] is not raised[1] and str(raised[0]) == str(raised[1]) and type(raised[0]) is type(raised[1])


def test_error_spoils_only_what_depends_on_it(deferred: None, x: Any) -> None:
    before = x.exp()
    wrong = singular(x)
    after = x * 3
    both = after + wrong
    with pytest.raises(RuntimeError, match="singular"):
        both.tolist()
    assert after.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    (before.sum() + after.sum()).backward()
    assert x.grad is not None and x.grad[0, 0].item() == pytest.approx(2.718281828 + 3)


def test_program_goes_on_after_an_error(mode: str, x: Any) -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError, match="singular"):
            singular(x).sum().item()
        loss = (x * x).sum()
        loss.backward()
        assert loss.item() == 4.0
    assert x.grad is not None and x.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]


def test_backward_through_an_error(mode: str, x: Any) -> None:
    other = tg.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="singular"):
        loss = (singular(x) * other).sum()
        loss.backward()
        assert x.grad is not None
        x.grad.tolist()
    x.grad = other.grad = None
    (x * other).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_backward_raises_for_a_gradient_that_cannot_be_computed(mode: str, x: Any) -> None:
    """Else the optimizer's next step would spoil the parameter for good."""
    other = tg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="singular"):
        (singular(x).sum() + other.sum()).backward()
    assert x.grad is None
    optimizer = tg.optim.SGD([x, other], lr=0.5)
    optimizer.step()
    (x * x).sum().backward()
    optimizer.step()
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_index_out_of_range(mode: str, x: Any) -> None:
    index = tg.tensor([0, 5])
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 2"):
        x[index].tolist()
    with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
        x[2]
    pending = index - 1
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        x[pending].sum().item()
    assert x[index * 0].shape == (2, 2)


def test_error_when_recording_leaves_the_tape_as_it_was(mode: str, x: Any) -> None:
    y = x * 2
    for wrong in (lambda y: y + tg.ones(3), lambda y: y @ tg.ones(3, 3), lambda y: y.view(5), lambda y: y.sum(7)):
        with pytest.raises((RuntimeError, IndexError)):
            wrong(y)
        y = y + 1
    assert y.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_error_in_place_leaves_the_tensor_as_it_was(mode: str, x: Any) -> None:
    y = x * 2
    for wrong in (lambda: y.add_(tg.ones(3)), lambda: y.copy_(tg.ones(3, 3)), lambda: y.mul_(1j), lambda: y[0].add_(tg.ones(2, 2))):
        with pytest.raises(RuntimeError):
            wrong()
        assert y._version == 0
    assert y.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert type(y.grad_fn).__name__ == "MulBackward0"


def test_value_written_in_place_by_an_error_is_spoiled(mode: str, x: Any) -> None:
    y = tg.ones(2, 2)
    row = y[0]
    with pytest.raises(RuntimeError, match="singular"):
        y.copy_(singular(x.detach()))
        y.tolist()
    if mode != "eager":
        with pytest.raises(RuntimeError, match="singular"):
            row.tolist()
        y = y.detach()
    z = tg.ones(2, 2)
    z.zero_()
    assert z.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_spoiled_tensor_can_be_overwritten(deferred: None, x: Any) -> None:
    y = singular(x.detach())
    y.zero_()
    assert y.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_errors_of_integer_arithmetic(mode: str) -> None:
    a = tg.tensor([1, 2])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (a // (a - 1)).tolist()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (a % 0).tolist()
    assert (a + a).tolist() == [2, 4]


@pytest.mark.parametrize("operation", [lambda x, number: x * number, lambda x, number: number - x, lambda x, number: x - number])
@pytest.mark.usefixtures("mode")
def test_an_int_of_more_than_64_bits_is_refused_also_where_a_number_was_before(operation: Any) -> None:
    for number in (3, 4, 1 << 70, 5, -(1 << 64)):
        x = tg.tensor([1.0]) + 1.0
        if abs(number) > 5:
            with pytest.raises(OverflowError):
                operation(x, number)
        else:
            assert operation(x, number).tolist() == [operation(2.0, number)]
