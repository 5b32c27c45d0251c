"""What the tape computes, keeps and gives back: only values that someone can reach, and only as long as they can."""

from __future__ import annotations

import gc
import math
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.execute import tiering
from tapegrad.primitives import batching
from tapegrad.primitives.declare import TABLE, Primitive
from tapegrad.tape.buffers import is_concrete
from tapegrad.tape.segment import NO_SEGMENT, Segment, state


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Primitive, list[int]]]:
    """Return a primitive that doubles, and a list with an entry for each time that it was computed."""
    computed: list[int] = []
    monkeypatch.setattr(tiering, "threshold", math.inf)  # a plan is run once more when it is compiled

    def run(a: Any) -> Any:
        computed.append(1)
        return a * 2

    primitive = Primitive(
        "counted_double",
        run,
        lambda a: (a.dtype, a.shape),
        derivatives=(lambda g, r: g * 2 + r * 0,),
        batch=batching.leading,
    )
    yield primitive, computed
    del TABLE["counted_double"]


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    """Let the tests see what dies by reference count alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# What is computed


def test_dead_values_are_never_computed(mode: str, double: Any) -> None:
    primitive, computed = double
    x = tg.ones(3)
    y = primitive(x)
    del y
    z = x + 1
    assert z.tolist() == [2.0, 2.0, 2.0]
    assert len(computed) == (1 if mode == "eager" else 0)


def test_dead_value_that_a_live_one_needs_is_computed_once(mode: str, double: Any) -> None:
    primitive, computed = double
    y = primitive(tg.ones(3))
    first, second = y + 1, y * y
    del y
    assert first.tolist() == [3.0] * 3 and second.tolist() == [4.0] * 3
    assert len(computed) == 1


def test_value_is_computed_when_first_read(mode: str, double: Any) -> None:
    primitive, computed = double
    y = primitive(tg.ones(3))
    assert len(computed) == (1 if mode == "eager" else 0)
    y.tolist()
    y.tolist()
    assert len(computed) == 1


def test_value_that_only_a_dead_history_saved_is_not_computed(mode: str, double: Any) -> None:
    primitive, computed = double
    x = tg.ones(3, requires_grad=True)
    loss = (primitive(x) * x).sum()
    del loss
    (x + 1).tolist()
    assert len(computed) == (1 if mode == "eager" else 0)


def test_old_value_of_a_tensor_overwritten_in_place_is_not_computed(mode: str, double: Any) -> None:
    primitive, computed = double
    y = primitive(tg.ones(3))
    y.copy_(tg.zeros(3))
    assert y.tolist() == [0.0] * 3
    assert len(computed) == (1 if mode == "eager" else 0)


def test_view_keeps_its_base_alive(mode: str) -> None:
    base = tg.ones(2, 2) * 3
    row = base[0]
    base.add_(1)
    del base
    assert row.tolist() == [4.0, 4.0]


def test_forward_and_backward_are_one_segment(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    loss = (x.exp() * x).sum()
    segment = state.segment
    loss.backward()
    if mode != "eager":
        assert segment is not NO_SEGMENT and loss._home is segment
        assert state.segment is NO_SEGMENT and is_concrete(x.grad)
    assert x.grad is not None and x.grad.tolist() == pytest.approx([2 * np.e] * 3)


def test_segment_is_bounded(mode: str) -> None:
    x = tg.ones(())
    for _ in range(10_000):
        x = x + 1
    assert len(state.segment.values) < 3 * 4096
    assert x.item() == 10_001


# What is released


def array_of(tensor: Any) -> weakref.ref[Any]:
    tensor.tolist()
    return weakref.ref(tensor._array)


def test_residuals_die_with_backward(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    kept = array_of(y)
    del y
    assert kept() is not None
    loss.backward()
    assert kept() is None


def test_residuals_stay_with_retain_graph(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    kept = array_of(y)
    del y
    loss.backward(retain_graph=True)
    assert kept() is not None
    loss.backward()
    assert kept() is None
    assert x.grad is not None and x.grad.tolist() == pytest.approx([2 * np.e] * 3)


def test_releasing_is_per_record(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y, z = x.exp(), x.sin()
    first, second = y.sum(), z.sum()
    kept_y, kept_x = array_of(y), array_of(x)
    del y, z
    first.backward()
    assert kept_y() is None and kept_x() is not None
    second.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        first.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        second.backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([np.e + np.cos(1.0)] * 3)


def test_value_that_two_records_saved_stays_for_the_other(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x.exp()
    first, second = (y * y).sum(), (y.detach() * x).sum()
    kept = array_of(y)
    del y
    first.backward()
    assert kept() is not None
    second.backward()
    assert kept() is None


def test_history_without_residuals_can_be_replayed_again_and_again(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = (x + x).reshape(3, 1).sum()
    for _ in range(3):
        y.backward()
        x.grad.tolist()  # type: ignore[union-attr]
    assert x.grad is not None and x.grad.tolist() == [6.0] * 3


# What dies by reference count


def chain(x: Any, read: bool) -> Any:
    """Return a result whose history is in one segment, or with `read` in three."""
    y = x.exp()
    if read:
        y.tolist()
    z = (y * y).sin()
    if read:
        z.tolist()
    return z.sum()


@pytest.mark.parametrize("read", [False, True])
def test_history_dies_with_its_result(mode: str, read: bool) -> None:
    x = tg.ones(3, requires_grad=True)
    loss = chain(x, read)
    loss.item()
    segments = [weakref.ref(loss._home), *[weakref.ref(origin[0]) for origin in origins(loss)]]
    assert len(segments) > 1 or (mode != "eager" and not read)
    del loss
    assert [segment() for segment in segments] == [None] * len(segments)


def origins(tensor: Any) -> list[Any]:
    return [origin for origin in tensor._home.origins.values() if isinstance(origin, tuple)]


def may_fail(program: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # in eager mode it is raised at once
        program()


def fails(function: Callable[[], Any]) -> None:
    try:
        function()
    except RuntimeError:
        return
    raise AssertionError("no error")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda x: chain(x, False).backward(), id="backward"),
        pytest.param(lambda x: chain(x, True).backward(), id="backward over segments"),
        pytest.param(lambda x: tg.autograd.grad(chain(x, False), x, create_graph=True), id="grad that can be differentiated"),
        pytest.param(lambda x: tg.autograd.grad(chain(x, True), x, create_graph=True)[0].sum().backward(), id="second derivative"),
        pytest.param(lambda x: (x * 2)[0].add_(1).item(), id="in place through a view"),
        pytest.param(lambda x: (x * 2).view(3, 1).t().sum().backward(), id="views"),
        pytest.param(lambda x: (x * 2).retain_grad(), id="retain_grad"),
        pytest.param(lambda x: chain(x, False).grad_fn.next_functions[0][0].next_functions, id="nodes"),
        pytest.param(lambda x: x.data.add_(1), id="data"),
        pytest.param(lambda x: x.detach().numpy(), id="numpy"),
        pytest.param(lambda x: may_fail(lambda: tg.linalg.inv(tg.zeros(2, 2) * x[0])), id="an error that nobody reads"),
        pytest.param(lambda x: fails(lambda: tg.linalg.inv(tg.zeros(2, 2) * x[0]).sum().item()), id="an error that is read"),
        pytest.param(lambda x: fails(lambda: x + tg.ones(2)), id="an error when recording"),
    ],
)
def test_nothing_is_left_for_the_collector(mode: str, program: Callable[[Any], Any]) -> None:
    x = tg.ones(3, requires_grad=True)
    program(x)
    program(x)
    tg.set_mode(mode)  # seals what is open
    gc.collect()
    program(x)
    tg.set_mode(mode)
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        left = [value for value in gc.garbage if isinstance(value, (tg.Tensor, Segment, np.ndarray))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert left == []


# Flat memory

MEGABYTE = 1 << 20


def growth(step: Callable[[], Any]) -> int:
    """Return how many bytes more are in use after forty more steps, after a few that fill the caches."""
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


def test_loop_of_dropped_forward_passes_is_flat(mode: str) -> None:
    x = tg.ones(MEGABYTE // 4, requires_grad=True)

    def step() -> None:
        loss = (x.exp() * x).sin().sum()
        loss.item()

    assert growth(step) < MEGABYTE // 2


def test_loop_that_keeps_numbers_is_flat(mode: str) -> None:
    x = tg.ones(MEGABYTE // 4, requires_grad=True)
    kept: list[Any] = []

    def step() -> None:
        kept.append((x.exp() * x).sin().sum().item())

    assert growth(step) < MEGABYTE // 2


def test_training_loop_is_flat(mode: str) -> None:
    w = tg.ones(MEGABYTE // 4, requires_grad=True)

    def step() -> None:
        ((w * w).sin().sum()).backward()
        with tg.no_grad():
            w.sub_(0.001 * w.grad)
        w.grad = None

    assert growth(step) < MEGABYTE // 2


def test_training_loop_that_accumulates_is_flat(mode: str) -> None:
    w = tg.ones(MEGABYTE // 4, requires_grad=True)

    def step() -> None:
        ((w * w).sin().sum()).backward()
        with tg.no_grad():
            w.add_(w.grad, alpha=-0.001)
            w.grad.zero_()  # type: ignore[union-attr]

    assert growth(step) < MEGABYTE // 2


def test_state_that_is_carried_on_without_history_is_flat(mode: str) -> None:
    carried = [tg.zeros(MEGABYTE // 4)]
    w = tg.ones((), requires_grad=True)

    def step() -> None:
        carried[0] = (carried[0] * 0.5 + w).detach()
        if carried[0][0].item() > 3:
            raise AssertionError

    assert growth(step) < MEGABYTE // 2


def test_loop_that_never_reads_is_flat(mode: str) -> None:
    average = tg.zeros(1000)
    x = tg.ones(1000)

    def step() -> None:
        for _ in range(100):
            average.mul_(0.9).add_(x, alpha=0.1)

    assert growth(step) < 16 * MEGABYTE  # pending records and their trie nodes, up to the bound
