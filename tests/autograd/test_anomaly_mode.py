"""Anomaly mode: a reverse sweep that fails, or gives NaN, tells which operation did and where it was called."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tapegrad

NAN = float("nan")
FOUND = re.compile(r"Error detected in (\w+)\. (No forward pass|Traceback of forward)")


@pytest.fixture(autouse=True)
def _off_after() -> Iterator[None]:
    yield
    tapegrad.set_anomaly_enabled(False)
    tapegrad.autograd.set_inplace_checks(False)


def of_root(library: Any) -> Any:
    return (library.tensor([0.0, 1.0], requires_grad=True).sqrt() * 0).sum()


def of_second_operand(library: Any) -> Any:
    first = library.tensor([NAN, 1.0], requires_grad=True)
    return (first * library.tensor([0.0, 0.0], requires_grad=True)).sum()


def of_composed_operation(library: Any) -> Any:
    return (library.tensor([1.0, 0.0], requires_grad=True) * float("inf")).std()


def of_division(library: Any) -> Any:
    x = library.tensor([[0.0, 0.0]], requires_grad=True)
    return (library.nn.functional.normalize(x) / x).sum()


def of_released_residuals(library: Any) -> Any:
    result = library.tensor(2.0, requires_grad=True).exp()
    result.backward()
    return result


PROGRAMS: list[Callable[[Any], Any]] = [of_root, of_second_operand, of_composed_operation, of_division, of_released_residuals]


def outcome(library: Any, program: Callable[[Any], Any], forward_too: bool) -> tuple[str, str]:
    """Return the error's text, and the warning's: the operation, and whether the call is shown."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        result = None if forward_too else program(library)
        with library.autograd.detect_anomaly(), pytest.raises(RuntimeError) as error:
            (program(library) if result is None else result).backward()
    text = str(given[-1].message)
    assert ("    result = library.tensor" in text or "    return " in text or "    first" in text) is forward_too
    return str(error.value), FOUND.match(text)[0]  # type: ignore[index]


EXPECTED = {
    of_root: "Function 'SqrtBackward0' returned nan values in its 0th output.",
    of_second_operand: "Function 'MulBackward0' returned nan values in its 1th output.",
    of_composed_operation: "Function 'StdBackward0' returned nan values in its 0th output.",
    of_division: "Function 'DivBackward0' returned nan values in its 1th output.",
}


@pytest.mark.parametrize("forward_too", [True, False], ids=["forward too", "backward alone"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_operation_is_named(mode: str, program: Callable[[Any], Any], forward_too: bool) -> None:
    error, warning = outcome(tapegrad, program, forward_too)
    assert error == EXPECTED.get(program, error)
    assert warning.endswith("Traceback of forward" if forward_too else "No forward pass")
    assert "Sqrt" in warning or program is not of_root


@pytest.mark.peer
@pytest.mark.parametrize("forward_too", [True, False], ids=["forward too", "backward alone"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_same_as_torch(torch: Any, program: Callable[[Any], Any], forward_too: bool) -> None:
    assert outcome(tapegrad, program, forward_too) == outcome(torch, program, forward_too)


def test_nan_is_none_of_its_business(mode: str) -> None:
    with tapegrad.autograd.set_detect_anomaly(True, check_nan=False):
        of_root(tapegrad).backward()


def test_modified_value_is_traced(mode: str) -> None:
    """The error about a value that was modified recommends anomaly mode, which then names the operation."""
    tapegrad.autograd.set_inplace_checks(True)
    tapegrad.autograd.set_detect_anomaly(True, check_nan=False)
    x = tapegrad.tensor([1.0], requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.warns(UserWarning, match=r"(?s)Error detected in MulBackward0.*z = y \* y"), pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()


def test_state_is_restored(mode: str) -> None:
    def enabled() -> tuple[bool, bool]:
        return tapegrad.is_anomaly_enabled(), tapegrad.is_anomaly_check_nan_enabled()

    with tapegrad.autograd.set_detect_anomaly(True, check_nan=False):
        assert enabled() == (True, False)
        with tapegrad.autograd.set_detect_anomaly(False):
            assert enabled() == (False, True)
        assert enabled() == (True, False)
        assert tapegrad.get_mode() == mode
    assert enabled() == (False, True)
    with pytest.raises(TypeError, match=r"set_anomaly_enabled\(\): argument 'enabled' \(position 1\) must be bool, not str"):
        tapegrad.autograd.set_detect_anomaly("yes")


def test_gradients_are_the_same(mode: str) -> None:
    def gradients() -> list[Any]:
        x = tapegrad.tensor([1.0, 2.0], requires_grad=True)
        y = (x.softmax(0) * x).std() + x.norm()
        (first,) = tapegrad.autograd.grad(y, x, create_graph=True)
        first.sum().backward()
        return [*first.tolist(), *x.grad.tolist()]

    expected = gradients()
    with tapegrad.autograd.set_detect_anomaly(True):
        assert gradients() == pytest.approx(expected, rel=1e-5)
