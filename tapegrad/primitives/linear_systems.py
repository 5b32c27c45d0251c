"""Inverses, and solutions of linear systems.

Derivatives: Giles, "An extended collection of matrix derivative results for forward and reverse mode automatic
differentiation" (2008), https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf, unless a rule says otherwise.

What can fail for its values has a static parameter ``check``: the function's name for the error, or None to return NaN
instead. Its second result is LAPACK's information: 0, or where it failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching, lapack, type_rules
from .declare import Sample, other
from .matrices import (
    adjoint,
    aligned,
    check_dtype,
    check_failures,
    check_kernel,
    check_matrices,
    check_square,
    well_conditioned,
    without_singular,
)
from .movement import tril, triu


def _right_hand_sides(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).uniform(-2, 2, shape)


# Inverse

_NO_INVERSE = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."


def invert(a: Any, check: str | None) -> Any:
    """Return the inverses of an array's matrices, and LAPACK's information."""
    failures = np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.inv(a), failures
    except np.linalg.LinAlgError:
        failures = lapack.lu_factor(a)[2]
    check_failures(failures, check, _NO_INVERSE)
    inverses = np.linalg.inv(without_singular(a, failures))
    return np.where(failures[..., None, None] != 0, np.nan, inverses).astype(a.dtype, copy=False), failures


def _inverse_type(a: Type, check: str | None) -> Any:
    check_square("linalg.inv", a)
    check_dtype("linalg.inv", a)
    return (a.dtype, a.shape), (dtypes.int32, a.shape[:-2])


def _inverse_vjp(g: Any, r0: Any) -> Any:
    h = adjoint(r0)
    return -(h @ g[0] @ h)


def _inverse_jvp(g: Any, r0: Any) -> Any:
    return -(r0 @ g[0] @ r0), None


inverse_ex = other(
    "inverse_ex",
    invert,
    _inverse_type,
    vjp=_inverse_vjp,
    jvp=_inverse_jvp,
    parameters=("check",),
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3), check=None),
        Sample(well_conditioned(2, 2, 3, 3), check="linalg.inv"),
        Sample(np.zeros((0, 0)), check=None),
    ],
    torch=lambda torch, a, check: torch.linalg.inv_ex(a),
    grad_name="LinalgInvExBackward0",
)


def inverse(a: Any) -> Any:
    """Record the inverses of matrices."""
    return inverse_ex(a, check="linalg.inv")[0]


# Solutions of linear systems

_NO_SOLUTION = "The solver failed because the input matrix is singular."


def _solve(a: Any, b: Any, check: str | None) -> Any:
    failures = np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.solve(a, b), failures
    except np.linalg.LinAlgError:
        failures = lapack.lu_factor(a)[2]
    check_failures(failures, check, _NO_SOLUTION)
    solutions = np.linalg.solve(without_singular(a, failures), b)
    return np.where(failures[..., None, None] != 0, np.nan, solutions).astype(b.dtype, copy=False), failures


def _check_system(name: str, a: Type, b: Type, left: bool) -> Any:
    """Check the shapes of ``A X = B`` (or ``X A = B``) and return the solution's."""
    check_square(name, a)
    check_matrices(name, b, "B")
    m, n = b.shape[-2:]
    if a.shape[-1] != (m if left else n):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({a.shape[-2]}x{a.shape[-1]} and {m}x{n})"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype.title} and B of type "
            f"{b.dtype.title} instead"
        )
    return *type_rules.broadcast_shapes(name, b.shape[:-2], a.shape[:-2]), m, n


def _solve_type(a: Type, b: Type, check: str | None) -> Any:
    shape = _check_system("linalg.solve", a, b, left=True)
    check_dtype("linalg.solve", a, kernel="lu_cpu")
    return (a.dtype, shape), (dtypes.int32, a.shape[:-2])


def _solve_vjp(g: Any, a: Any, r0: Any, needs: Any) -> Any:
    for_b = solve_ex(adjoint(a), g[0], check="linalg.solve")[0]
    return -(for_b @ adjoint(r0)) if needs[0] else None, for_b


