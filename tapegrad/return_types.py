"""The named tuples that functions with several results return, as ``torch.return_types`` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any


class ReturnType(tuple[Any, ...]):
    """A tuple whose parts have names."""

    __slots__ = ()
    name = ""
    fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from .printing import format_return_type

        return format_return_type(self.name, dict(zip(self.fields, self, strict=True)))

    def __reduce__(self) -> Any:
        return _rebuild, (self.name, tuple(self))


_types: dict[str, type[ReturnType]] = {}


def return_type(name: str, fields: Sequence[str]) -> type[ReturnType]:
    """Return the class of results of function `name`, with these parts."""
    parts = {field: property(itemgetter(place)) for place, field in enumerate(fields)}
    made = type(name, (ReturnType,), {"__slots__": (), "name": name, "fields": tuple(fields), **parts})
    _types[name] = made
    return made


def _rebuild(name: str, parts: tuple[Any, ...]) -> ReturnType:
    return _types[name](parts)
