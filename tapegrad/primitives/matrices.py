"""Pieces of the rows of linear algebra: checks, and small matrix functions that their rules are written in.

All of linear algebra works on the last two dimensions and treats those before them as a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .arithmetic import conj, imag, real
from .movement import diagonal, diagonal_embed, permute, reshape, slice_axis
from .reductions import reduce_sum

LOW_PRECISION = (dtypes.float16, dtypes.bfloat16)


class LinAlgError(RuntimeError):
    """A factorisation or a solution does not exist for these values: PyTorch's ``torch.linalg.LinAlgError``."""


# Checks


def check_matrices(name: str, t: Type, operand: str = "A") -> None:
    """Raise for a tensor with fewer than two dimensions."""
    if t.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {operand} must have at least 2 dimensions.")


def check_square(name: str, t: Type) -> None:
    """Raise for matrices that are not square."""
    check_matrices(name, t)
    m, n = t.shape[-2:]
    if m != n:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices")


def check_dtype(name: str, t: Type, kernel: str | None = None, low_precision: bool = False) -> None:
    """Raise for integers and, unless it may be, for low precision: under the name of PyTorch's kernel where it does so."""
    if t.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype.title}")
    if t.dtype in LOW_PRECISION and not low_precision:
        if kernel is not None:
            refuse(kernel, t)
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {t.dtype.title}")


def check_kernel(kernel: str, t: Type) -> None:
    """Raise for a dtype that LAPACK does not know, as PyTorch's kernel of that name does."""
    if t.dtype.category < dtypes.FLOAT or t.dtype in LOW_PRECISION:
        refuse(kernel, t)


def refuse(kernel: str, t: Type) -> None:
    """Raise as PyTorch's kernel of that name does for a dtype that it does not know."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'")


def check_failures(failures: Any, name: str | None, text: str) -> None:
    """Raise for the first matrix with a failure (a number, or 0 for none) unless `name` is None; `text` has a ``{}``."""
    if name is None or not np.any(failures):
        return
    place = int(np.flatnonzero(failures)[0])
    element = f"(Batch element {place}): " if np.ndim(failures) else ""
    raise LinAlgError(f"{name}: {element}{text.format(np.ravel(failures)[place])}")


# Batching


def aligned(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """For several operands whose leading dimensions broadcast."""
    return batching.elementwise(primitive, operands, batched, **parameters)


# Matrix functions for rules


def transpose(a: Any) -> Any:
    """Swap the last two dimensions."""
    last = a.ndim - 1
    return permute(a, axes=(*range(last - 1), last, last - 1))


def conjugate(a: Any) -> Any:
    """Return the complex conjugate; a real tensor is its own."""
    return conj(a) if a.dtype.is_complex else a


def real_part(a: Any) -> Any:
    """Return the real part; a real tensor is its own."""
    return real(a) if a.dtype.is_complex else a


def adjoint(a: Any) -> Any:
    """Return the conjugate transpose."""
    return transpose(conjugate(a))


def hermitian_part(a: Any) -> Any:
    """Return the Hermitian matrix nearest to a matrix."""
    return (a + adjoint(a)) * 0.5


def as_rows(a: Any) -> Any:
    """Make vectors into matrices of one row."""
    return reshape(a, shape=(*a.shape[:-1], 1, a.shape[-1]))


def as_columns(a: Any) -> Any:
    """Make vectors into matrices of one column."""
    return reshape(a, shape=(*a.shape, 1))


def as_matrices(a: Any) -> Any:
    """Make numbers into matrices of one element."""
    return reshape(a, shape=(*a.shape, 1, 1))


def diagonals(a: Any) -> Any:
    """Return the diagonals of matrices."""
    return diagonal(a, offset=0, axis1=a.ndim - 2, axis2=a.ndim - 1)


def diagonal_matrices(a: Any) -> Any:
    """Return matrices with these diagonals."""
    return diagonal_embed(a, offset=0, axis1=a.ndim - 1, axis2=a.ndim)


def trace(a: Any) -> Any:
    """Return the sums of the diagonals of matrices."""
    return reduce_sum(diagonals(a), axes=(a.ndim - 2,), keepdims=False)


def real_diagonal(a: Any) -> Any:
    """Keep the real part of the diagonal, and nothing else."""
    return diagonal_matrices(real_part(diagonals(a)))


def imaginary_diagonal(a: Any) -> Any:
    """Keep the imaginary part of the diagonal of complex matrices, and nothing else."""
    return diagonal_matrices(imag(diagonals(a)) * 1j)


def first_columns(a: Any, count: int) -> Any:
    """Return the first columns of matrices."""
    return slice_axis(a, 0, axis=a.ndim - 1, length=count, step=1)


def last_columns(a: Any, count: int) -> Any:
    """Return the last columns of matrices."""
    return slice_axis(a, a.shape[-1] - count, axis=a.ndim - 1, length=count, step=1)


def first_rows(a: Any, count: int) -> Any:
    """Return the first rows of matrices."""
    return slice_axis(a, 0, axis=a.ndim - 2, length=count, step=1)


def last_rows(a: Any, count: int) -> Any:
    """Return the last rows of matrices."""
    return slice_axis(a, a.shape[-2] - count, axis=a.ndim - 2, length=count, step=1)


def total(a: Any, *parts: Any) -> Any:
    """Return the sum of those that are not None, or None."""
    for part in parts:
        if part is not None:
            a = part if a is None else a + part
    return a


# Arrays: operands to sample with, and stand-ins for matrices that cannot be used


def well_conditioned(*shape: int) -> Any:
    """Return square matrices whose diagonals dominate."""
    return np.random.default_rng(sum(shape)).uniform(-0.5, 0.5, shape) + 2 * np.eye(shape[-1])


def without_singular(a: Any, singular: Any) -> Any:
    """Put the identity in place of the matrices where `singular` is not 0."""
    return np.where(np.asarray(singular)[..., None, None] != 0, np.eye(a.shape[-1], dtype=a.dtype), a)


def torch_symmetric(a: Any) -> Any:
    """Return PyTorch's symmetric matrices in such a way that cotangents and tangents become symmetric too."""
    return (a + a.mH) / 2 if a.is_floating_point() or a.is_complex() else a