def _solve_jvp(g: Any, a: Any, r0: Any) -> Any:
    return solve_ex(a, g[1] - g[0] @ r0, check="linalg.solve")[0], None


def _solve_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], check: str | None) -> Any:
    """The information is about A, which may lack a batch dimension, or have got dimensions that B has."""
    size = batching.batch_size(operands, batched)
    result, failures = aligned(primitive, operands, batched, check=check)
    own = tuple(operands[0].shape[1:-2] if batched[0] else operands[0].shape[:-2])
    failures = batching.reshaped(failures, (size, *own)) if batched[0] else batching.expanded(failures, (size, *own))
    return result, failures


solve_ex = other(
    "solve_ex",
    _solve,
    _solve_type,
    vjp=_solve_vjp,
    jvp=_solve_jvp,
    parameters=("check",),
    results=2,
    batch=_solve_batch,
    samples=lambda: [
        Sample(well_conditioned(3, 3), _right_hand_sides(3, 2), check=None),
        Sample(well_conditioned(2, 3, 3), _right_hand_sides(3, 2), check="linalg.solve"),
        Sample(well_conditioned(3, 3), _right_hand_sides(2, 3, 1), check="linalg.solve"),
        Sample(np.eye(2), np.zeros((2, 0)), check=None),
    ],
    torch=lambda torch, a, b, check: torch.linalg.solve_ex(a, b),
    grad_name="LinalgSolveExBackward0",
)


def solve(a: Any, b: Any) -> Any:
    """Record the solutions X of ``A X = B``."""
    return solve_ex(a, b, check="torch.linalg.solve")[0]


# Triangular systems


def _triangular_solve(a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if left:
        return lapack.triangular_solve(a, b, upper, unitriangular)
    return lapack.triangular_solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unitriangular).swapaxes(-1, -2)


def _triangular_type(a: Type, b: Type, upper: bool, left: bool, unitriangular: bool) -> Any:
    shape = _check_system("linalg.solve_triangular", a, b, left)
    check_kernel("triangular_solve_cpu", a)
    return a.dtype, shape


def _triangle(a: Any, upper: bool, unitriangular: bool) -> Any:
    """Keep the triangle that a triangular solution reads."""
    return triu(a, k=int(unitriangular)) if upper else tril(a, k=-int(unitriangular))


def _triangular_vjp(g: Any, a: Any, r: Any, needs: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    for_b = triangular_solve(adjoint(a), g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, for_b
    for_a = -(for_b @ adjoint(r) if left else adjoint(r) @ for_b)
    return _triangle(for_a, upper, unitriangular), for_b


def _triangular_jvp(g: Any, a: Any, r: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    da = _triangle(g[0], upper, unitriangular)
    change = g[1] - (da @ r if left else r @ da)
    return triangular_solve(a, change, upper=upper, left=left, unitriangular=unitriangular)


triangular_solve = other(
    "triangular_solve",
    _triangular_solve,
    _triangular_type,
    vjp=_triangular_vjp,
    jvp=_triangular_jvp,
    parameters=("upper", "left", "unitriangular"),
    batch=aligned,
    samples=lambda: [
        Sample(well_conditioned(3, 3), _right_hand_sides(3, 2), upper=True, left=True, unitriangular=False),
        Sample(well_conditioned(2, 3, 3), _right_hand_sides(3, 2), upper=False, left=True, unitriangular=False),
        Sample(well_conditioned(3, 3), _right_hand_sides(2, 2, 3), upper=True, left=False, unitriangular=True),
        Sample(well_conditioned(30, 3, 3), _right_hand_sides(30, 2, 3), upper=False, left=False, unitriangular=False),
        Sample(well_conditioned(30, 3, 3), _right_hand_sides(3, 1), upper=True, left=True, unitriangular=True),
    ],
    torch=lambda torch, a, b, upper, left, unitriangular: torch.linalg.solve_triangular(
        a, b, upper=upper, left=left, unitriangular=unitriangular
    ),
    grad_name="LinalgSolveTriangularBackward0",
)
