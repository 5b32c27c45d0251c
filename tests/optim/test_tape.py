"""Steps on the tape: they are recorded and read nothing, every one has the structure of the last, and memory stays flat."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tapegrad as tg
from tapegrad.tape import trace
from tapegrad.tape.buffers import is_concrete
from tapegrad.tape.segment import state
from tests.optim.configurations import CASES, TYPICAL, Training, name_of


@pytest.fixture
def deferred() -> Iterator[None]:
    """Let operations be pending until they are read."""
    before = tg.get_mode()
    tg.set_mode("interpret")
    yield
    tg.set_mode(before)


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def nodes() -> int:
    """Return how many nodes the tries have."""
    return sum([root.count for root in trace._roots.values()])


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_steady_step_adds_no_nodes(mode: str, case: Any) -> None:
    step = Training(tg, *case)
    for _ in range(5):
        step()
    before = nodes()
    for _ in range(10):
        step()
    assert nodes() == before


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_step_computes_nothing(case: Any) -> None:
    step = Training(tg, *case)
    for _ in range(3):
        step()
        for parameter in step.parameters:
            assert parameter.is_leaf and parameter.requires_grad and not is_concrete(parameter)
            kept = dict(step.optimizer.state.get(parameter, {}))
            count = kept.pop("step", None)
            assert count is None or is_concrete(count)
            assert not any(is_concrete(value) for value in kept.values())


# Records of a step with one parameter. What multiplies by 1, or adds 0, is left out.
RECORDS = [
    ("SGD", {}, 1),
    ("SGD", {"maximize": True}, 2),
    ("SGD", {"weight_decay": 0.1}, 3),
    ("SGD", {"momentum": 0.9}, 3),
    ("SGD", {"momentum": 0.9, "dampening": 0.1}, 4),
    ("SGD", {"momentum": 0.9, "nesterov": True}, 5),
    ("Adam", {}, 13),
    ("Adam", {"amsgrad": True}, 14),
    ("AdamW", {}, 14),
    ("RMSprop", {}, 9),
    ("RMSprop", {"momentum": 0.9}, 11),
    ("Adagrad", {}, 7),
]


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize(("name", "options", "expected"), RECORDS)
def test_a_step_has_few_records(name: str, options: dict[str, Any], expected: int) -> None:
    w = tg.ones(3, requires_grad=True)
    optimizer = getattr(tg.optim, name)([w], **options)
    for _ in range(2):
        w.tolist()
        w.grad = tg.ones(3)
        optimizer.step()
    path = trace.path_to(state.segment.node)
    assert len([node for node in path if node.operands]) == expected


def test_a_step_after_a_forward_pass_leaves_its_gradient_right(mode: str) -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = tg.optim.Adam([w], lr=0.5)
    w.grad = tg.ones(2)
    loss = (w**3).sum()
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [3.0, 12.0]
    assert w.tolist() == pytest.approx([0.5, 1.5])


def test_steps_without_a_pass_between_them(mode: str) -> None:
    w = tg.zeros(2, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.5, momentum=1.0)
    w.grad = tg.ones(2)
    for _ in range(3000):
        optimizer.step()
    assert w.tolist() == [-0.5 * 3000 * 3001 / 2] * 2
    assert len(state.segment.values) < 3 * 4096


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("case", TYPICAL, ids=name_of)
def test_memory_is_flat(mode: str, case: Any) -> None:
    step = Training(tg, *case, width=2000)
    assert _growth(step) < 8000 * 4  # far less than one of the larger parameters at each of forty steps


def _growth(step: Callable[[], Any]) -> int:
    for _ in range(10):
        step()
    tracemalloc.start()
    try:
        for _ in range(10):
            step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(40):
            step()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("without_collector")
def test_an_optimizer_dies_with_its_last_reference(mode: str) -> None:
    step = Training(tg, "Adam", {})
    step()
    parameter = weakref.ref(step.parameters[0])
    optimizer = weakref.ref(step.optimizer)
    moment = weakref.ref(step.optimizer.state[step.parameters[0]]["exp_avg"])
    step.parameters[0].tolist()
    del step
    assert optimizer() is None and moment() is None and parameter() is None
