"""Products, powers and exponentials of matrices, and products of vectors, as ``torch.linalg`` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import linalg as rows
from ..primitives.concatenation import concatenate
from ..primitives.copying import copy
from ..primitives.cumulative import cumprod
from ..primitives.matrices import adjoint, as_columns, check_dtype, check_kernel, check_square, first_columns
from ..primitives.movement import expand, reshape, slice_axis, tril
from ..primitives.reductions import reduce_sum
from ..primitives.selection import where
from ..primitives.signs import conj
from ..primitives.type_rules import normalise_axis
from ..tape import constants
from ..tape.record import here, mark_composed
from . import contraction, matrices
from .arguments import checked
from .declare import c_name, require_tensor, write_out


def matrix_exp(A: Any) -> Any:  # noqa: N803 - PyTorch's name
    """Return the exponentials of square matrices.

    >>> import tapegrad
    >>> tapegrad.linalg.matrix_exp(tapegrad.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return rows.matrix_exp(require_tensor("linalg_matrix_exp", A, "A"))


def matrix_power(A: Any, n: int, *, out: Any = None) -> Any:  # noqa: N803
    """Return the n-th power of square matrices; for negative n, of their inverses.

    >>> import tapegrad
    >>> tapegrad.linalg.matrix_power(tapegrad.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    require_tensor("linalg_matrix_power", A, "A")
    if not isinstance(n, int):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    check_square("linalg.matrix_power", A)
    result = _power(A, n)
    return result if out is None else write_out("linalg_matrix_power", out, result, A)


def _power(a: Any, n: int) -> Any:
    if n == 0:
        return where(constants.ones((), dtypes.bool), constants.eye(a.shape[-1], a.dtype), a)  # with a gradient: zero
    if n == 1:
        return copy(a)
    square = rows.inverse(a) if n < 0 else a
    result = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            result = square if result is None else contraction.matmul(result, square)
        n = abs(n) // 2
        if n:
            square = contraction.matmul(square, square)
    return result


def multi_dot(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Return the product of matrices, multiplied in the order that takes the fewest operations.

    The first and the last may be vectors: a row and a column.
    """
    tensors = list(tensors)
    _check_chain(tensors)
    if len(tensors) == 2:
        result = contraction.matmul(*tensors)
    else:
        first, last = tensors[0], tensors[-1]
        matrices = list(tensors)
        if first.ndim == 1:
            matrices[0] = reshape(first, shape=(1, *first.shape))
        if last.ndim == 1:
            matrices[-1] = as_columns(last)
        product = _multiply_chain(matrices)
        shape = product.shape[1 if first.ndim == 1 else 0 : 1 if last.ndim == 1 else 2]
        result = product if product.ndim == len(shape) else reshape(product, shape=tuple(shape))
    return result if out is None else write_out("linalg_multi_dot", out, result, *tensors)


def _check_chain(tensors: list[Any]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    last = len(tensors) - 1
    for place, tensor in enumerate(tensors):
        at_end = place in (0, last)
        if tensor.ndim == 2 or (at_end and tensor.ndim == 1):
            continue
        if at_end:
            raise RuntimeError(f"multi_dot(): the {'last' if place else 'first'} tensor must be 1D or 2D but got {tensor.ndim}D")
        raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {tensor.ndim}D")
    for place, tensor in enumerate(tensors):
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {c_name(tensors[0].dtype)} and tensor "
                f"{place} {c_name(tensor.dtype)}"
            )
    for place, (left, right) in enumerate(zip(tensors, tensors[1:], strict=False)):
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(left.shape)} and {list(right.shape)} cannot be "
                "multiplied"
            )


