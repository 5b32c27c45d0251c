"""A program: the compiled form of a plan. Runs of kernels, and between them what only Python can do.

It is a Python function of the environment (slot to value), written from the stages of the fusion: it makes the arrays that
Python will see, and calls the executor once for each run of kernels, with a tuple of their arrays. What no one outside sees
lies in the program's own arena, which every replay uses again. The numbers are put into memory by a function of their own.
"""

from __future__ import annotations

import heapq
import os
import struct
import threading
import weakref
from array import array
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape, contiguous_strides
from . import blas, kernels, native, references
from .arenas import arenas
from .executor import EXECUTE, HELP
from .kernel_source import Writer, combination
from .loops import SAME, Call, Fusion, Loop, Special
from .memory import SIZES, Memory, Number, Room, Written
from .sinking import sink
from .threads import is_large, pool
from .tiering import LayoutChanged, Refused
from .written_functions import function_of

_ALIGNMENT = Room.ALIGNMENT
_SHOWN = 4096  # records
_ELEMENTS = tuple.__basicsize__  # where a tuple has the addresses of its elements


class Busy(Exception):  # noqa: N818 - it is no error, and is always caught
    """The program is wanted in the midst of its own run: a signal's handler or a finalizer computes the same."""


class Program:
    """Compiled from the nodes of a plan, for values that are laid out like this.

    `numbers` are integers among the values, of which some may be compiled in.
    """

    def __init__(self, nodes: list[Any], live: Any, residuals: Any, layouts: dict[int, Shape], numbers: dict[int, int]) -> None:
        self.be_free()
        _programs.add(self)
        shown = {*live, *residuals}
        made = {output.slot for node in nodes for output in node.outputs}
        fusion = Fusion(nodes, shown & made, layouts, numbers)
        sink(fusion, shown & made)
        fusion.store(shown & made)
        # For those who look at a program; that of a long one would be much for Python's collector to go through each time.
        self.fusion: Any = fusion if len(nodes) <= _SHOWN else None
        assembly = _Assembly(fusion, [slot for slot in (*live, *residuals) if slot in made], layouts)
        self._machine = assembly.finish()
        self.source = "".join(self._machine.sources)
        self.kernels = list(self._machine.kernels)
        self.arena_size = self._machine.arena_size
        self.was_used = False  # since arenas.py looked last
        self._kept: Any = None  # the tables that the machine code reads, the arena, and the kernels
        self._function: Any = None
        self._enter_numbers: Any = None
        self._numbers: Any = None  # the environment whose numbers are in memory, where that can be told
        self._calls_numpy = any([isinstance(stage, Call) for stage in fusion.stages])

    def be_free(self) -> None:
        """Be as a program is that nobody runs."""
        self._lock = threading.RLock()
        self._is_running = False

    def request(self) -> None:
        """Let the kernels be compiled in the background."""
        kernels.request([*self.kernels, EXECUTE, references.COUNT])

    def link(self) -> None:
        """Get the kernels' addresses. Raises NoKernel if there is one that cannot be had."""
        with self._lock:
            if self._function is None:
                addresses = {source: kernels.address_of(source) for source in dict.fromkeys([*self.kernels, EXECUTE])}
                arenas.admit(self)  # not before: there may be room to make for a kernel
                self._numbers = None
                self._function, self._enter_numbers, self._kept = self._machine.link(addresses)
                references.load()

    def release(self) -> bool:
        """Give back the arena and the kernels, unless they are in use; the next call gets others. Return whether that was done."""
        if not self._lock.acquire(blocking=False):
            return False
        is_free = not self._is_running
        if is_free:
            self._function = self._enter_numbers = self._kept = None
        self._lock.release()
        return is_free

    def __call__(self, values: Any, numbers: list[Any] | None = None) -> None:
        """Run for these values by slot; `numbers` has those numbers among them that are the same whenever it is given."""
        with self._lock:  # the tables and the arena are those of one run at a time
            if self._is_running:
                raise Busy
            self._is_running = True
            try:
                if self._function is None:
                    self.link()
                self.was_used = True
                if numbers is None or numbers is not self._numbers:
                    self._numbers = None
                    self._enter_numbers(values if numbers is None else numbers)
                    self._numbers = numbers
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
    """Memory of 64-bit words that machine code reads; what is an address is known when there is memory for them."""

    def __init__(self) -> None:
        self.count = 0
        self.places = array("q")
        self.values = array("q")
        self.bases = array("q")  # what is to be added to each value: nothing, or the address of the words or of the arena

    def ask(self, count: int = 1) -> int:
        """Return the place of so many new words."""
        place = self.count
        self.count += count
        return place

    def put(self, place: int, value: int, base: int = 0) -> None:
        """Let a word hold an integer, or (by its base) the address of a byte of the arena."""
        self.places.append(place)
        self.values.append(value)
        self.bases.append(base)

    def point(self, place: int, to: int) -> None:
        """Let a word hold the address of another."""
        self.put(place, 8 * to, _OF_WORDS)

    def made(self, arena_address: int) -> tuple[np.ndarray[Any, Any], int]:
        """Return the words in memory, and the address of that."""
        memory = np.zeros(self.count, np.int64)
        address: int = memory.__array_interface__["data"][0]
        places, values, bases = [np.frombuffer(numbers, np.int64) for numbers in (self.places, self.values, self.bases)]
        memory[places] = values + np.array([0, address, arena_address])[bases]
        return memory, address


