"""Linear algebra, under the names of ``torch.linalg``.

>>> import tapegrad
>>> A = tapegrad.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
>>> tapegrad.linalg.det(A).backward()
>>> A.grad
tensor([[ 3., -1.],
        [-1.,  2.]])
"""

from .functions.factors import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from .functions.matrix_functions import (
    cross,
    diagonal,
    householder_product,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    vander,
    vecdot,
)
from .functions.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from .functions.systems import (
    det,
    inv,
    inv_ex,
    lstsq,
    lu_solve,
    pinv,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)
from .primitives.linalg import LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
