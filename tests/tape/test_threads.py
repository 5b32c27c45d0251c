"""Threads: each has its own open segment and grad mode; tensors, leaves and gradients are shared."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tapegrad as tg

COUNT = 8


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """Let Python switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(function: Callable[[int], Any], count: int = COUNT) -> list[Any]:
    """Return what the function returns in each of some threads that start together; raise the first error."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            barrier.wait()
            results[number] = function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results


def test_threads_record_and_replay_with_shared_leaves(mode: str) -> None:
    w = tg.arange(1.0, 4.0).requires_grad_()
    x = tg.ones(3)

    def run(number: int) -> list[Any]:
        found = []
        for step in range(20):
            (gradient,) = tg.autograd.grad((w * x * (number + step)).sum() + (w * w).sum(), w)
            found.append(gradient.tolist())
        return found

    for number, found in enumerate(in_threads(run)):
        assert found == [[number + step + 2.0 * value for value in (1, 2, 3)] for step in range(20)]


def test_gradients_of_threads_accumulate_exactly(mode: str) -> None:
    w = tg.ones(3, requires_grad=True)

    def run(number: int) -> None:
        for _ in range(25):
            (w * 2).sum().backward()

    in_threads(run)
    assert w.grad is not None and w.grad.tolist() == [2.0 * 25 * COUNT] * 3


def test_tensor_pending_on_another_thread_is_materialised(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2 + 1
    z = y * 3

    def run(number: int) -> list[Any]:
        result = (y * number + z).sum()
        (gradient,) = tg.autograd.grad(result, x, retain_graph=True)
        return [result.item(), gradient.tolist(), y.tolist()]

    (found,) = in_threads(lambda number: run(4), 1)
    assert found == [63.0, [14.0] * 3, [3.0] * 3]
    assert (y + z).tolist() == [12.0] * 3
    (z + 1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6.0] * 3


def test_many_threads_read_what_is_pending_on_one(mode: str) -> None:
    for _ in range(20):
        x = tg.ones(3, requires_grad=True)
        values = [x * number for number in range(COUNT)]
        total = sum(values[1:], values[0])
        found = in_threads(lambda number: (values[number].tolist(), total.tolist(), (values[number] + total).sum().item()))  # noqa: B023
        assert found == [([1.0 * number] * 3, [28.0] * 3, 3 * (28.0 + number)) for number in range(COUNT)]


def test_thread_reads_while_another_records(mode: str) -> None:
    made: list[Any] = [tg.zeros(2)]
    done = threading.Event()

    def run(number: int) -> Any:
        if number == 0:
            for _ in range(300):
                made.append(made[-1] + 1)
            done.set()
            return None
        seen = []
        while not done.is_set():
            place = len(made) - 1
            seen.append((place, made[place].tolist()))
        return seen

    _, *others = in_threads(run, 3)
    for seen in others:
        assert all(values == [1.0 * place] * 2 for place, values in seen)
    assert made[-1].tolist() == [300.0] * 2


def test_two_threads_on_one_graph(mode: str) -> None:
    for _ in range(20):
        x = tg.ones(3, requires_grad=True)
        loss = (x * x).exp().sum()
        outcomes = in_threads(lambda number: _backward(loss), 2)  # noqa: B023
        # Both may be in the graph before either has released it; but not with a wrong gradient.
        assert outcomes.count("freed") <= 1
        gradient = x.grad
        assert gradient is not None
        assert (gradient / (2 * tg.tensor(1.0).exp())).round().tolist() == [1.0 * outcomes.count("done")] * 3


def _backward(loss: Any) -> str:
    try:
        loss.backward()
    except RuntimeError as error:
        assert "backward through the graph a second time" in str(error)
        return "freed"
    return "done"


def test_grad_modes_are_the_threads_own(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)

    def run(number: int) -> list[Any]:
        seen = [tg.is_grad_enabled()]
        for _ in range(50):
            if number % 2:
                with tg.no_grad():
                    seen.append((x * 2).requires_grad)
            else:
                seen.append((x * 2).requires_grad)
        return seen

    with tg.no_grad():
        found = in_threads(run)
    assert found == [[True] + [number % 2 == 0] * 50 for number in range(COUNT)]


def test_thread_that_ends_leaves_its_pending_values(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    made = in_threads(lambda number: (x * number).exp() if number else x * 3)
    assert made[0].tolist() == [3.0] * 3
    (made[0] + made[1]).sum().backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([3.0 + 2.718281828] * 3)


def test_in_place_in_a_thread_is_seen_in_another(mode: str) -> None:
    x = tg.zeros(3)
    view = x[1:]
    in_threads(lambda number: x.add_(1), 1)
    assert (view + 0).tolist() == [1.0, 1.0]
    in_threads(lambda number: view.mul_(5), 1)
    assert x.tolist() == [1.0, 5.0, 5.0]
