"""A program: the compiled form of a plan. Runs of kernels, and between them what only Python can do.

It is a Python function of the environment (slot to value), written from the stages of the fusion: it makes the arrays that
Python will see, gives their addresses and the numbers to a table, and calls the executor once for each run of kernels. What
no one outside sees lies in the program's own arena, which every replay uses again.
"""

from __future__ import annotations

import os
import struct
import threading
import weakref
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape, contiguous_strides
from . import kernels, native
from .arenas import arenas
from .executor import EXECUTE, HELP
from .kernel_source import Writer, combination
from .loops import SAME, Call, Fusion, Loop, Special
from .memory import SIZES, Memory, Number, Written
from .sinking import sink
from .threads import is_large, pool
from .tiering import LayoutChanged, Refused

_ALIGNMENT = 64


class Busy(Exception):  # noqa: N818 - it is no error, and is always caught
    """The program is wanted in the midst of its own run: a signal's handler or a finalizer computes the same."""


class Program:
    """Compiled from the nodes of a plan, for values that are laid out like this."""

    def __init__(self, nodes: list[Any], live: Any, residuals: Any, layouts: dict[int, Shape]) -> None:
        self.be_free()
        _programs.add(self)
        shown = {*live, *residuals}
        made = {output.slot for node in nodes for output in node.outputs}
        self.fusion = Fusion(nodes, layouts)
        sink(self.fusion, shown & made)
        self.fusion.store(shown & made)
        assembly = _Assembly(self.fusion, [slot for slot in (*live, *residuals) if slot in made], layouts)
        self.source = assembly.source
        self.kernels = assembly.kernels
        self.arena_size = assembly.arena_size
        self.was_used = False  # since arenas.py looked last
        self._link = assembly.link
        self._kept: Any = None  # the tables that the machine code reads, and the arena
        self._function: Any = None
        self._calls_numpy = any([isinstance(stage, Call) for stage in self.fusion.stages])

    def be_free(self) -> None:
        """Be as a program is that nobody runs."""
        self._lock = threading.RLock()
        self._is_running = False

    def request(self) -> None:
        """Let the kernels be compiled in the background."""
        kernels.request([*self.kernels, EXECUTE])

    def link(self) -> None:
        """Get the kernels' addresses. Raises NoKernel if there is one that cannot be had."""
        if self._function is None:
            arenas.admit(self)
            self._function, self._kept = self._link()

    def release(self) -> bool:
        """Give back the arena, unless it is in use; the next call gets another. Return whether it was given back."""
        if not self._lock.acquire(blocking=False):
            return False
        is_free = not self._is_running
        if is_free:
            self._function = self._kept = None
        self._lock.release()
        return is_free

    def __call__(self, values: list[Any]) -> None:
        with self._lock:  # the tables and the arena are those of one run at a time
            if self._is_running:
                raise Busy
            self._is_running = True
            try:
                self.link()
                self.was_used = True
                if self._calls_numpy:
                    with np.errstate(all="ignore"):
                        self._function(values)
                else:
                    self._function(values)
            finally:
                self._is_running = False


_programs: weakref.WeakSet[Program] = weakref.WeakSet()


