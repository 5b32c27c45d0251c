"""An optimiser's step that was recorded before is put on the trace in one go: it does what it did when it was new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.tape.segment import state
from tapegrad.tape.updates import step_again

pytestmark = pytest.mark.usefixtures("mode")


def leaf() -> Any:
    return tg.tensor([1.0, 2.0], requires_grad=True)


def steps(x: Any, other: Any, count: int = 4) -> None:
    """Take steps, each read before the next, as after a loss."""
    for number in range(count):
        with tg.no_grad():
            x.sub_(other, alpha=0.5 + number)
            x.add_(other, alpha=0.25)
        x.tolist()


def moved(x: list[float], other: list[float], count: int = 4) -> list[float]:
    factor = sum(0.25 - 0.5 - number for number in range(count))
    return [a + factor * b for a, b in zip(x, other, strict=True)]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_steps_again(requires_grad: bool) -> None:
    for other in (tg.tensor([1.0, -1.0]), tg.tensor([4.0, 8.0])):
        x = tg.tensor([1.0, 2.0], requires_grad=requires_grad)
        version = x._version
        steps(x, other)
        assert x.tolist() == moved([1.0, 2.0], other.tolist())
        assert x.is_leaf and x.requires_grad is requires_grad and x._version == version + 8
        if requires_grad:
            (x * x).sum().backward()
            assert x.grad.tolist() == [2 * value for value in x.tolist()]


@pytest.mark.parametrize("name", ["interpret", "jit"])
def test_it_is_taken(name: str) -> None:
    tg.set_mode(name)
    x, other = tg.nn.Parameter(tg.tensor([1.0, 2.0])), tg.tensor([1.0, 1.0])
    for number in range(4):
        with tg.no_grad():
            assert step_again(x, other, -0.5, "SubBackward0") or number == 0
            if number == 0:
                x.sub_(other, alpha=0.5)
        assert x.tolist() == [0.5 - 0.5 * number, 1.5 - 0.5 * number]


def test_views_and_aliases_follow() -> None:
    for _ in range(3):
        x, other = leaf(), tg.tensor([1.0, 1.0])
        steps(x, other)
        view, alias = x.detach()[1:], x.detach()
        steps(x, other)
        assert view.tolist() == x.tolist()[1:] and alias.tolist() == x.tolist()
        array = x.detach().numpy()
        steps(x, other)
        assert array.tolist() == x.tolist()


def test_a_tensor_and_itself_after_two_tensors() -> None:
    x, y = tg.tensor([1.0, 2.0]), tg.tensor([10.0, 20.0])
    for _ in range(3):
        with tg.no_grad():
            x.add_(y, alpha=2.0)
        x.tolist()
    with tg.no_grad():
        x.add_(x, alpha=2.0)
    assert x.tolist() == [3 * 61.0, 3 * 122.0]


def test_errors_stay() -> None:
    x, other = leaf(), tg.tensor([1.0, 1.0])
    steps(x, other)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.sub_(other, alpha=0.5)
    with tg.no_grad(), pytest.raises(RuntimeError, match="output with shape"):
        x.sub_(tg.ones(3, 2), alpha=0.5)
    with tg.inference_mode():
        made = tg.ones(2)
    with tg.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        made.sub_(other, alpha=0.5)
    assert x.tolist() == moved([1.0, 2.0], [1.0, 1.0])


def test_another_operand() -> None:
    others: list[Callable[[], Any]] = [
        lambda: tg.tensor([1.0, 3.0]),
        lambda: tg.tensor(2.0),
        lambda: tg.tensor([1, 3]),
        lambda: tg.tensor([[1.0, 3.0], [5.0, 7.0]])[:, 1],
        lambda: tg.tensor([1.0, 3.0]) * 2,
        lambda: tg.tensor([1.0, 3.0], requires_grad=True),
        lambda: tg.from_numpy(np.array([1.0, 3.0], np.float32)),
    ]
    for _ in range(3):
        for make in others:
            x, other = leaf(), make()
            expected = [value - 0.5 * float(part) for value, part in zip(x.tolist(), np.broadcast_to(other.tolist(), 2), strict=True)]
            with tg.no_grad():
                x.sub_(other, alpha=0.5)
            assert x.tolist() == expected and x.is_leaf


def test_a_value_from_before_is_kept_for_the_sweep() -> None:
    for _ in range(4):
        x, other = leaf(), tg.tensor([1.0, 1.0])
        square = (x * x).sum()
        square.item()
        with tg.no_grad():
            x.sub_(other, alpha=0.5)
        square.backward()
        assert x.grad.tolist() == [2.0, 4.0] and x.tolist() == [0.5, 1.5]
        with tg.no_grad():
            x.sub_(x.grad, alpha=0.5)
        assert x.tolist() == [-0.5, -0.5]
        assert state.grad_enabled
