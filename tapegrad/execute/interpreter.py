"""The interpreter: a trace is run record by record with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from .chains import Chain, arranged, leading_to
from .written_functions import function_of


class Plan:
    """What a trace is lowered to, for one set of live slots.

    ``instructions`` are (function, operand slots, result slots, slots to free after it); of those records that are a chain, one
    instruction for all (``has_chains`` then). ``with_history`` are the live
    slots that the reverse sweep can start from, ``residuals`` the slots it may read, ``origins`` the slots of outside
    values and leaves it may reach.
    """

    __slots__ = ("nodes", "instructions", "has_chains", "live", "with_history", "residuals", "origins", "runs", "program", "compiled")

    def __init__(self, nodes: list[Any], live: tuple[int, ...], history: tuple[Any, Any, Any]) -> None:
        self.nodes = nodes
        self.runs = 0
        self.program: Callable[[list[Any]], None] | None = None
        self.compiled: Any = None  # what tiering.py keeps here
        self.live = live
        self.with_history, self.residuals, self.origins = history
        kept = {*live, *self.residuals}
        units = arranged(nodes, kept)
        self.has_chains = len(units) < len(nodes) and len(units) <= _PROGRAM_LIMIT
        self.instructions = _instructions(units if self.has_chains else nodes, kept)


def make_plan(path: list[Any], live: tuple[int, ...], released: Collection[int]) -> Plan:
    """Lower a trace: find what the live values need, in order, and where each value is needed last."""
    with_history = _with_history(path, live)
    residuals, origins = _reachable_history(path, with_history, released)
    needed = set(live) | residuals
    chosen = []
    for node in reversed(path):
        if node.operands and any([output.slot in needed for output in node.outputs]):
            chosen.append(node)
            needed.update([operand.slot for operand in node.operands])
    return Plan(chosen[::-1], live, (with_history, tuple(sorted(residuals)), origins))


def _instructions(units: list[Any], kept: set[int]) -> list[Any]:
    """Return the instructions for records, and lists of records that are to be chains."""
    seen = set(kept)
    instructions = []
    for unit in reversed(units):  # from the last to the first: the first time a slot is seen here is its last use
        if isinstance(unit, list):
            needed = leading_to(unit, seen)
            if not needed:
                continue  # others compute again what they read of it
            run = Chain(needed, seen)
            operands, results = run.operands, run.results
        else:
            run = unit.run
            operands = tuple([operand.slot for operand in unit.operands])
            results = tuple([output.slot for output in unit.outputs])
        unread = [slot for slot in results if slot not in seen]
        free = [slot for slot in dict.fromkeys(operands) if slot not in seen]
        seen.update(free)
        instructions.append((run, operands, results if len(results) > 1 else results[0], (*free, *unread)))
    instructions.reverse()
    return instructions


def _with_history(path: list[Any], live: tuple[int, ...]) -> frozenset[int]:
    """Return the live slots that require grad and are not leaves."""
    found = set()
    wanted = set(live)
    for node in path:
        if node.operands:
            found.update([o.slot for o in node.outputs if o.slot in wanted and o.type.requires_grad])
    return frozenset(found)


def _reachable_history(path: list[Any], roots: Collection[int], released: Collection[int]) -> tuple[set[int], set[int]]:
    """Return the slots whose values a later reverse sweep from these roots reads, and the outside slots it may reach."""
    reached = set(roots)
    replayable = set(roots)
    residuals: set[int] = set()
    origins: set[int] = set()
    for node in reversed(path):
        if node.primitive.makes_leaf:
            if node.slot in reached:
                origins.add(node.slot)
                reached.remove(node.slot)
            continue
        slots = [output.slot for output in node.outputs if output.slot in reached and output.type.requires_grad]
        if not slots:
            continue
        if not node.operands:
            origins.update(slots)
            continue
        wanting = [operand.slot for operand in node.operands if operand.type.requires_grad]
        reached.update(wanting)
        if node.slot not in released and any([slot in replayable for slot in slots]):
            residuals.update(node.saved)
            replayable.update(wanting)
    return residuals, origins


def run_plan(plan: Plan, environment: list[Any], failure: Callable[[BaseException], Any]) -> None:
    """Run the instructions over the environment (slot to value), in order; what depends on an error becomes a failure.

    A plan that repeats, or has chains, is run as a straight-line Python function, which saves the walk over the instructions.
    """
    if plan.program is None:
        plan.runs += 1
        if plan.has_chains or (plan.runs == _RUNS_BEFORE_PROGRAM and len(plan.instructions) <= _PROGRAM_LIMIT):
            plan.program = write_program(plan)
    with np.errstate(all="ignore"):
        if plan.program is not None:
            try:
                plan.program(environment)
                return
            except Exception:  # the walk below runs again what raised, and gives the error to whoever reads its result
                pass
        instructions = _instructions(plan.nodes, {*plan.live, *plan.residuals}) if plan.has_chains else plan.instructions
        _walk(instructions, environment, failure)


_RUNS_BEFORE_PROGRAM = 8
_PROGRAM_LIMIT = 1000  # Python's compiler takes about 20 µs an instruction, once for all shapes


def write_program(plan: Plan) -> Callable[[list[Any]], None]:
    """Return a function of the environment that does what walking the instructions does, without a loop."""
    made: set[int] = set()
    kept = {*plan.live, *plan.residuals}
    lines = []
    functions = {}
    for number, (run, operands, results, free) in enumerate(plan.instructions):
        slots = (results,) if results.__class__ is int else results
        arguments = ", ".join([f"v{slot}" if slot in made else f"values[{slot}]" for slot in operands])
        lines.append(f"{', '.join([f'v{slot}' for slot in slots])} = f{number}({arguments})")
        functions[f"f{number}"] = run
        made.update(slots)
        lines.extend([f"values[{slot}] = v{slot}" for slot in slots if slot in kept])
        lines.extend([f"v{slot} = None" for slot in free if slot in made])
    source = "def program(values):\n" + "".join([f"    {line}\n" for line in lines or ["pass"]])
    return function_of(source, functions)


def _walk(instructions: list[Any], environment: list[Any], failure: Callable[[BaseException], Any]) -> None:
    done = 0
    try:
        for run, operands, results, free in instructions:
            if len(operands) == 2:
                first, second = operands
                value = run(environment[first], environment[second])
            else:
                value = run(*[environment[slot] for slot in operands])
            if results.__class__ is int:
                environment[results] = value
            else:
                for slot, part in zip(results, value, strict=True):
                    environment[slot] = part
            value = None
            for slot in free:
                environment[slot] = None
            done += 1
    except Exception as error:  # any error of a record belongs to whoever reads its result
        _spoil(instructions[done], environment, failure(error))
    for instruction in instructions[done + 1 :]:
        _run_carefully(instruction, environment, failure)


def _run_carefully(instruction: Any, environment: list[Any], failure: Callable[[BaseException], Any]) -> None:
    """Run one instruction of which operands may be failures."""
    run, operands, results, free = instruction
    values = [environment[slot] for slot in operands]
    for value in values:
        if value.__class__ is failure:
            _spoil(instruction, environment, value)
            return
    try:
        value = run(*values)
    except Exception as error:  # as above
        _spoil(instruction, environment, failure(error))
        return
    for slot, part in [(results, value)] if results.__class__ is int else zip(results, value, strict=True):
        environment[slot] = part
    for slot in free:
        environment[slot] = None


def _spoil(instruction: Any, environment: list[Any], failed: Any) -> None:
    """Let a failure stand for the results of an instruction."""
    _, _, results, free = instruction
    for slot in (results,) if results.__class__ is int else results:
        environment[slot] = failed
    for slot in free:
        environment[slot] = None