_OF_WORDS, _OF_ARENA = 1, 2


class _Machine:
    """What a program is when it is put together: the words and instructions, and the function in Python that runs them."""

    def __init__(self, words: _Words, arena_size: int, sources: tuple[str, str], names: dict[str, Any]) -> None:
        self.words = words
        self.arena_size = arena_size
        self.sources = sources  # of what enters numbers, and of the program
        self.names = names
        self.kernels: dict[str, int] = {}  # by source: its number
        self.rows = array("q")  # of four words each: the kernel's number, the place of its arguments, and how it is split
        self.runs: list[tuple[int, ...]] = []
        self.table = 0

    def link(self, addresses: dict[str, native.Address]) -> tuple[Callable[[Any], None], Callable[[Any], None], Any]:
        """Return the program as a function, the one that enters numbers, and what has to live as long."""
        arena = np.empty(self.arena_size + _ALIGNMENT, np.uint8)
        memory, base = self.words.made(-(-arena.__array_interface__["data"][0] // _ALIGNMENT) * _ALIGNMENT)
        table = memory[self.table : self.table + len(self.rows)].reshape(-1, 4)
        table[:] = np.frombuffer(self.rows, np.int64).reshape(-1, 4)
        table[:, 0] = np.array([addresses[source] for source in self.kernels], np.int64)[table[:, 0]]
        table[:, 1] = base + 8 * table[:, 1]
        names = dict(self.names)
        for number, (run, rows, count, first, last, guard) in enumerate(self.runs):
            memory[run : run + 6] = base + 8 * rows, count, base + 8 * self.table, first, last, guard
            names[f"run{number}"] = base + 8 * run
        kernels.note_records(EXECUTE, ["the executor"])
        kernels.note_records(HELP, ["the executor's helpers"])
        names["words"] = memory
        names["execute"] = native.function_at(addresses[EXECUTE])
        numbers, program = [function_of(source, names) for source in self.sources]
        return program, numbers, (memory, arena, addresses)


class _Assembly:
    """Puts a program together."""

    def __init__(self, fusion: Fusion, results: list[int], layouts: dict[int, Shape]) -> None:
        self.fusion = fusion
        self.layouts = layouts
        self.words = _Words()
        self.cells: dict[int, int] = {}  # of a slot in memory: the word with its address
        self.arena = Room()
        self.parts: dict[int, tuple[int, int]] = {}  # of a slot: where it lies in the arena
        self.lines: list[str] = []
        self.number_lines: list[str] = []
        self.names: dict[str, Any] = {"ndarray": np.ndarray, "empty": np.empty, "asarray": np.asarray}
        self.names |= {"LayoutChanged": LayoutChanged, "Refused": Refused}
        self.variables: set[int] = set()
        self.entered: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.instructions: list[tuple[str, list[Memory], int, int]] = []
        self.noted: set[str] = set()  # kernels whose records are noted
        self.runs: list[tuple[int, ...]] = []
        self.is_alone = False  # whether BLAS has to take one thread in the run
        known = fusion.columns.known
        if known:
            code = "".join([f"values[{slot}], " for slot in known])
            self.number_lines.append(f"if ({code}) != {tuple(known.values())}: raise LayoutChanged")
        order = _in_order(fusion)
        self.dying = _last_reads(fusion, order)
        for stage in order:
            if isinstance(stage, Call):
                self._call(stage.node)
            else:
                self._run(stage)
        for slot in results:
            self.lines.append(f"values[{slot}] = {self._variable(slot)}")

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
        numbers: dict[int, str] = {}  # of a slot: the format
        arrays: list[int] = []
        for stage in stages:
            for operand in stage.operands():
                if operand.__class__ is Number and operand.slot not in self.numbers:
                    numbers[operand.slot] = "d" if operand.is_float else "q"
            for outside in stage.inputs():
                place = self.fusion.places.get(outside.slot)
                if outside.slot not in self.entered and (place is None or isinstance(self.fusion.stages[place], Call)):
                    self.entered.add(outside.slot)
                    arrays.append(outside.slot)
            for step in stage.steps.values():
                if step.is_shown:
                    self._make_array(step)
                    arrays.append(step.slot)
        made = [slot for slot in numbers if slot in self.fusion.places]
        self._pack(self.lines, made, numbers)
        self._pack(self.number_lines, [slot for slot in numbers if slot not in made], numbers)
        first = len(self.instructions)
        self.is_alone = False
        for stage in stages:
            self._instructions_of(stage)
        self._enter(arrays, first)

    def _pack(self, lines: list[str], slots: list[int], formats: dict[int, str]) -> None:
        """Write the statement that puts numbers into memory."""
        if not slots:
            return
        begin = self.words.ask(len(slots))
        self.numbers |= {slot: begin + place for place, slot in enumerate(slots)}
        name = f"pack{begin}"
        self.names[name] = struct.Struct("".join([formats[slot] for slot in slots])).pack_into
        if len(slots) > 1 and not any([slot in self.fusion.places for slot in slots]):  # there may be very many
            self.names[f"numbers{begin}"] = itemgetter(*slots)
            lines.append(f"{name}(words, {8 * begin}, *numbers{begin}(values))")
        else:
            lines.append(f"{name}(words, {8 * begin}, {', '.join([self._variable(slot) for slot in slots])})")

    def _make_array(self, step: Any) -> None:
        slot = step.slot
        dtype = np.dtype(dtypes.array_type(step.type.dtype))
        self.names[f"t{slot}"] = dtype
        self.names[f"s{slot}"] = step.type.shape  # not in the text, so that other shapes share it
        self.lines.append(f"v{slot} = empty(s{slot}, t{slot})")
        self.variables.add(slot)
        self.entered.add(slot)

    def _enter(self, arrays: list[int], first: int) -> None:
        """Write the statements that hand arrays over, and run the instructions from the first of them on."""
        table = self.words.ask(3 * len(arrays))
        given, outside = [], []
        for place, slot in enumerate(arrays):
            variable = self._variable(slot)
            made = self.fusion.places.get(slot)
            if made is not None and isinstance(self.fusion.stages[made], Call):
                self.lines.append(f"{variable} = asarray({variable})")
            elif made is None:
                outside.append(variable)
            given.append(variable)
            self._row(table + 3 * place, slot)
        number = len(self.runs)
        run = self.words.ask(6)
        self.runs.append((run, table, len(arrays), first, len(self.instructions), blas.guard() if self.is_alone else 0))
        if outside:
            self.lines.append(f"if not ({'.__class__ is '.join(outside)}.__class__ is ndarray): raise LayoutChanged")
        large = any([is_large(count, step) for _, _, count, step in self.instructions[first:]])
        self.lines.append(f"arrays = ({''.join([f'{variable}, ' for variable in given])})")
        self.lines.append(f"status = execute(run{number}, {'pool()' if large else 0}, id(arrays) + {_ELEMENTS})")
        self.lines.append("if status: raise LayoutChanged if status > 0 else Refused")

    def _row(self, place: int, slot: int) -> None:
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
        self.words.point(place, self._cell(slot))
        self.words.put(place + 1, len(strides))
        self.words.point(place + 2, expected)

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
                part = self.parts[step.slot] = self.arena.take(SIZES[step.kind] * numel)
                self.words.put(self._cell(step.slot), part[0], _OF_ARENA)
        for written in stage.written if isinstance(stage, Special) else [self._loop(stage)]:
            self._instruction(written, stage)
        for slot in self.dying.get(stage.place, ()):
            if slot in self.parts:
                self.arena.give_back(self.parts.pop(slot))

    def _loop(self, loop: Loop) -> Written:
        return self.fusion.forms.of_loop(loop, lambda: Writer(loop).write())

    def _instruction(self, written: Written, stage: Loop | Special) -> None:
        self.is_alone |= written.is_alone
        chunks = -(-written.count // written.step)
        partials: dict[int, int] = {}
        taken: list[tuple[int, int]] = []
        words: list[Memory] = []
        for memory in written.words:
            if memory.what == "partial":
                slot, length = memory.value
                taken.append(self.arena.take(8 * length * chunks))
                partials[slot] = taken[-1][0]
                words.append(Memory("arena", partials[slot]))
            elif memory.what == "scratch":
                taken.append(self.arena.take(memory.value * chunks))
                words.append(Memory("arena", taken[-1][0]))
            else:
                words.append(memory)
        self.instructions.append((written.source, words, written.count, written.step))
        if written.source not in self.noted:
            self.noted.add(written.source)
            kernels.note_records(written.source, _records_of(stage))
        for step, wide, length, count in written.combinations:
            source = combination(step.kind, wide, step.reduction or "sum")
            kernels.note_records(source, [f"the rest of reduce_{step.reduction}"])
            given = [Memory("arena", partials[step.slot]), Memory("cell", step.slot), Memory("word", count), Memory("word", length)]
            self.instructions.append((source, given, length, max(length, 1)))
        for part in taken:
            self.arena.give_back(part)

    # The end

    def finish(self) -> _Machine:
        """Return all of it, put together."""
        is_large_one = any([is_large(count, step) for _, _, count, step in self.instructions])
        if is_large_one:
            self.names["pool"] = pool.ready
        sources = _function("numbers", self.number_lines), _function("program", self.lines)
        machine = _Machine(self.words, self.arena.size, sources, self.names)
        machine.table = self.words.ask(4 * len(self.instructions))
        machine.runs = self.runs
        for kernel, given, count, step in self.instructions:
            place = self.words.ask(len(given))
            machine.rows.extend((machine.kernels.setdefault(kernel, len(machine.kernels)), place, count, step))
            for number, memory in enumerate(given):
                self._put(place + number, memory)
        if is_large_one:
            machine.kernels.setdefault(HELP, len(machine.kernels))
        return machine

    def _put(self, place: int, memory: Memory) -> None:
        """Let a word be what a kernel is given."""
        if memory.what == "word":
            self.words.put(place, memory.value)
        elif memory.what == "arena":
            self.words.put(place, memory.value, _OF_ARENA)
        else:
            slot = memory.value
            self.words.point(place, self.numbers[slot] if slot in self.numbers else self._cell(slot))


def _function(name: str, lines: list[str]) -> str:
    """Return the source of a function of the values."""
    return f"def {name}(values):\n" + "".join([f"    {line}\n" for line in lines or ["pass"]])


def _records_of(stage: Loop | Special) -> list[str]:
    """Return the names of the primitives that a kernel does the work of."""
    nodes = [stage.node] if isinstance(stage, Special) else [step.node for step in stage.steps.values()]
    return list(dict.fromkeys([node.primitive.name for node in nodes if node is not None]))


def _in_order(fusion: Fusion) -> list[Any]:
    """Return calls and lists of loops, in an order in which Python and kernels take turns as seldom as may be.

    Of what can be done in a turn, that comes first which was recorded first: what it reads was made not long before.
    """
    needs = [_needs(fusion, stage) for stage in fusion.stages]
    waiting = [len(places) for places in needs]
    followers: list[list[int]] = [[] for _ in needs]
    for place, places in enumerate(needs):
        for earlier in places:
            followers[earlier].append(place)
    ready: dict[bool, list[int]] = {True: [], False: []}  # by whether it is a call
    for place, stage in enumerate(fusion.stages):
        if not waiting[place]:
            ready[isinstance(stage, Call)].append(place)
    order: list[Any] = []
    is_call = True
    while ready[True] or ready[False]:
        turn: list[Any] = []
        while ready[is_call]:
            place = heapq.heappop(ready[is_call])
            stage = fusion.stages[place]
            if not isinstance(stage, Loop) or stage.steps:  # else they have sunk into others
                turn.append(stage)
            for later in followers[place]:
                waiting[later] -= 1
                if not waiting[later]:
                    heapq.heappush(ready[isinstance(fusion.stages[later], Call)], later)
        if is_call:
            order += turn
        elif turn:
            order.append(turn)
        is_call = not is_call
    return order


def _last_reads(fusion: Fusion, order: list[Any]) -> dict[int, list[int]]:
    """Return for each stage (by its place) the slots whose memory nobody reads after it: those that it makes, or reads last."""
    last: dict[int, int] = {}
    for turn in order:
        for stage in [] if isinstance(turn, Call) else turn:
            last.update(dict.fromkeys(stage.steps, stage.place))
            read = [given.slot for given in stage.inputs()]
            while read:
                slot = read.pop()
                last[slot] = stage.place
                window = fusion.window_of(slot)
                if window is not None:
                    read += [given.slot for given in window.inputs()]
    found: dict[int, list[int]] = {}
    for slot, place in last.items():
        found.setdefault(place, []).append(slot)
    return found


def _needs(fusion: Fusion, stage: Any) -> set[int]:
    """Return the places of the stages that have to run before this one."""
    if isinstance(stage, Call):
        slots = [operand.slot for operand in stage.node.operands]
    else:
        slots = [operand.slot for operand in stage.operands() if operand.__class__ is not int]
    found = {fusion.places.get(fusion.resolve(slot), -1) for slot in slots}
    return found - {-1, stage.place}
