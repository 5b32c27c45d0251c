"""The comparisons of one program: with itself in the other modes, and with PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tapegrad
from tapegrad.execute import interpreter, tiering
from tapegrad.tape import checks, trace
from tapegrad.tape.materialise import materialise
from tapegrad.tape.segment import state

from .emulating import emulated
from .running import Failed, Outcome, difference, first_other_error, run


@contextmanager
def mode(name: str, limit: int | None = None, runs: int | None = None) -> Iterator[None]:
    """Run in a mode; with `limit`, on a new trie whose segments end after so few records.

    `runs` is how often a plan is walked before it becomes a program. In jit, every plan is compiled before it is first run.
    """
    before, runs_before, threshold = tapegrad.get_mode(), interpreter._RUNS_BEFORE_PROGRAM, tiering.threshold
    limits = trace.PENDING_LIMIT, trace._LONG_LIMIT
    tiering.threshold = 0.0
    tapegrad.set_mode(name)
    try:
        if limit is not None:
            trace._roots.clear()
            trace.PENDING_LIMIT, trace._LONG_LIMIT = limit, 8 * limit  # of every default dtype's root
        if runs is not None:
            interpreter._RUNS_BEFORE_PROGRAM = runs
        yield
    finally:
        materialise(state.segment)
        interpreter._RUNS_BEFORE_PROGRAM, tiering.threshold = runs_before, threshold
        if limit is not None:
            trace._roots.clear()
            trace.PENDING_LIMIT, trace._LONG_LIMIT = limits
        tapegrad.set_mode(before)


def compare_modes(program: list[str], tolerance: float, limit: int = 5, rounds: int = 3) -> str | None:
    """Compare eager with interpret, whose rounds have other numbers, and with interpret in short segments.

    Their numbers differ by rounding, since the sweep adds gradients up in another order.
    """
    for round_number in range(rounds):
        with mode("eager"):
            eager = run(tapegrad, program, round_number)
        with mode("interpret", runs=2):
            deferred = run(tapegrad, program, round_number)
        found = outcomes_differ(deferred, eager, tolerance)
        if found is not None:
            return f"interpret, round {round_number}: {found}"
    with mode("interpret", limit):
        short = run(tapegrad, program, rounds - 1)
    found = outcomes_differ(short, eager, tolerance)
    return None if found is None else f"interpret in segments of {limit}: {found}"


def compare_compiled(program: list[str], tolerance: float, rounds: int = 2, limit: int | None = None) -> str | None:
    """Compare eager with jit, whose later rounds run what was compiled in the first, and jit with itself: not a bit is other."""
    for round_number in range(rounds):
        with mode("eager"):
            eager = run(tapegrad, program, round_number)
        with mode("jit", limit):
            compiled = run(tapegrad, program, round_number)
            again = run(tapegrad, program, round_number)
        found = outcomes_differ(compiled, eager, tolerance)
        if found is not None:
            return f"jit, round {round_number}: {found}"
        found = outcomes_differ(again, compiled, 0)
        if found is not None:
            return f"jit from run to run, round {round_number}: {found}"
    return None


def compare_emulated(program: list[str], tolerance: float, seed: int, limit: int = 4096) -> str | None:
    """Compare eager with jit whose kernels Python runs, in small pieces for most seeds."""
    with emulated(seed, is_small=seed % 4 > 0) as emulation:
        found = compare_compiled(program, tolerance, limit=limit)  # with a limit, the plans are its own
    return f"kernels run by Python: {emulation.mistakes[0]}" if emulation.mistakes else found


def outcomes_differ(ours: Outcome, theirs: Outcome, tolerance: float) -> str | None:
    """Return the first difference of two runs, or None."""
    found = first_other_error(ours.failed, theirs.failed, 1 << 30)
    return found or difference(ours.found, theirs.found, tolerance)


def compare_with_torch(torch: Any, program: list[str], tolerance: float, name: str = "interpret") -> str | None:
    """Compare with PyTorch, whose saved tensors are copies, so that its gradients are those of the values then.

    A sweep that raises may have accumulated and released part already in PyTorch (in tapegrad it has done nothing): it
    is compared, and what comes after it in a program without it.
    """
    while True:
        theirs = run_copying(torch, program)
        with mode(name):
            ours = run(tapegrad, program)
        sweep = first_failed_sweep(theirs.failed)
        found = first_other_error(ours.failed, theirs.failed, lines_before(sweep))
        if found is not None:
            return f"{name} and PyTorch: {found}"
        if sweep is None:
            found = difference(ours.found, theirs.found, tolerance)
            return None if found is None else f"{name} and PyTorch: {found}"
        program = program[: sweep.line] + program[sweep.line + 1 :]


def lines_before(sweep: Failed | None) -> int:
    """Return up to which line two runs raise alike: to the first error of a sweep, and that too if tapegrad has it."""
    return 1 << 30 if sweep is None else sweep.line + (not sweep.is_refusal)


def first_failed_sweep(failed: list[Failed]) -> Failed | None:
    """Return the first error of a sweep."""
    return next((error for error in failed if error.is_of_sweep), None)


def run_copying(torch: Any, program: list[str]) -> Outcome:
    """Run a program in PyTorch, with copies as saved tensors."""
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach().clone(), lambda copy: copy):
        return run(torch, program)


def compare_version_checks(torch: Any, program: list[str]) -> str | None:
    """Compare which sweeps raise, with PyTorch's check of versions on."""
    while True:
        theirs = run(torch, program)
        checks.set_inplace_checks(True)
        try:
            with mode("interpret"):
                ours = run(tapegrad, program)
        finally:
            checks.set_inplace_checks(False)
        sweep = first_failed_sweep(theirs.failed)
        found = first_other_error(ours.failed, theirs.failed, lines_before(sweep))
        if found is not None or sweep is None:
            return None if found is None else f"version checks: {found}"
        program = program[: sweep.line] + program[sweep.line + 1 :]
