"""Which records join which loop: by what they wait for, whatever lies between them on the tape. And what sinks into later loops."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import tapegrad
from tapegrad.execute.loops import Loop
from tapegrad.execute.order import MOST_OPEN, Order

from .comparing import compiled, read


@pytest.fixture
def programs() -> Iterator[list[Any]]:
    tapegrad.manual_seed(0)
    with compiled() as programs:
        yield programs


def loops(program: Any) -> list[list[str]]:
    """Return the names of the records in each loop."""
    stages = [stage for stage in program.fusion.stages if isinstance(stage, Loop) and stage.steps]
    return [[step.node.primitive.name for step in stage.steps.values()] for stage in stages]


def stored(program: Any) -> int:
    """Return how many values of loops are in memory."""
    return sum([step.is_stored for stage in program.fusion.stages if isinstance(stage, Loop) for step in stage.steps.values()])


# What waits for what


def order_of(*stages: tuple[str, list[int]]) -> Order:
    """Return the order of loops and others that wait for these places."""
    order = Order()
    for what, places in stages:
        order.add(places, is_open=what == "loop")
    return order


def test_a_chain_is_joined_from_neither_end() -> None:
    order = order_of(("loop", []), ("product", [0]), ("loop", [1]))
    assert not order.may_join(0, [1]) and not order.may_join(0, [2])
    assert order.may_join(2, [0, 1])


def test_the_sides_of_a_diamond_wait_for_each_other_once_at_most() -> None:
    order = order_of(("loop", []), ("loop", [0]), ("loop", [0]), ("loop", [1, 2]))
    assert order.may_join(1, [2]) and order.may_join(2, [1])
    order.join(1, [2])
    assert not order.may_join(2, [1]) and order.may_join(1, [2])
    assert not order.may_join(1, [3])


def test_two_loops_do_not_wait_for_each_other_through_others() -> None:
    order = order_of(("loop", []), ("loop", []), ("product", [0]), ("product", [1]))
    order.join(1, [2])  # the second loop waits for the first one's product
    assert not order.may_join(0, [3])
    assert order.before([3]) == 0b11


def test_what_a_loop_comes_to_wait_for_its_users_wait_for_too() -> None:
    order = order_of(("loop", []), ("loop", []), ("product", [1]), ("loop", [2]))
    order.join(1, [0])
    assert not order.may_join(0, [2]) and not order.may_join(0, [3])


def test_a_loop_is_closed_after_what_it_waits_for() -> None:
    order = order_of(("loop", []), ("loop", []), ("product", [0]))
    order.join(0, [1])
    for _ in range(MOST_OPEN - 1):
        order.add([], is_open=True)
    assert order.open[:2] == [0, 3]  # the second loop waits for nothing, and is closed first
    assert order.before([1]) == 0 and order.before([2]) == 1
    order.add([], is_open=True)
    assert order.before([2]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_nothing_waits_for_itself_whatever_joins(seed: int) -> None:
    """Joins are allowed if, and while loops are open only if, the graph that they give has no cycle."""
    generator = random.Random(seed)
    order, needs = Order(), list[set[int]]()

    def reached(places: set[int]) -> set[int]:
        found, left = set[int](), list(places)
        while left:
            place = left.pop()
            if place not in found:
                found.add(place)
                left += needs[place]
        return found

    for _ in range(3 * MOST_OPEN):
        places = {generator.randrange(len(needs)) for _ in range(generator.randrange(3)) if needs}
        loop = generator.choice(order.open) if order.open else None
        if loop is not None and generator.random() < 0.6:
            joins = order.may_join(loop, places - {loop})
            assert joins == (loop not in reached(places - {loop}))
            if joins:
                order.join(loop, places - {loop})
                needs[loop] |= places - {loop}
        else:
            order.add(places, is_open=generator.random() < 0.7)
            needs.append(places)


# Records


def test_backward_joins_forward(programs: list[Any]) -> None:
    """Though the loss lies between them on the tape: nothing of the gradient waits for it."""
    x, w = tapegrad.randn(6, 40, requires_grad=True), tapegrad.randn(40, requires_grad=True)
    loss = ((tapegrad.softmax(x, -1) * w) ** 2).mean()
    loss.backward()
    read(loss.detach(), x.grad, w.grad)
    (large, *_) = sorted(loops(programs[-1]), key=len, reverse=True)
    assert sum(map(len, loops(programs[-1]))) - len(large) <= 2
    assert stored(programs[-1]) <= 5  # the results, and the factor that the gradient begins with


def test_a_product_in_between_parts_loops(programs: list[Any]) -> None:
    x, w = tapegrad.randn(5, 5), tapegrad.randn(5, 5)
    h = tapegrad.exp(x)
    y = tapegrad.log(h) + h @ w
    read(h * 2 + y)
    assert loops(programs[-1]) == [["exp"], ["log", "add", "mul", "add"]]


def test_two_loops_with_values_of_each_other(programs: list[Any]) -> None:
    """Each has a record that reads a product of the other: the second one is in a loop of its own."""
    x, y = tapegrad.randn(5, 5), tapegrad.randn(4, 4)
    p, q = tapegrad.randn(4, 5), tapegrad.randn(5, 4)
    a, b = tapegrad.exp(x), tapegrad.exp(y)
    ab, ba = p @ a @ q, q @ b @ p
    c, d = a * ba, b * ab
    read(a, b, c, d)
    assert loops(programs[-1]) == [["exp", "mul"], ["exp"], ["mul"]]


def test_a_cheap_factor_sinks_to_where_it_is_used(programs: list[Any]) -> None:
    """The derivative of tanh is computed of the result, which is in memory for the product."""
    x, w = tapegrad.randn(8, 9), tapegrad.randn(9, 3)
    y = tapegrad.tanh(x)
    g = (y @ w) @ tapegrad.randn(3, 9)
    read(g * (1 - y * y))
    assert stored(programs[-1]) == 2 and loops(programs[-1])[0] == ["tanh"]


def test_what_takes_long_is_computed_once(programs: list[Any]) -> None:
    x, w = tapegrad.randn(8, 9), tapegrad.randn(9, 9)
    y = tapegrad.exp(x)
    z = y * 2
    read(z @ w + y, (z @ w).exp() * y)
    assert sum(loops(programs[-1]), []).count("exp") == 2


def test_what_sinks_keeps_its_elements_order(programs: list[Any]) -> None:
    """A transposed reader cannot compute the value by its own elements' order."""
    x, w = tapegrad.randn(7, 7), tapegrad.randn(7, 7)
    y = x * 3
    read((y @ w) * y.transpose(0, 1), (y.reshape(49) * 2).sum() + (y @ w).reshape(49).sum())


def test_many_loops(programs: list[Any]) -> None:
    """More loops than are open at a time."""
    values = [tapegrad.randn(3, 3) for _ in range(4)]
    for number in range(4 * MOST_OPEN):
        a, b = values[number % 4], values[(number * 7 + 1) % 4]
        values[number % 4] = (a @ b) * 0.3 + tapegrad.sigmoid(b) if number % 3 else a * 0.5 + b * 0.25
    read(*values)
