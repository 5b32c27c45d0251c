"""Tiering: a plan is interpreted first, and compiled when it has cost enough to be worth it.

What a plan costs is estimated from its records and their sizes, never measured: so it is compiled at the same step in every
run of a program, and results are the same from run to run. The cost of all plans with the same records is added up, whatever
their shapes: when it reaches the threshold, the kernels (which know no shapes) are compiled, and each of the plans gets a
program once it has cost as much by itself as making one takes.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .interpreter import Plan, run_plan

_RECORD = 2e-6  # seconds that Python and NumPy take for a record, and for an element
_ELEMENT = 1e-9
_HEAD_START = 0.4  # of the threshold: then its kernels begin to be compiled in the background
# What making a program takes for a record: 1.4e-4 s. Interpreting small records takes twice what is estimated here, or more, so
# that much has been lost when the estimate says half of it.
_DRAFT = 6e-5
_MOST_STRUCTURES = 20_000
_MOST_LAYOUTS = 4  # a plan is compiled anew for other layouts of its arrays, so many times
_MOST_MISSES = 64  # runs, after one another, that none of these is for: then the plan is interpreted from now on


def _threshold() -> float:
    """Return the estimated seconds after which a plan is compiled."""
    given = os.environ.get("TAPEGRAD_JIT_THRESHOLD", "0.05")
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"TAPEGRAD_JIT_THRESHOLD is {given!r}: set it to a number of seconds, or unset it") from None


threshold = _threshold()


class LayoutChanged(Exception):  # noqa: N818 - it tells of a change, and is always caught
    """An array is not laid out as it was when the program was made, or a number that is compiled in is another."""


class Refused(Exception):  # noqa: N818 - it is no error yet, and is always caught
    """A kernel met data that it does not take; the interpreter raises the error."""


class Raised(Exception):  # noqa: N818 - as above
    """A record of the plan raises for the values that it was to be compiled with; it may not for others."""


class Structure:
    """What plans have cost that have the same records, over whatever shapes."""

    __slots__ = ("spent", "is_requested")

    def __init__(self) -> None:
        self.spent = 0.0
        self.is_requested = False  # the kernels, in the background


_structures: dict[Any, Structure] = {}


def _structure_of(plan: Plan) -> Structure:
    records = [(node.primitive.name, node.slot, *[operand.slot for operand in node.operands]) for node in plan.nodes]
    key = hash((plan.live, *records))  # a long plan's records would take much memory
    found = _structures.get(key)
    if found is None:
        if len(_structures) >= _MOST_STRUCTURES:
            _structures.clear()  # what is hot is so again soon
        found = _structures[key] = Structure()
    return found


class Compiled:
    """The compiled forms of a plan, one for each way its values were laid out, and what it has cost until it had one."""

    __slots__ = ("structure", "cost", "worth", "spent", "draft", "programs", "misses", "is_hopeless")

    def __init__(self, plan: Plan) -> None:
        self.structure = _structure_of(plan)
        self.worth = _DRAFT * len(plan.nodes)
        self.cost = sum([_RECORD + _ELEMENT * output.type.numel for node in plan.nodes for output in node.outputs])
        self.spent = 0.0
        self.draft: Any = None  # a program whose kernels are being compiled
        self.programs: list[Any] = []  # the one that ran last comes first
        self.misses = 0
        self.is_hopeless = False

    def run(self, plan: Plan, environment: list[Any]) -> bool:
        """Run the program for these values, if there is one, or it is to be compiled now; return whether that was done."""
        for place, program in enumerate(self.programs):
            try:
                program(environment)
            except LayoutChanged:
                continue
            except Exception:  # interpreting will give it to whoever reads the result
                return False
            if place:
                self.programs.remove(program)
                self.programs.insert(0, program)
            self.misses = 0
            return True
        if len(self.programs) == _MOST_LAYOUTS:
            self.misses += 1
            if self.misses > _MOST_MISSES:  # it takes long to find that there is none: parts of them may have been run
                self.programs.clear()
                self.is_hopeless = True
        try:
            program = self._advance(plan, environment)
        except Raised:
            self.spent = 0.0
            return False
        if program is None:
            return False
        self.programs.insert(0, program)
        try:
            program(environment)
        except Exception:  # as above; or NumPy lays out values otherwise from time to time
            return False
        return True

    def _advance(self, plan: Plan, environment: list[Any]) -> Any:
        """Take the next step to a program, if it is time for it: ask for its kernels, or wait for them and return it."""
        structure = self.structure
        if self.is_hopeless or structure.spent < _HEAD_START * threshold or len(self.programs) == _MOST_LAYOUTS:
            return None
        program = None
        if structure.spent >= threshold:
            if self.spent < min(self.worth, threshold):
                return None
            draft, self.draft = self.draft, None
            program = compile_plan(plan, environment, not self.programs) if draft is None else _linked(draft)
            self.is_hopeless = program is None
        elif not structure.is_requested:
            structure.is_requested = True
            self.draft = draft_plan(plan, environment)
            self.is_hopeless = self.draft is None
            if self.draft is not None:
                self.draft.request()
        return program


def run_compiled(
    plan: Plan, environment: list[Any], failure: Callable[[BaseException], Any], at_once: bool = False
) -> None:
    """Run a plan by its program, if it has one or is to get one now (`at_once`: whatever it has cost); else interpret it."""
    compiled = plan.compiled
    if compiled is None:
        compiled = plan.compiled = Compiled(plan)
    if at_once:
        compiled.spent = max(compiled.spent, threshold)
        compiled.structure.spent = max(compiled.structure.spent, threshold)
    if not compiled.run(plan, environment):
        compiled.spent += compiled.cost
        compiled.structure.spent += compiled.cost
        run_plan(plan, environment, failure)


def draft_plan(plan: Plan, environment: list[Any], knows_numbers: bool = True) -> Any:
    """Return a plan's program without its kernels, made from one run to see how values are laid out; None if it has none.

    Raises Raised if the run does. Integers may be compiled in, unless others have come since this was done.
    """
    from .program import Program, layout_of

    values = list(environment)
    layouts = {slot: layout_of(value) for slot, value in enumerate(values)}
    try:
        with np.errstate(all="ignore"):
            for run, operands, results, free in plan.instructions:
                value = run(*[values[slot] for slot in operands])
                for slot, part in [(results, value)] if isinstance(results, int) else zip(results, value, strict=True):
                    values[slot] = part
                    layouts[slot] = layout_of(part)
                value = part = None
                for slot in free:
                    values[slot] = None
    except Exception as error:  # it is the interpreter that gives it to whoever reads the result
        raise Raised from error
    found = {slot: layout for slot, layout in layouts.items() if layout is not None}
    collects = gc.isenabled()
    gc.disable()  # nothing of what is made here is garbage before it is done, and there is much of it for a long plan
    try:
        numbers = {slot: value for slot, value in enumerate(environment) if knows_numbers and value.__class__ is int}
        return Program(plan.nodes, plan.live, plan.residuals, found, numbers)
    except Exception as error:  # whatever it is, there is the interpreter
        from .kernels import warn_once

        text = f"{type(error).__name__}: {error}"
        warn_once("not written", f"a plan cannot be compiled, so it is interpreted. This is a mistake in tapegrad; please report {text}")
        return None
    finally:
        if collects:
            gc.enable()


def compile_plan(plan: Plan, environment: list[Any], knows_numbers: bool = True) -> Any:
    """Return the compiled form of a plan, as soon as its kernels are there; None if it cannot be compiled."""
    draft = draft_plan(plan, environment, knows_numbers)
    return None if draft is None else _linked(draft)


def _linked(program: Any) -> Any:
    """Return the program with its kernels; None, and a warning, if there is one that cannot be had."""
    from .kernels import NoKernel, warn_once

    try:
        program.request()
        program.link()
    except NoKernel as error:
        warn_once("not compiled", str(error))
        return None
    return program
