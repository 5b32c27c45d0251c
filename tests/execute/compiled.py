"""Traces that a test records are compiled at once, and compared with the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute.interpreter import Plan, run_plan
from tapegrad.execute.loops import Call
from tapegrad.execute.tiering import compile_plan
from tapegrad.primitives.declare import TABLE
from tapegrad.tape import materialise

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "int64", "int8", "uint8", "bool")


@contextmanager
def compiling(tolerance: float = 32.0) -> Iterator[list[Any]]:
    """Compile every plan that is run; give the list of programs. Values differ by so many units in the last place at most."""
    programs: list[Any] = []
    tapegrad.manual_seed(0)

    def run(plan: Plan, environment: list[Any], failure: Any) -> None:
        expected = list(environment)
        run_plan(plan, expected, failure)
        program = compile_plan(plan, environment)
        assert program is not None
        program(environment)
        programs.append(program)
        for slot in (*plan.live, *plan.residuals):
            compare(environment[slot], expected[slot], tolerance)

    before = tapegrad.get_mode()
    with pytest.MonkeyPatch.context() as patch:
        tapegrad.set_mode("interpret")
        patch.setattr(materialise, "run_plan", run)
        try:
            yield programs
        finally:
            tapegrad.set_mode(before)


def compare(ours: Any, theirs: Any, tolerance: float) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    limits = np.finfo(theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance * limits.eps, atol=tolerance * limits.eps, equal_nan=True)


def calls(program: Any) -> list[str]:
    """Return the names of the primitives that Python runs."""
    return [stage.node.primitive.name for stage in program.fusion.stages if isinstance(stage, Call)]


def runs(program: Any) -> int:
    """Return how often Python hands over to kernels."""
    count: int = program.source.count("execute(")
    return count


def converted(operand: Any, dtype: str) -> Any:
    """Return a floating-point operand in another dtype, laid out as it was; others as they are."""
    if not isinstance(operand, np.ndarray | np.generic):
        return operand
    if operand.dtype.kind != "f":
        return np.asarray(operand)
    if np.dtype(dtype).kind in "ui":
        operand = operand * 3
    with np.errstate(all="ignore"):
        return np.asarray(operand).astype(dtype, order="K")


def tensors(operands: Any, dtype: str) -> list[Any]:
    """Return operands as tensors that share their layout, and Python numbers."""
    given = [converted(operand, dtype) for operand in operands]
    return [tapegrad.from_numpy(o) if isinstance(o, np.ndarray) else o for o in given]


def record(name: str, *operands: Any, **parameters: Any) -> Any:
    """Record a primitive of the table."""
    return TABLE[name](*operands, **parameters)


def read(*results: Any) -> None:
    """Run what is recorded."""
    for result in results:
        result.numpy()
