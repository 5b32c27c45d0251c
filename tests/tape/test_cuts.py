"""Where segments are cut: the same program is cut at the same places whenever it runs, so that its results are the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.tape import trace
from tapegrad.tape.segment import state

module: Any = import_module("tapegrad.tape.materialise")  # whose function has its name
Program = Callable[[], None]


@pytest.fixture(autouse=True)
def deferred() -> Iterator[None]:
    """Let operations be pending until they are read, on a new trie."""
    before = tg.get_mode()
    tg.set_mode("interpret")
    trace._roots.clear()
    yield
    trace._roots.clear()
    tg.set_mode(before)


def _cuts(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the lengths of the segments of a run."""
    lengths: list[int] = []
    plan_for = module._plan_for

    def noting(found: trace.Node, *others: Any) -> Any:
        lengths.append(found.length)
        return plan_for(found, *others)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_plan_for", noting)
        program()
        module.materialise(state.segment)
    return lengths


def _long_start() -> tg.Tensor:
    x = tg.ones(3)
    for _ in range(20):
        x = x * 2 - x
    return x


def test_an_error_does_not_cut_the_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> None:
        x = _long_start()
        with pytest.raises(RuntimeError):
            x + tg.ones(2)
        x.sin().sum().item()

    first = _cuts(program, monkeypatch)
    assert [_cuts(program, monkeypatch) for _ in range(4)] == [first] * 4


def test_branches_are_cut_or_grow_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: tuple[str, ...] = ("sin", "cos", "tanh", "exp", "square")

    def program() -> None:
        for first in ends:
            for second in ends:
                for third in ends:
                    x = _long_start()
                    for name in (first, second, third):
                        x = getattr(x, name)() * 0.5
                    x.sum().item()

    first = _cuts(program, monkeypatch)
    assert len(first) > len(ends) ** 3  # some are cut
    assert [_cuts(program, monkeypatch) for _ in range(3)] == [first] * 3


def test_what_follows_an_error_reads_a_shared_buffer_at_once() -> None:
    for _ in range(3):  # known from the second time on
        array = np.ones(3)
        shared = tg.from_numpy(array)
        with pytest.raises(RuntimeError):
            shared + tg.ones(2)
        doubled = shared + 1.0
        array[...] = 7
        assert doubled.tolist() == [2, 2, 2]


def test_a_sweep_reads_a_shared_cotangent_at_once() -> None:
    for _ in range(3):
        leaf = tg.ones(3, dtype=tg.float64, requires_grad=True)
        array = np.ones(3)
        (gradient,) = tg.autograd.grad(leaf * 2, leaf, tg.from_numpy(array))
        array[...] = 7
        assert gradient.tolist() == [2, 2, 2]
