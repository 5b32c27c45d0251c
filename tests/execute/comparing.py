"""Compiled programs beside the interpreter: every plan that is run while `compiled()` lasts is compiled, and the two compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute.interpreter import Plan, run_plan
from tapegrad.execute.loops import Call
from tapegrad.execute.program import Program
from tapegrad.execute.tiering import compile_plan
from tapegrad.primitives.declare import TABLE, Primitive, Sample
from tapegrad.tape import materialise

TOLERANCES = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-12}


@contextmanager
def compiled() -> Iterator[list[Program]]:
    """Give the list of the programs that have been run so far."""
    programs: list[Program] = []

    def run(plan: Plan, environment: list[Any], failure: Any, at_once: bool) -> None:
        program = compile_plan(plan, environment)
        assert program is not None
        expected = list(environment)
        run_plan(plan, expected, failure)
        for _ in range(2):  # the second run finds memory as the first one left it
            values = list(environment)
            program(values)
            for slot in {*plan.live, *plan.residuals}:
                same(np.asarray(values[slot]), np.asarray(expected[slot]))
        environment[:] = values
        programs.append(program)

    before = tapegrad.get_mode()
    tapegrad.set_mode("jit")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(materialise, "run_compiled", run)
            yield programs
    finally:
        tapegrad.set_mode(before)


def same(ours: Any, theirs: Any) -> None:
    """Check that two arrays are equal, to rounding."""
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    tolerance = TOLERANCES.get(theirs.dtype, 0.0)
    largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * largest, equal_nan=True)


def run_row(row: Primitive, operands: list[Any], parameters: dict[str, Any]) -> Program:
    """Run a row on operands, compiled, and return the program."""
    with compiled() as programs:
        results = row(*[_tensor(operand) if isinstance(operand, np.ndarray) else operand for operand in operands], **parameters)
        (results[0] if isinstance(results, tuple) else results).numpy()
    (program,) = programs
    return program


def _tensor(array: Any) -> Any:
    """Return a tensor in the memory of an array, of which nobody is warned if it cannot be written to."""
    with warnings.catch_warnings(action="ignore"):
        return tapegrad.from_numpy(array)


def calls(program: Program) -> list[str]:
    """Return the names of the primitives that a program leaves to Python."""
    return [stage.node.primitive.name for stage in program.fusion.stages if isinstance(stage, Call)]


def layouts_of(operands: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Yield operands as they are, their memory turned round, and with gaps."""
    yield list(operands)
    yield [np.asfortranarray(operand) for operand in operands]
    yield [_with_gaps(operand) for operand in operands]


def _with_gaps(operand: Any) -> Any:
    wide = np.zeros([2 * length for length in operand.shape], operand.dtype)
    view = wide[tuple([slice(None, None, 2)] * operand.ndim)]
    view[...] = operand
    return view


def floats(sample: Sample, dtype: str) -> tuple[Any, ...]:
    """Return a sample's operands with those of floats in this dtype."""
    return tuple([o.astype(dtype) if isinstance(o, np.ndarray) and o.dtype.kind == "f" else o for o in sample.operands])


# Records of rows of the table

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "int64", "int8", "uint8", "bool")


def runs(program: Program) -> int:
    """Return how often Python hands over to kernels."""
    return program.source.count("execute(")


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
    return [_tensor(operand) if isinstance(operand, np.ndarray) else operand for operand in given]


def record(name: str, *operands: Any, **parameters: Any) -> Any:
    """Record a primitive of the table."""
    return TABLE[name](*operands, **parameters)


def read(*results: Any) -> None:
    """Run what is recorded."""
    for result in results:
        result.numpy()
