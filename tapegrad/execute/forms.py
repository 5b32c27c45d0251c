"""Forms: what is written once for all stages that are the same but for their slots, as those of a long loop's body are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .memory import Input, Memory, Number, Written

_Found = tuple[Any, list[Written]]


class Ending(NamedTuple):
    """A value that is combined from chunks, as far as that needs it."""

    slot: int
    kind: str
    reduction: str | None


class Forms:
    """What has been written for one program, by form."""

    def __init__(self) -> None:
        self._written: dict[Any, tuple[list[int], _Found | None]] = {}

    def of_loop(self, loop: Any, write: Callable[[], Written]) -> Written:
        """Return the kernel of a loop: what `write` returns."""
        slots: dict[int, int] = {}
        form: list[Any] = [loop.shape, loop.split]
        for step in loop.steps.values():
            form += [_operand_form(operand, slots) for operand in step.operands]
            slots.setdefault(step.slot, len(slots))
            form += [_record_form(step.node), step.level, step.reduction, step.is_stored]
        found = self._of(tuple(form), slots, lambda: (None, [write()]))
        assert found is not None
        return found[1][0]

    def of_record(self, node: Any, operands: list[Any], write: Callable[[], _Found | None]) -> _Found | None:
        """Return something about a record, and its kernels, or None: what `write` returns."""
        slots: dict[int, int] = {}
        form = [_operand_form(operand, slots) for operand in operands]
        for output in node.outputs:
            slots.setdefault(output.slot, len(slots))
        return self._of((_record_form(node), *form), slots, write)

    def _of(self, form: Any, slots: dict[int, int], write: Callable[[], _Found | None]) -> _Found | None:
        known = self._written.get(form)
        if known is None:
            found = write()
            self._written[form] = list(slots), found
            return found
        first_slots, first = known
        if first is None:
            return None
        places = dict(zip(first_slots, slots, strict=True))
        return first[0], [_renamed(written, places) for written in first[1]]


def _record_form(node: Any) -> Any:
    """Return what is the same for all records that do the same to values of these types."""
    primitive = node.primitive
    numbers = tuple([operand.node is None for operand in node.operands])
    types = tuple([value.type for value in (*node.outputs, *node.operands)])
    parameters = repr(node.parameters) if node.parameters else None
    return primitive.name, getattr(primitive, "expression", None), parameters, types, numbers


def _operand_form(operand: Any, slots: dict[int, int]) -> Any:
    if operand.__class__ is Input:
        return slots.setdefault(operand.slot, len(slots)), operand.kind, operand.strides
    if operand.__class__ is Number:
        return slots.setdefault(operand.slot, len(slots)), operand.is_float
    return slots[operand]


def _renamed(written: Written, places: dict[int, int]) -> Written:
    """Return the same kernel for values in other slots."""
    words = [_renamed_word(word, places) for word in written.words]
    combinations = [
        (Ending(places[ending.slot], ending.kind, ending.reduction), *rest) for ending, *rest in written.combinations
    ]
    renamed = Written(written.source, words, written.count, written.step, combinations)
    renamed.is_alone = written.is_alone
    return renamed


def _renamed_word(word: Memory, places: dict[int, int]) -> Memory:
    if word.what == "cell":
        return Memory("cell", places[word.value])
    if word.what == "partial":
        slot, length = word.value
        return Memory("partial", (places[slot], length))
    return word
