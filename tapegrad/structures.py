"""Structures: nested tuples, lists and dicts of a call's arguments or results, without the tensors and numbers in them."""

from __future__ import annotations

from typing import Any

from .tape.types import number_type
from .tensor import Tensor

NUMBERS = (float, int, complex)


class Leaf:
    """Stands in a structure for a tensor or a number: with the type that it has to have."""

    __slots__ = ("place", "kind")

    def __init__(self, place: int, kind: Any) -> None:
        self.place = place
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaf) and self.place == other.place and self.kind == other.kind

    def __hash__(self) -> int:
        return hash((self.place, self.kind))


def flatten(value: Any, leaves: list[Any], strict: bool = True) -> Any:
    """Collect the tensors and numbers of nested tuples, lists and dicts; return the structure they stood in, to compare."""
    if isinstance(value, Tensor):
        place = next((place for place, leaf in enumerate(leaves) if leaf is value), len(leaves))
        if place == len(leaves):
            leaves.append(value)
        return Leaf(place, (value._node.type, value._home is None, value.__class__))
    if value.__class__ in NUMBERS and strict:
        number = Tensor._wrap(value, number_type(value.__class__))
        leaves.append(number)
        return Leaf(len(leaves) - 1, value.__class__)
    if value.__class__ in (tuple, list):
        return (value.__class__, *[flatten(part, leaves, strict) for part in value])
    if value.__class__ is dict:
        return (dict, *[(key, flatten(part, leaves, strict)) for key, part in value.items()])
    return (None, value)


def restored(leaves: list[Any], structure: Any) -> Any:
    """Put tensors and numbers back into a structure."""
    if structure.__class__ is Leaf:
        return leaves[structure.place]
    kind, *parts = structure
    if kind is None:
        return parts[0]
    if kind is dict:
        return {key: restored(leaves, part) for key, part in parts}
    return kind([restored(leaves, part) for part in parts])