def _after_fork() -> None:
    """In a forked child: whoever ran a program is not here."""
    for program in list(_programs):
        program.be_free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def layout_of(value: Any) -> Shape | None:
    """Return an array's strides in elements, those of dimensions of length 1 as in a contiguous array.

    None is for what kernels cannot read: numbers and failures, and arrays whose elements lie across the grid of their size.
    """
    if value.__class__ is not np.ndarray or not value.flags.aligned:
        return None
    size = value.itemsize
    if any([stride % size for stride in value.strides]):
        return None
    usual = contiguous_strides(value.shape)
    return tuple([u if length == 1 else stride // size for stride, length, u in zip(value.strides, value.shape, usual, strict=True)])


class _Words:
    """Memory of 64-bit words that machine code reads; addresses are known when all of it has been asked for."""

    def __init__(self) -> None:
        self.count = 0
        self.entries: list[tuple[int, Any]] = []

    def ask(self, count: int = 1) -> int:
        """Return the place of so many new words."""
        place = self.count
        self.count += count
        return place

    def put(self, place: int, value: Any) -> None:
        """Let a word hold a value: an integer, or a function of the memory's address."""
        self.entries.append((place, value))


class _Assembly:
    """Puts a program together."""

    def __init__(self, fusion: Fusion, results: list[int], layouts: dict[int, Shape]) -> None:
        self.fusion = fusion
        self.layouts = layouts
        self.words = _Words()
        self.cells: dict[int, int] = {}  # of a slot in memory: the word with its address
        self.arena_size = 0
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"ndarray": np.ndarray, "empty": np.empty, "asarray": np.asarray}
        self.names |= {"LayoutChanged": LayoutChanged, "Refused": Refused}
        self.variables: set[int] = set()
        self.entered: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.instructions: list[tuple[str, list[Memory], int, int]] = []
        self.kernels: list[str] = []
        self.runs: list[Any] = []
        for stage in _in_order(fusion):
            if isinstance(stage, Call):
                self._call(stage.node)
            else:
                self._run(stage)
        for slot in results:
            self.lines.append(f"values[{slot}] = {self._variable(slot)}")
        self._finish()

    # Python

    def _variable(self, slot: int) -> str:
        """Return the variable (or place) that holds a value in Python; a view is made here."""
        if slot in self.variables:
            return f"v{slot}"
        view = self.fusion.views.get(slot) or self.fusion.window_of(slot)
        if view is None:
            if slot in self.fusion.places:
                raise AssertionError(f"slot {slot} is not shown to Python")
            return f"values[{slot}]"
        node = view.node
        if node.primitive.name in SAME:
            code = self._variable(node.operands[SAME[node.primitive.name]].slot)
        else:
            self.names[f"f{slot}"] = node.run
            code = f"f{slot}({', '.join([self._variable(operand.slot) for operand in node.operands])})"
        self.lines.append(f"v{slot} = {code}")
        self.variables.add(slot)
        return f"v{slot}"

    def _call(self, node: Any) -> None:
        arguments = ", ".join([self._variable(operand.slot) for operand in node.operands])
        slots = [output.slot for output in node.outputs]
        self.names[f"f{slots[0]}"] = node.run
        self.lines.append(f"{', '.join([f'v{slot}' for slot in slots])} = f{slots[0]}({arguments})")
        self.variables.update(slots)

    # Runs of kernels

    def _run(self, stages: list[Loop | Special]) -> None:
        """Write what Python does for a run of kernels: arrays, numbers, and the call."""
        given: list[tuple[str, int]] = []  # format and slot
        for stage in stages:
            for operand in stage.operands():
                if operand.__class__ is Number and operand.slot not in self.numbers:
                    self.numbers[operand.slot] = -1
                    given.append(("d" if operand.is_float else "q", operand.slot))
            for outside in stage.inputs():
                place = self.fusion.places.get(outside.slot)
                if outside.slot not in self.entered and (place is None or isinstance(self.fusion.stages[place], Call)):
                    self.entered.add(outside.slot)
                    given.append(("array", outside.slot))
            for step in stage.steps.values():
                if step.is_shown:
                    self._make_array(step)
                    given.append(("array", step.slot))
        first = len(self.instructions)
        for stage in stages:
            self._instructions_of(stage)
        self._enter(given, first)

    def _make_array(self, step: Any) -> None:
        slot = step.slot
        dtype = np.dtype(dtypes.array_type(step.type.dtype))
        self.names[f"t{slot}"] = dtype
        self.lines.append(f"v{slot} = empty({step.type.shape}, t{slot})")
        self.variables.add(slot)
        self.entered.add(slot)

    def _enter(self, given: list[tuple[str, int]], first: int) -> None:
        """Write the statements that hand arrays and numbers over, and run the instructions from the first of them on."""
        begin = self.words.ask(len(given))
        rows = [(place, slot) for place, (kind, slot) in enumerate(given) if kind == "array"]
        table = self.words.ask(4 * len(rows))
        values, outside = [], []
        for place, (kind, slot) in enumerate(given):
            variable = self._variable(slot)
            if kind == "array":
                made = self.fusion.places.get(slot)
                if made is not None and isinstance(self.fusion.stages[made], Call):
                    self.lines.append(f"{variable} = asarray({variable})")
                elif made is None:
                    outside.append(variable)
                values.append(f"id({variable})")
            else:
                self.numbers[slot] = begin + place
                values.append(variable)
        for row, (place, slot) in enumerate(rows):
            self._row(table + 4 * row, begin + place, slot)
        number = len(self.runs)
        run = self.words.ask(5)
        self.runs.append((run, table, len(rows), first, len(self.instructions)))
        if outside:
            self.lines.append(f"if not ({'.__class__ is '.join(outside)}.__class__ is ndarray): raise LayoutChanged")
        if given:
            self.names[f"pack{number}"] = struct.Struct("".join(["q" if kind == "array" else kind for kind, _ in given])).pack_into
            self.lines.append(f"pack{number}(words, {8 * begin}, {', '.join(values)})")
        large = any([is_large(count, step) for _, _, count, step in self.instructions[first:]])
        self.lines.append(f"status = execute(run{number}, {'pool()' if large else 0}, 0)")
        self.lines.append("if status: raise LayoutChanged if status > 0 else Refused")

    def _row(self, place: int, given: int, slot: int) -> None:
        """Fill a row of the table of arrays."""
        made = self.fusion.places.get(slot)
        if made is not None and not isinstance(self.fusion.stages[made], Call):
            shape = self._shape_of(slot)
            strides = contiguous_strides(shape)
        else:
            strides = self.layouts[slot]
            shape = self._shape_of(slot)
        size = self._itemsize(slot)
        expected = self.words.ask(len(strides))
        for axis, stride in enumerate(strides):
            self.words.put(expected + axis, -1 if shape[axis] == 1 else stride * size)
        self.words.put(place, lambda at: at(given))
        cell = self._cell(slot)
        self.words.put(place + 1, lambda at: at(cell))
        self.words.put(place + 2, len(strides))
        self.words.put(place + 3, lambda at: at(expected))

    def _shape_of(self, slot: int) -> Shape:
        return self.types[slot].shape  # type: ignore[no-any-return]

    def _itemsize(self, slot: int) -> int:
        return self.types[slot].dtype.itemsize  # type: ignore[no-any-return]

    @property
    def types(self) -> dict[int, Any]:
        """The types of all slots that the records read or make."""
        if not hasattr(self, "_types"):
            self._types: dict[int, Any] = {}
            for node in self.fusion.nodes:
                for value in (*node.operands, *node.outputs):
                    self._types[value.slot] = value.type
        return self._types

    def _cell(self, slot: int) -> int:
        if slot not in self.cells:
            self.cells[slot] = self.words.ask()
        return self.cells[slot]

    # Instructions

    def _instructions_of(self, stage: Loop | Special) -> None:
        for step in stage.steps.values():
            if step.is_stored and not step.is_shown:
                numel = max(step.type.numel, 1)
                offset = self._reserve(SIZES[step.kind] * numel)
                cell = self._cell(step.slot)
                self.words.put(cell, lambda at, offset=offset: at(("arena", offset)))
        for written in stage.written if isinstance(stage, Special) else [Writer(stage).write()]:
            self._instruction(written, _records_of(stage))

    def _instruction(self, written: Written, records: list[str]) -> None:
        chunks = -(-written.count // written.step)
        partials: dict[int, int] = {}
        words: list[Memory] = []
        for memory in written.words:
            if memory.what == "partial":
                slot, length = memory.value
                partials[slot] = self._reserve(8 * length * chunks)
                words.append(Memory("arena", partials[slot]))
            elif memory.what == "scratch":
                words.append(Memory("arena", self._reserve(memory.value * chunks)))
            else:
                words.append(memory)
        self.instructions.append((written.source, words, written.count, written.step))
        kernels.note_records(written.source, records)
        for step, wide, length, count in written.combinations:
            source = combination(step.kind, wide, step.reduction or "sum")
            kernels.note_records(source, [f"the rest of reduce_{step.reduction}"])
            given = [Memory("arena", partials[step.slot]), Memory("cell", step.slot), Memory("word", count), Memory("word", length)]
            self.instructions.append((source, given, length, max(length, 1)))

    def _reserve(self, size: int) -> int:
        """Return the place in the arena of memory of this size."""
        place = self.arena_size
        self.arena_size += -(-size // _ALIGNMENT) * _ALIGNMENT
        return place

    # The end

    def _finish(self) -> None:
        self.table = self.words.ask(4 * len(self.instructions))
        self.arguments = []
        for source, given, count, step in self.instructions:
            place = self.words.ask(len(given))
            self.arguments.append((source, place, count, step))
            for number, memory in enumerate(given):
                self.words.put(place + number, self._word(memory))
        self.kernels = [source for source, *_ in self.instructions]
        if any([is_large(count, step) for _, _, count, step in self.instructions]):
            self.kernels.append(HELP)
            self.names["pool"] = pool.ready
        self.source = "def program(values):\n" + "".join([f"    {line}\n" for line in self.lines or ["pass"]])

    def link(self) -> tuple[Callable[[list[Any]], None], Any]:
        """Return the program as a function, and the memory that has to live as long. Raises NoKernel."""
        memory = np.zeros(self.words.count, np.int64)
        arena = np.empty(self.arena_size + _ALIGNMENT, np.uint8)
        base = memory.__array_interface__["data"][0]
        arena_base = -(-arena.__array_interface__["data"][0] // _ALIGNMENT) * _ALIGNMENT

        def at(place: Any) -> Any:
            return arena_base + place[1] if isinstance(place, tuple) else base + 8 * place

        for place, value in self.words.entries:
            memory[place] = value(at) if callable(value) else value
        for number, (source, place, count, step) in enumerate(self.arguments):
            row = self.table + 4 * number
            memory[row : row + 4] = kernels.address_of(source), at(place), count, step
        names = dict(self.names)
        for number, (run, rows, count, first, last) in enumerate(self.runs):
            memory[run : run + 5] = at(rows), count, at(self.table), first, last
            names[f"run{number}"] = at(run)
        kernels.note_records(EXECUTE, ["the executor"])
        kernels.note_records(HELP, ["the executor's helpers"])
        names["words"] = memory
        names["execute"] = native.function_at(kernels.address_of(EXECUTE))
        exec(compile(self.source, "<program>", "exec"), names)  # noqa: S102 - the source is written here, of slot numbers only
        return names.pop("program"), (memory, arena)

    def _word(self, memory: Memory) -> Any:
        if memory.what == "word":
            return memory.value
        if memory.what == "arena":
            return lambda at: at(("arena", memory.value))
        slot = memory.value
        place = self.numbers[slot] if slot in self.numbers else self._cell(slot)
        return lambda at: at(place)


def _records_of(stage: Loop | Special) -> list[str]:
    """Return the names of the primitives that a kernel does the work of."""
    nodes = [stage.node] if isinstance(stage, Special) else [step.node for step in stage.steps.values()]
    return list(dict.fromkeys([node.primitive.name for node in nodes if node is not None]))


def _in_order(fusion: Fusion) -> list[Any]:
    """Return calls and lists of loops, in an order in which Python and kernels take turns as seldom as may be."""
    needs = [_needs(fusion, stage) for stage in fusion.stages]
    users: list[list[int]] = [[] for _ in needs]
    for place, own in enumerate(needs):
        for need in own:
            users[need].append(place)
    missing = [len(own) for own in needs]
    ready: tuple[list[int], list[int]] = ([], [])  # what kernels do, and calls: heaps of places
    for place, count in enumerate(missing):
        if not count:
            ready[isinstance(fusion.stages[place], Call)].append(place)
    order: list[Any] = []
    while ready[0] or ready[1]:
        for is_call in (True, False):
            run = []
            while ready[is_call]:
                place = heappop(ready[is_call])
                stage = fusion.stages[place]
                if not isinstance(stage, Loop) or stage.steps:  # else its steps have sunk into others
                    run.append(stage)
                for user in users[place]:
                    missing[user] -= 1
                    if not missing[user]:
                        heappush(ready[isinstance(fusion.stages[user], Call)], user)
            if is_call:
                order += run
            elif run:
                order.append(run)
    return order


def _needs(fusion: Fusion, stage: Any) -> set[int]:
    """Return the places of the stages that have to run before this one."""
    if isinstance(stage, Call):
        slots = [operand.slot for operand in stage.node.operands]
    else:
        slots = [operand.slot for operand in stage.operands() if operand.__class__ is not int]
    found = {fusion.places.get(fusion.resolve(slot), -1) for slot in slots}
    return found - {-1, stage.place}