def _multiply_chain(matrices: list[Any]) -> Any:
    """Multiply in the best order: by dynamic programming over all runs of neighbours.

    Source: Cormen et al., "Introduction to algorithms", section "Matrix-chain multiplication".
    """
    lengths = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    count = len(matrices)
    cost = {(start, start): 0 for start in range(count)}
    split: dict[tuple[int, int], int] = {}
    for run in range(1, count):
        for start in range(count - run):
            end = start + run
            costs = {
                at: cost[start, at] + cost[at + 1, end] + lengths[start] * lengths[at + 1] * lengths[end + 1]
                for at in range(start, end)
            }
            split[start, end] = min(costs, key=costs.__getitem__)
            cost[start, end] = costs[split[start, end]]

    def product(start: int, end: int) -> Any:
        if start == end:
            return matrices[start]
        at = split[start, end]
        return contraction.matmul(product(start, at), product(at + 1, end))

    return product(0, count - 1)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Return the matrix product: ``tapegrad.matmul``."""
    return contraction.matmul(input, other, out=out)


@checked
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """Return a view of the diagonals of matrices."""
    return matrices.diagonal(A, offset, dim1, dim2)


@checked
def vander(x: Any, *, N: int | None = None) -> Any:  # noqa: N803
    """Return the matrices whose rows are the powers 0 to N - 1 of an element of `x`; N defaults to how many those are.

    >>> import tapegrad
    >>> tapegrad.linalg.vander(tapegrad.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    require_tensor("linalg_vander", x, "x")
    if x.dtype is dtypes.bool:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    count = N if N is not None else x.shape[-1] if x.ndim else 1
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    dtype = x.dtype if x.dtype.category >= dtypes.FLOAT else dtypes.int64
    shape = tuple(x.shape) if x.ndim else (1,)
    powers = cumprod(expand(reshape(x, shape=(*shape, 1)), shape=(*shape, count - 1)), axis=len(shape))
    return concatenate(constants.ones((*shape, 1), dtype), powers, axis=len(shape))


@checked
def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    """Return the products of vectors along `dim`, the first conjugated.

    >>> import tapegrad
    >>> tapegrad.linalg.vecdot(tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]), tapegrad.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    require_tensor("linalg_vecdot", x, "x")
    require_tensor("linalg_vecdot", y, "y", 2)
    check_dtype("linalg.vecdot", x, low_precision=True)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.title} and y of type "
            f"{y.dtype.title} instead"
        )
    if x.ndim == y.ndim == 1:
        result = contraction.vdot(x, y)
    else:
        products = (conj(x) if x.dtype.is_complex else x) * y
        result = reduce_sum(products, axes=(normalise_axis(dim, products.ndim),), keepdims=False, name="SumBackward1")
    return result if out is None else write_out("linalg_vecdot", out, result, x, y)


@checked
def cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Any:
    """Return the cross products of vectors of three elements along `dim`.

    >>> import tapegrad
    >>> tapegrad.linalg.cross(tapegrad.tensor([1.0, 0.0, 0.0]), tapegrad.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    require_tensor("linalg_cross", input)
    require_tensor("linalg_cross", other, "other", 2)
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = normalise_axis(dim, input.ndim)
    if input.ndim == 0 or input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {other.dtype.title}")
    result = rows.cross(input, other, axis=axis - input.ndim)
    return result if out is None else write_out("linalg_cross", out, result, input, other)


def householder_product(A: Any, tau: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return the first columns of the product of the reflections ``I - tau v v^H``, whose v are below the diagonal of A."""
    require_tensor("linalg_householder_product", A, "A")
    require_tensor("linalg_householder_product", tau, "tau", 2)
    _check_reflections(A, tau)
    start = here()
    m, n = A.shape[-2:]
    result = expand(first_columns(constants.eye(m, A.dtype), n), shape=tuple(A.shape))
    vectors = tril(A, k=-1) + first_columns(constants.eye(m, A.dtype), n)
    for place in reversed(range(tau.shape[-1])):
        vector = slice_axis(vectors, place, axis=A.ndim - 1, length=1, step=1)
        scale = as_columns(slice_axis(tau, place, axis=tau.ndim - 1, length=1, step=1))
        result = result - (vector * scale) @ (adjoint(vector) @ result)
    if result.requires_grad:
        mark_composed("LinalgHouseholderProductBackward0", result, start)
    return result if out is None else write_out("linalg_householder_product", out, result, A, tau)


def _check_reflections(a: Any, tau: Any) -> None:
    name = "torch.linalg.householder_product"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.ndim and tau.shape[-1] > a.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tau.ndim != a.ndim - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim is "
            f"equal to {a.ndim}"
        )
    if tau.dtype is not a.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.title} does not match input dtype {a.dtype.title}")
    check_kernel("orgqr_cpu", a)
