"""Compiled calls of more records than an ordinary segment takes: a whole loop and its adjoints are one segment."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.tape import trace

_STEPS = 700


@pytest.fixture(autouse=True, params=["interpret", "jit"])
def deferred_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    before = tg.get_mode()
    tg.set_mode(request.param)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    tg.set_mode(before)


def _recurrence(x: Any, weight: Any, sequence: Any) -> Any:
    total = 0.0
    for time in range(_STEPS):
        x = (sequence[time] * weight + x * 0.5).tanh()
        total = total + (x[:2] * sequence[time, 1:]).sum()
    return total


def _inputs(seed: int) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(seed)
    x, weight, sequence = [tg.tensor(generator.normal(size=shape)) for shape in ((3,), (3,), (_STEPS, 3))]
    return x, weight.requires_grad_(), sequence


def test_results_and_gradients_of_several_calls() -> None:
    runs = []

    @tg.compile
    def value_and_gradients(x: Any, weight: Any, sequence: Any) -> Any:
        runs.append(1)
        weight.grad = None
        value = _recurrence(x, weight, sequence)
        value.backward()
        return value, weight.grad

    made = [_inputs(seed) for seed in range(5)]
    for seed, inputs in enumerate(made):
        value, gradient = value_and_gradients(*inputs)
        x, weight, sequence = _inputs(seed)
        expected = _recurrence(x, weight, sequence)
        expected.backward()
        assert value.item() == pytest.approx(expected.item(), rel=1e-12)
        assert gradient.tolist() == pytest.approx(weight.grad.tolist(), rel=1e-10)
    assert len(runs) < len(made)


def test_it_is_more_than_an_ordinary_segment_takes() -> None:
    compiled = tg.compile(_recurrence)
    compiled(*_inputs(0))
    (known,) = compiled._known.values()
    (variant,) = known.variants
    assert variant.captured.trace.length > trace.PENDING_LIMIT


def test_parameters_are_read_afresh() -> None:
    x, weight, sequence = _inputs(5)
    step = tg.compile(lambda: _trained(x, weight, sequence))
    losses = [step().item() for _ in range(4)]
    x, weight, sequence = _inputs(5)
    assert losses == pytest.approx([_trained(x, weight, sequence).item() for _ in range(4)], rel=1e-10)
    assert len(set(losses)) == 4


def _trained(x: Any, weight: Any, sequence: Any) -> Any:
    """Return the loss of a step of gradient descent."""
    weight.grad = None
    loss = _recurrence(x, weight, sequence) / _STEPS
    loss.backward()
    with tg.no_grad():
        weight -= 0.1 * weight.grad
    return loss


def test_a_gradient_that_ordinary_code_asks_for_later() -> None:
    compiled = tg.compile(_recurrence)
    for seed in (0, 1, 2):
        inputs = _inputs(seed)
        compiled(*inputs).backward()
        x, weight, sequence = _inputs(seed)
        _recurrence(x, weight, sequence).backward()
        assert inputs[1].grad.tolist() == pytest.approx(weight.grad.tolist(), rel=1e-10)


def test_checking_finds_where_a_call_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_CHECK_COMPILED", "1")
    is_other = False

    def function(x: Any, weight: Any, sequence: Any) -> Any:
        value = _recurrence(x, weight, sequence)
        return value.sin() if is_other else value.exp()

    compiled = tg.compile(function)
    inputs = _inputs(0)
    expected = function(*inputs).item()
    for _ in range(3):
        assert compiled(*inputs).item() == pytest.approx(expected, rel=1e-12)
    is_other = True
    with pytest.raises(RuntimeError, match="is sin.*where exp.*was captured"):
        compiled(*inputs)


def test_what_is_too_long_for_a_capture_is_ordinary_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapegrad.compilation.CAPTURE_LIMIT", 2000)
    compiled = tg.compile(_recurrence)
    inputs = _inputs(0)
    expected = _recurrence(*inputs).item()
    for _ in range(2):
        assert compiled(*inputs).item() == pytest.approx(expected, rel=1e-12)
    with pytest.warns(RuntimeWarning, match=r"runs as ordinary code: its 2,000 operations .* are more than a captured call may have"):
        assert compiled(*inputs).item() == pytest.approx(expected, rel=1e-12)
    assert compiled(*inputs).item() == pytest.approx(expected, rel=1e-12)
