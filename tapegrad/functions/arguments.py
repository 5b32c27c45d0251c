"""Arguments that must be ints or bools: they are checked by the annotations of the function, in one place for all functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

Result = TypeVar("Result")


class Kind(NamedTuple):
    """What an argument may be, unless it passes at once."""

    expected: type
    several: bool = False  # whether a sequence will do
    optional: bool = False
    named: bool = False  # whether a word will do


_KINDS = {
    "int": Kind(int),
    "int | None": Kind(int, optional=True),
    "bool": Kind(bool),
    "Dim": Kind(int, several=True, optional=True),
    "Shape": Kind(int, several=True),
    "Sequence[int]": Kind(int, several=True),
    "int | Shape": Kind(int, several=True),
    "int | Shape | None": Kind(int, several=True, optional=True),
    "int | Sequence[int] | None": Kind(int, several=True, optional=True),
    "Lengths": Kind(int, several=True),
    "Lengths | None": Kind(int, several=True, optional=True),
    "Lengths | str": Kind(int, several=True, named=True),
}


class Check:
    """The check of a function's arguments: call it with them."""

    __slots__ = ("name", "names", "kinds", "classes", "free")

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self.name = function.__name__
        self.names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.kinds = {name: _KINDS.get(function.__annotations__.get(name, "")) for name in self.names}
        self.classes = tuple([kind and kind.expected for kind in self.kinds.values()])  # what passes at once, in order
        self.free = next((place for place, kind in enumerate(self.classes) if kind is not None), len(self.classes))

    def __call__(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Raise PyTorch's TypeError for an argument that must be an int or a bool and is not."""
        if len(arguments) <= self.free and not options:  # most often there are but tensors
            return
        for expected, value in zip(self.classes, arguments):  # noqa: B905 - what is left over is for the function to refuse
            if expected is not None and value.__class__ is not expected:
                self._look_at(arguments, options)
                return
        if options:
            self._look_at((), options)

    def _look_at(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        for position, (argument, value) in enumerate(zip(self.names, arguments, strict=False), 1):
            self._look_at_one(argument, f" (position {position})", value)
        for argument, value in options.items():
            self._look_at_one(argument, "", value)

    def _look_at_one(self, argument: str, where: str, value: Any) -> None:
        kind = self.kinds.get(argument)
        if kind is not None and not _passes(kind, value):
            expected = "tuple of ints" if kind.several else kind.expected.__name__
            raise TypeError(f"{self.name}(): argument '{argument}'{where} must be {expected}, {_found(value)}")


def _passes(kind: Kind, value: Any) -> bool:
    if value is None:
        return kind.optional
    if kind.expected is bool:
        return isinstance(value, (bool, np.bool_))
    if kind.several and isinstance(value, (tuple, list)):
        return all([is_integer(part) for part in value])
    return is_integer(value) or (kind.named and isinstance(value, str))


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer: Python's, NumPy's or a tensor of one; bools are none."""
    if value.__class__ is int:
        return True
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        value.__index__()
    except (AttributeError, TypeError):
        return False
    return True


def _found(value: Any) -> str:
    if not isinstance(value, (tuple, list)):
        return f"not {type(value).__name__}"
    place = next((place for place, part in enumerate(value) if not is_integer(part)), None)
    if place is None:
        return f"not {type(value).__name__}"
    return f"but found element of type {type(value[place]).__name__} at pos {place}"


def checked(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let a function check its arguments that are ints or bools."""
    check = Check(function)
    first = next((place for place, expected in enumerate(check.classes) if expected is not None), len(check.classes))

    @functools.wraps(function)
    def checking(*arguments: Any, **options: Any) -> Result:
        if options or len(arguments) > first:
            check(arguments, options)
        return function(*arguments, **options)

    return checking
