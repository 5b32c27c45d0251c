"""The kernels of the primitive table: each expression gives what the row's NumPy function gives, on every dtype it claims.

Here an expression is evaluated with NumPy's functions, on samples and at the edges of each dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import dtypes
from tapegrad.execute.prepare import prepare
from tapegrad.primitives.declare import KERNEL_DTYPES, KERNEL_FUNCTIONS, OPERAND_NAMES, TABLE, Primitive
from tapegrad.tape.types import Type, make_type

ROWS = {row.name: row for row in TABLE.values() if row.kernel is not None}
NAMES = [dtype.name for dtype in KERNEL_DTYPES["any"]]
INF, NAN = float("inf"), float("nan")
NUMBERS = {"inf": INF, "nan": NAN}
TOLERANCE = 4  # units in the last place
# Of zeros, which are equal, NumPy itself gives the one or the other.
ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "clamp", "clamp_min", "clamp_max", "hardtanh", "relu"}
# Sums that cancel: the operands' rounding errors, in units of one's last place, are left.
CANCELLING = {"logaddexp", "logaddexp2"}


# Operands


def edges_of(dtype: np.dtype[Any]) -> Any:
    """Return the values of a dtype at which functions are special."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [limits.min, limits.min + 1, 0, 1, 2, 3, 5, limits.max - 1, limits.max]
        return np.array(values + ([] if dtype.kind == "u" else [-1, -2, -3]), dtype)
    limits = np.finfo(dtype)
    positive = [0.0, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 20.5, 88.0, 1e30, INF]
    positive += [limits.smallest_subnormal, limits.smallest_normal, limits.eps, limits.max]
    return np.array([sign * value for value in positive for sign in (1, -1)] + [NAN], dtype)


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand that the row's author wrote as floats in another dtype; masks and integers stay what they are."""
    array = np.asarray(array)
    if array.dtype.kind != "f" or dtype.kind == "f":
        return array.astype(dtype) if array.dtype.kind == "f" else array
    whole = np.asarray(np.trunc(2 * np.nan_to_num(array, posinf=0.0, neginf=0.0)))
    return (np.abs(whole) if dtype.kind == "u" else whole).astype(dtype)


def cases_of(row: Primitive, dtype: np.dtype[Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield operands (arrays and Python numbers) and static parameters: the samples, and combinations of edges."""
    assert row.samples is not None
    for number, sample in enumerate(row.samples()):
        is_number = [not isinstance(o, (np.ndarray, np.generic)) for o in sample.operands]
        arrays = [o if n else converted(o, dtype) for o, n in zip(sample.operands, is_number, strict=True)]
        yield arrays, sample.parameters
        if number == 0 or sample.parameters != row.samples()[0].parameters:
            edges = [edges_of(array.dtype) for array, n in zip(arrays, is_number, strict=True) if not n]
            combined = iter([np.array(column, edge.dtype) for column, edge in zip(zip(*product(*edges)), edges, strict=True)])
            yield [o if n else next(combined) for o, n in zip(arrays, is_number, strict=True)], sample.parameters


def type_of(operand: Any) -> Type:
    if isinstance(operand, (np.ndarray, np.generic)):
        return make_type(dtypes.from_array_type(operand.dtype), operand.shape)
    return make_type(dtypes.of_number(type(operand)), (), is_number=True)


# Evaluating


def sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), small) / (1 + small)


def of_scipy(name: str) -> Callable[[Any], Any]:
    from scipy import special

    return getattr(special, name)  # type: ignore[no-any-return]


NUMPY_NAMES = {"atan2": "arctan2", "pow": "power"} | {
    name: name.replace("a", "arc", 1) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")
}
FUNCTIONS = {name: getattr(np, NUMPY_NAMES.get(name, name), None) for name in KERNEL_FUNCTIONS}
FUNCTIONS |= {"sigmoid": sigmoid, "where": np.where, "erfinv": TABLE["erfinv"].numpy, "lgamma": TABLE["lgamma"].numpy}
FUNCTIONS |= {name: of_scipy(name) for name in ("erf", "erfc", "digamma")}


def evaluate(expression: str, operands: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """Return the value of a kernel for arrays of operands, `dtype` being the one that it computes in."""
    names = dict(zip(OPERAND_NAMES, operands, strict=False)) | {"T": lambda value: np.asarray(value).astype(dtype)}
    return eval(expression, {"__builtins__": {}} | FUNCTIONS | NUMBERS, names)


def run_kernel(row: Primitive, expression: str, operands: Sequence[Any], types: Sequence[Type], result: Type) -> Any:
    computed = dtypes.array_type(result.dtype if row.casts is None else row.casts(row.name, types)[0])
    given = [np.asarray(o) for o in operands]
    if row.casts is not None:
        given = [array.astype(computed) for array in given]
    else:
        given = [array.astype(computed) if t.is_number else array for array, t in zip(given, types, strict=True)]
    value = evaluate(expression, given, computed)
    return np.broadcast_to(np.asarray(value).astype(dtypes.array_type(result.dtype)), result.shape)


# Comparing


def differs(row: Primitive, ours: Any, theirs: Any) -> Any:
    """Return where the kernel's value is not NumPy's, to rounding."""
    if theirs.dtype.kind != "f":
        return ours != theirs
    limits = np.finfo(theirs.dtype)
    same = (ours == theirs) | np.isnan(ours) & np.isnan(theirs)
    if row.name not in ANY_ZERO:
        same &= (ours != 0) | (np.signbit(ours) == np.signbit(theirs))
    least = 1.0 if row.name in CANCELLING else 0.0
    allowed = TOLERANCE * np.maximum(limits.eps * np.maximum(np.abs(theirs), least), limits.smallest_subnormal)
    near = (np.abs(ours - theirs) <= allowed) & np.isfinite(theirs) & (ours != theirs)
    return ~(same | near)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_gives_what_numpy_gives(row: Primitive) -> None:
    compared = 0
    for dtype in map(np.dtype, NAMES):
        for operands, parameters in cases_of(row, dtype):
            types = tuple(map(type_of, operands))
            try:
                result = make_type(*row.type_rule(*types, **parameters))
            except (RuntimeError, NotImplementedError):
                continue  # a dtype that the row refuses
            expression = row.kernel_for(types, parameters)
            if expression is None:
                continue
            with np.errstate(all="ignore"):
                theirs = np.asarray(prepare(row, types, (result,), parameters)(*operands))
                ours = run_kernel(row, expression, operands, types, result)
                wrong = differs(row, ours, theirs)
            assert not wrong.any(), report(expression, operands, result, ours, theirs, wrong)
            compared += 1
    assert compared, "no dtype has been compared"


def report(expression: str, operands: Sequence[Any], result: Type, ours: Any, theirs: Any, wrong: Any) -> str:
    places = np.argwhere(wrong)
    shown = [np.broadcast_to(o, result.shape) for o in operands]
    lines = [f"at {[o[tuple(p)].item() for o in shown]}: {ours[tuple(p)]}, NumPy gives {theirs[tuple(p)]}" for p in places[:12]]
    return "\n".join([f"{expression} ({[o.dtype.name for o in shown]}): {len(places)} differ", *lines])
