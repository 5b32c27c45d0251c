"""Interrupts: a KeyboardInterrupt at any point leaves a library that goes on with right results.

Python raises one where it looks for signals: when a function begins, and after a call. So each test runs a program again
and again, and interrupts it at another such point in tapegrad's code each time.

What cannot be guarded is the end of a context itself: an interrupt while ``no_grad`` ends leaves the mode as it is, in
PyTorch too.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.tape import trace
from tapegrad.tape.segment import in_grad_mode, set_grad_mode

PACKAGE = str(Path(tg.__file__).parent)
Program = Callable[[list[Any]], None]


ENDS_CONTEXT = {"__exit__", "restore_grad_mode"}


def points(program: Callable[[], Any], interrupt_at: int | None = None) -> int:
    """Run a program and return how many points it passed; at the given one, raise KeyboardInterrupt."""
    passed = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal passed
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PACKAGE):
            passed += 1
            if passed - 1 == interrupt_at:
                raise KeyboardInterrupt(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.setprofile(None)
    return passed


def leaf(*values: float) -> Any:
    return tg.tensor(values, requires_grad=True)


def train(made: list[Any]) -> None:
    """Run two steps of training; what is made on the way is kept."""
    w, x = leaf(1.0, 2.0), tg.tensor([3.0, 4.0])
    made += [w, x]
    for _ in range(2):
        hidden = (w * x).exp()
        loss = (hidden.log() * w).sum()
        made += [hidden, loss]
        loss.backward()
        with tg.no_grad():
            w -= 0.125 * w.grad
        w.grad = None
    made.append(loss.item())


def mutate(made: list[Any]) -> None:
    """Write in place, to tensors and through views."""
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    row, pair = y[0], y[1:]
    made += [x, y, row, pair]
    y.mul_(3)
    pair.add_(1)
    row.copy_(pair[1])
    y.sum().backward()
    made.append(y.tolist())


def differentiate_twice(made: list[Any]) -> None:
    """Take gradients of gradients, with a value read in between."""
    x = leaf(1.0, 2.0)
    made.append(x)
    (first,) = tg.autograd.grad((x**3).sum(), x, create_graph=True)
    made += [first, first.tolist()]
    (second,) = tg.autograd.grad(first.sum(), x)
    made += [second, second.tolist()]


def share(made: list[Any]) -> None:
    """Share memory with NumPy."""
    array = np.array([1.0, 2.0], np.float32)
    x = tg.from_numpy(array)
    y = x * 2
    made += [x, y]
    array[0] = 5.0
    z = (x + y).add_(1)
    made += [z, z.numpy()]


def restore_mode(interrupt: KeyboardInterrupt) -> None:
    """Check that the interrupt left the grad mode as it was; put it back if it interrupted just that."""
    if interrupt.args[0] in ENDS_CONTEXT:
        set_grad_mode(True, False)
    assert tg.is_grad_enabled() and not tg.is_inference_mode_enabled(), f"interrupted in {interrupt}"


PROGRAMS: dict[str, Program] = {"train": train, "mutate": mutate, "differentiate twice": differentiate_twice, "share": share}


def shown(made: list[Any]) -> list[Any]:
    return [(value.tolist(), value.is_leaf, value.requires_grad) if isinstance(value, tg.Tensor) else value for value in made]


def agrees(found: list[Any], expected: list[Any]) -> bool:
    return str(found) == str(expected)


def forget() -> None:
    """Let the next program be met for the first time."""
    trace._roots.clear()
    trace._kinds.clear()


@pytest.mark.parametrize("is_known", [True, False], ids=["known program", "new program"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt in a weak reference's callback
def test_program_runs_after_an_interrupt(mode: str, name: str, is_known: bool) -> None:
    program = PROGRAMS[name]
    expected: list[Any] = []
    program(expected)
    wanted = shown(expected)
    if not is_known:
        forget()
    count = points(lambda: program([]))
    for point in range(0, count, 1 + count // 150):
        if not is_known:
            forget()
        made: list[Any] = []
        try:
            points(lambda made=made: program(made), point)  # type: ignore[misc]
        except KeyboardInterrupt as interrupt:
            restore_mode(interrupt)
        again: list[Any] = []
        program(again)
        assert agrees(shown(again), wanted), f"after an interrupt at point {point}"


def straight(made: list[Any]) -> None:
    """Make values of which none changes later: after an interrupt each can be read, and is right."""
    x = leaf(1.0, 2.0)
    made.append(x)
    for _ in range(3):
        y = x * 2 + 1
        made.append(y)
        z = (y.exp() @ y)[None].expand(2, 1)
        made.append(z)
        made.append(z.sum().item())
        made.append(tg.autograd.grad((y * x).sum(), x)[0])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_values_made_before_an_interrupt_are_right(mode: str) -> None:
    expected: list[Any] = []
    straight(expected)
    wanted = shown(expected)
    count = points(lambda: straight([]))
    for point in range(0, count, 1 + count // 150):
        made: list[Any] = []
        try:
            points(lambda made=made: straight(made), point)  # type: ignore[misc]
        except KeyboardInterrupt as interrupt:
            restore_mode(interrupt)
        assert agrees(shown(made), wanted[: len(made)]), f"after an interrupt at point {point}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupted_materialising_starts_over(mode: str) -> None:
    def program(made: list[Any]) -> None:
        x = leaf(1.0, 2.0)
        made += [x * 2, (x * 3).exp(), (x * 4).sum()]

    expected: list[Any] = []
    program(expected)
    wanted = shown(expected)
    probe: list[Any] = []
    program(probe)
    count = points(probe[2].item)
    interrupted = 0
    for point in range(count):
        made: list[Any] = []
        program(made)
        try:
            points(made[2].item, point)
        except KeyboardInterrupt:
            interrupted += 1
        assert agrees(shown(made), wanted), f"after an interrupt at point {point}"
    assert interrupted > 3


def test_grad_mode_is_as_before_an_interrupt(mode: str) -> None:
    x = leaf(1.0, 2.0)

    def program() -> None:
        y = x * 2
        in_grad_mode(False, None, lambda: x * y)
        in_grad_mode(True, True, lambda: x + 1)

    program()
    for point in range(points(program)):
        with suppress(KeyboardInterrupt):
            points(program, point)
        assert tg.is_grad_enabled() and not tg.is_inference_mode_enabled(), f"after an interrupt at point {point}"
        y = x * 3
        assert y.requires_grad and not y.is_inference() and y.tolist() == [3, 6]


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda parameters: tg.optim.SGD(parameters, lr=0.1, momentum=0.5),
    "Adam": lambda parameters: tg.optim.Adam(parameters, lr=0.1, amsgrad=True),
    "RMSprop": lambda parameters: tg.optim.RMSprop(parameters, lr=0.1, momentum=0.5, centered=True),
    "Adagrad": lambda parameters: tg.optim.Adagrad(parameters, lr=0.1),
}


def step(model: Any, optimizer: Any) -> float:
    optimizer.zero_grad()
    loss = (model(tg.tensor([[1.0, 2.0]])) - 1).square().sum()
    loss.backward()
    optimizer.step()
    value: float = loss.item()
    return value


@pytest.mark.parametrize("optimizer_name", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_model_and_optimizer_survive_an_interrupt(mode: str, optimizer_name: str) -> None:
    """After an interrupted step, training goes on; from a state saved before, just as if there had been no interrupt."""

    def fresh() -> tuple[Any, Any]:
        model = tg.nn.Sequential(tg.nn.Linear(2, 2), tg.nn.BatchNorm1d(2, momentum=None), tg.nn.Linear(2, 1)).eval()
        for place, parameter in enumerate(model.parameters()):
            parameter.data.fill_(0.1 + place / 8)
        return model, OPTIMIZERS[optimizer_name](model.parameters())

    model, optimizer = fresh()
    saved = [{name: value.clone() for name, value in model.state_dict().items()}]
    expected = [step(model, optimizer)]
    saved.append({name: value.clone() for name, value in model.state_dict().items()})
    expected += [step(model, optimizer) for _ in range(2)]
    model, optimizer = fresh()
    count = points(lambda: step(model, optimizer))
    for point in range(0, count, 1 + count // 100):
        model, optimizer = fresh()
        with suppress(KeyboardInterrupt):  # it is lost in the callback of a weak reference
            points(lambda model=model, optimizer=optimizer: step(model, optimizer), point)  # type: ignore[misc]
        assert tg.is_grad_enabled(), f"after an interrupt at point {point}"
        for name, parameter in model.named_parameters():
            assert parameter.requires_grad and parameter.is_leaf
            assert parameter.tolist() in [before[name].tolist() for before in saved], f"after an interrupt at point {point}"
        step(model, optimizer)
        assert all(parameter.isfinite().all() for parameter in model.parameters())
        model.load_state_dict(saved[0])
        optimizer.load_state_dict(fresh()[1].state_dict())
        assert [step(model, optimizer) for _ in range(3)] == expected, f"after an interrupt at point {point}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that signals")
def test_signals_at_any_time(mode: str) -> None:
    expected: list[Any] = []
    train(expected)
    wanted = shown(expected)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for step in range(100):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5 * (step + 1))
                for _ in range(20):  # ends though the interrupt is lost, which it is in the callback of a weak reference
                    train([])
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                set_grad_mode(True, False)
            again: list[Any] = []
            train(again)
            assert agrees(shown(again), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train([])
