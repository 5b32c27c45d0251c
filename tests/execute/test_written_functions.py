"""Functions written as source share their code, and nothing else; over several shapes they give what fresh plans give."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import interpreter, program, tiering, written_functions
from tapegrad.execute.written_functions import function_of
from tapegrad.tape import trace

SHAPES = [(3, 4), (5, 4), (1, 4), (0, 4), (40_000, 4), (5, 1), (3, 4)]


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    trace._roots.clear()
    tiering._structures.clear()
    before = tapegrad.get_mode()
    tapegrad.set_mode("jit")
    yield
    tapegrad.set_mode(before)
    trace._roots.clear()
    tiering._structures.clear()


def test_functions_of_one_text_have_their_own_names() -> None:
    source = "def work(values):\n    return f(values) + 1\n"
    first = function_of(source, {"f": lambda values: 10})
    second = function_of(source, {"f": lambda values: 20})
    assert [first(None), second(None), first(None)] == [11, 21, 11]


def test_code_goes_with_the_last_function_of_its_text() -> None:
    source = "def work(values):\n    return 'of nobody else'\n"
    functions = [function_of(source, {}) for _ in range(2)]
    functions.pop()
    gc.collect()
    assert source in written_functions._codes
    functions.pop()
    gc.collect()
    assert source not in written_functions._codes


def step(shape: tuple[int, int], scale: float) -> list[Any]:
    """Return a value and its gradients, of a small network of which the bias is broadcast over the rows."""
    count, features = shape
    inputs = tapegrad.linspace(-1, 1, count * features).reshape(count, features)
    weight = tapegrad.linspace(-2, 2, 3 * features).reshape(features, 3).requires_grad_()
    bias = tapegrad.tensor([0.5, -0.25, 0.125], requires_grad=True)
    rows = tapegrad.tanh(inputs @ weight + bias) * scale
    value = tapegrad.softmax(rows, dim=1).square().sum()
    value.backward()
    return [tensor.numpy().copy() for tensor in (value.detach(), weight.grad, bias.grad)]


def results(threshold: float, monkeypatch: pytest.MonkeyPatch, between: Callable[[], None]) -> list[Any]:
    monkeypatch.setattr(tiering, "threshold", threshold)
    monkeypatch.setattr(tiering, "_DRAFT", 0.0)
    found = []
    for number in range(4):
        for shape in SHAPES:
            between()
            found += step(shape, 1.0 + number)
    return found


def forget() -> None:
    """Let the next plan be a fresh one, with code of its own."""
    trace._roots.clear()
    tiering._structures.clear()
    written_functions._codes.clear()


@pytest.mark.parametrize("threshold", [0.0, 1e9], ids=["programs", "interpreted"])
def test_plans_over_several_shapes_give_what_fresh_ones_give(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_RUNS_BEFORE_PROGRAM", 2)
    shared = results(threshold, monkeypatch, lambda: None)
    fresh = results(threshold, monkeypatch, forget)
    for one, other in zip(shared, fresh, strict=True):
        np.testing.assert_array_equal(one, other)


def test_programs_of_other_batch_sizes_share_code_and_not_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "threshold", 0.0)
    made: list[program.Program] = []
    link = program.Program.link

    def note(self: program.Program) -> None:
        link(self)
        made.append(self)

    monkeypatch.setattr(program.Program, "link", note)
    for count in (6, 7, 9):
        step((count, 4), 1.0)
    assert len(made) >= 3
    assert len({each.source for each in made}) == len(made) // 3  # the text is the same for the three of them
    for each in made:
        assert each._function.__globals__["the code it shares"] is written_functions._codes[each._machine.sources[1]]
    assert len({id(each._function.__code__) for each in made}) == len(made)  # what Python notes in it is each one's own
