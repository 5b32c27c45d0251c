"""The rows of linear algebra, under the names that other families know."""

from .cross_products import cross
from .decompositions import cholesky, cholesky_ex, lu_factor, lu_factor_ex, permutation_matrix, qr
from .determinants import cofactor, determinant, slogdet
from .linear_systems import inverse, inverse_ex, solve, solve_ex, triangular_solve
from .matrices import LinAlgError
from .matrix_exponential import matrix_exp
from .norms import vector_norm
from .pseudo_inverse import pinv
from .spectral import eig, eigh, eigvals, eigvalsh, svd, svdvals

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cofactor",
    "cross",
    "determinant",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inverse",
    "inverse_ex",
    "lu_factor",
    "lu_factor_ex",
    "matrix_exp",
    "permutation_matrix",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "svd",
    "svdvals",
    "triangular_solve",
    "vector_norm",
]
