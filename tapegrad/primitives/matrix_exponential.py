"""The exponential of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape import constants
from ..tape.types import Type
from . import batching, lapack
from .concatenation import concatenate
from .declare import Sample, other
from .matrices import adjoint, check_dtype, check_square, first_rows, last_columns, well_conditioned


def _type(a: Type) -> Any:
    check_square("linalg.matrix_exp", a)
    check_dtype("linalg.matrix_exp", a, low_precision=True)
    return a.dtype, a.shape


def _directional(a: Any, direction: Any) -> Any:
    """Return the derivative of the exponential at `a` in a direction: a block of the exponential of a block matrix.

    Source: Mathias, "A chain rule for matrix functions and applications", SIAM J. Matrix Anal. 17 (1996).
    """
    n = a.shape[-1]
    above = concatenate(a, direction, axis=a.ndim - 1)
    below = concatenate(constants.zeros(tuple(a.shape), a.dtype), a, axis=a.ndim - 1)
    return last_columns(first_rows(matrix_exp(concatenate(above, below, axis=a.ndim - 2)), n), n)


def _torch_matrix_exp(torch: Any, a: Any) -> Any:
    """Return PyTorch's, which for 2-byte floats is overwhelmed by rounding errors: those in float32."""
    return torch.linalg.matrix_exp(a.float()).to(a.dtype) if a.itemsize == 2 else torch.linalg.matrix_exp(a)


matrix_exp = other(
    "matrix_exp",
    lapack.matrix_exponential,
    _type,
    vjp=lambda g, a: _directional(adjoint(a), g),
    jvp=lambda g, a: _directional(a, g[0]),
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3)),
        Sample(np.stack([well_conditioned(2, 2) * 8, np.zeros((2, 2)), np.diag([1.0], 1)])),
        Sample(np.zeros((0, 0))),
    ],
    torch=_torch_matrix_exp,
    grad_name="LinalgMatrixExpBackward0",
)
