"""Grad modes: whether operations are recorded for the reverse sweep, on this thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

from ..tape.segment import restore_grad_mode, set_grad_mode, state


class _GradMode:
    """A grad mode as context manager and decorator (of functions, and of generators, step by step)."""

    def __enter__(self) -> None:
        self._stack.append((state.grad_enabled, state.inference))
        try:
            self._enter()
        except BaseException:  # an interrupt
            set_grad_mode(*self._stack.pop())
            raise

    def __exit__(self, *_: object) -> None:
        restore_grad_mode(self._stack.pop())

    def __init__(self) -> None:
        self._stack: list[tuple[bool, bool]] = []

    def _enter(self) -> None:
        raise NotImplementedError

    def _again(self) -> _GradMode:
        """Return a fresh context of the same mode, for each call of a decorated function."""
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return self._decorate_generator(function)

        @functools.wraps(function)
        def decorated(*arguments: Any, **options: Any) -> Any:
            with self._again():
                return function(*arguments, **options)

        return decorated

    def _decorate_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
            steps = function(*arguments, **options)
            advance, value = steps.send, None
            try:
                while True:
                    try:
                        with self._again():
                            produced = advance(value)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        advance, value = steps.send, (yield produced)
                    except GeneratorExit:
                        with self._again():
                            steps.close()
                        raise
                    except BaseException as error:  # whatever the caller throws goes on to the generator
                        advance, value = steps.throw, error
            finally:
                steps.close()

        return decorated


class _NoArgument(_GradMode):
    """A mode whose class can decorate a function without being called: ``@no_grad``."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = object.__new__(cls)
        if function is None:
            return self
        _GradMode.__init__(self)
        return self(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._stack = []  # as any grad mode has; there is one for every step of an optimiser


class no_grad(_NoArgument):  # noqa: N801 - PyTorch's name for it
    """Record nothing for the reverse sweep: results do not require grad.

    >>> import tapegrad
    >>> x = tapegrad.tensor(1.0, requires_grad=True)
    >>> with no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def _enter(self) -> None:
        set_grad_mode(False, state.inference)


class enable_grad(_NoArgument):  # noqa: N801 - PyTorch's name for it
    """Record for the reverse sweep again, inside `no_grad`."""

    def _enter(self) -> None:
        set_grad_mode(True, state.inference)


class set_grad_enabled(_GradMode):  # noqa: N801 - PyTorch's name for it
    """Set whether operations are recorded for the reverse sweep: at once, and as a context manager until its end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self.mode = mode
        self._before = state.grad_enabled
        set_grad_mode(self.mode, state.inference)

    def __enter__(self) -> None:
        self._stack.append((self._before, state.inference))
        set_grad_mode(self.mode, state.inference)

    def _again(self) -> _GradMode:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        set_grad_mode(self._before, state.inference)  # a decorator sets the mode in its function only
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"  # as it shows where it is typed in


class inference_mode(_GradMode):  # noqa: N801 - PyTorch's name for it
    """Like `no_grad`, and the tensors made inside can never be saved for a reverse sweep."""

    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__()  # type: ignore[misc]  # used as a decorator without a call
        return self(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = mode is not False

    def _enter(self) -> None:
        set_grad_mode(not self.mode, self.mode)

    def _again(self) -> _GradMode:
        again: _GradMode = inference_mode(self.mode)
        return again


def is_grad_enabled() -> bool:
    """Return whether operations on this thread are recorded for the reverse sweep."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is in inference mode."""
    return state.inference
