"""Loops of more records than a segment takes: the segments are cut at the same place of the loop's body, and are few traces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tapegrad as tg
from tapegrad.tape import trace

_STEPS = 3000


@pytest.fixture
def deferred() -> Iterator[None]:
    """Let operations be pending until they are read."""
    before = tg.get_mode()
    tg.set_mode("interpret")
    yield
    tg.set_mode(before)


def _gradient(steps: int) -> list[float]:
    """Return the gradient of a recurrence with a preparation before its loop."""
    rate, start = tg.tensor(0.5, requires_grad=True), tg.tensor([0.1, 0.2], requires_grad=True)
    scale = rate.sin() + 1
    y = start * scale
    for _ in range(steps):
        wave = y.sin() * scale
        y = y * 0.9 - wave * 0.01 + rate * 0.1
    y.sum().backward()
    assert rate.grad is not None and start.grad is not None
    return [rate.grad.item(), *start.grad.tolist()]


def _nodes() -> int:
    return sum([root.count for root in trace._roots.values()])


@pytest.mark.usefixtures("deferred")
def test_a_long_loop_is_few_traces() -> None:
    before = _nodes()
    _gradient(_STEPS)
    assert _nodes() - before < 8 * trace.PENDING_LIMIT  # of 53,000 records and imports; longer loops add little


@pytest.mark.usefixtures("deferred")
def test_a_longer_loop_adds_little() -> None:
    _gradient(_STEPS)
    before = _nodes()
    _gradient(_STEPS * 2)
    assert _nodes() - before < trace.PENDING_LIMIT // 4


@pytest.mark.usefixtures("deferred")
def test_the_gradient_is_that_of_eager_mode() -> None:
    deferred = _gradient(_STEPS)
    tg.set_mode("eager")
    assert deferred == pytest.approx(_gradient(_STEPS), rel=1e-6)
