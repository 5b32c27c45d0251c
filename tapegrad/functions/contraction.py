"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..primitives import signs
from ..primitives.contraction import matmul as matmul_row
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_sum
from ..primitives.type_rules import normalise_axis
from ..tape.record import here, mark_composed, record

from .declare import require_tensor, write_out


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Return the matrix product; vectors count as a row on the left, a column on the right; leading dimensions broadcast.

    >>> import tapegrad
    >>> tapegrad.matmul(tapegrad.tensor([[1.0, 2.0]]), tapegrad.tensor([3.0, 4.0]))
    tensor([11.])
    """
    require_tensor("matmul", input)
    require_tensor("matmul", other, "other", 2)
    first, second = input._node.type.ndim, other._node.type.ndim
    if first == second == 2:
        result = record(matmul_row, (input, other), (), "MmBackward0")
    elif first >= 2 and second >= 2:
        result = _batched(input, other)
    else:
        result = _with_vectors(input, other, first, second)
    return result if out is None else write_out("matmul", out, result, input, other)


def _batched(input: Any, other: Any) -> Any:
    name = "BmmBackward0" if input.ndim == other.ndim == 3 and input.shape[0] == other.shape[0] else "UnsafeViewBackward0"
    return record(matmul_row, (input, other), (), name)


def _with_vectors(input: Any, other: Any, first: int, second: int) -> Any:
    """Multiply where an operand has one dimension: it gets a second, which the result loses again."""
    if first == 0 or second == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {first}D and {second}D"
        )
    if first == second == 1:
        return dot(input, other)
    start = here()
    left = reshape(input, shape=(1, input._node.type.shape[0])) if first == 1 else input
    right = reshape(other, shape=(other._node.type.shape[0], 1)) if second == 1 else other
    product = record(matmul_row, (left, right))
    shape = product._node.type.shape
    result = reshape(product, shape=(*shape[:-2], shape[-1]) if first == 1 else shape[:-1])
    name = "MvBackward0" if first == 2 else "SqueezeBackward4" if second == 2 else "UnsafeViewBackward0"
    if result._node.type.requires_grad:
        mark_composed(name, result, start)
    return result


def reverse_matmul(self: Any, other: Any) -> Any:
    """Return ``other @ self``."""
    return matmul(other, self)


def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Return the product of two matrices."""
    _require_dims("mm", input, 2, "self must be a matrix")
    _require_dims("mm", mat2, 2, "mat2 must be a matrix")
    result = record(matmul_row, (input, mat2), (), "MmBackward0")
    return result if out is None else write_out("mm", out, result, input, mat2)


def _require_dims(name: str, tensor: Any, ndim: int, message: str) -> None:
    if require_tensor(name, tensor).ndim != ndim:
        raise RuntimeError(message)


def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Return the products of two batches of matrices."""
    _require_dims("bmm", input, 3, "batch1 must be a 3D tensor")
    _require_dims("bmm", mat2, 3, "batch2 must be a 3D tensor")
    first, second = input._node.type.shape, mat2._node.type.shape
    if first[0] != second[0] or first[2] != second[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{first[0]}, {first[2]}] but got: [{second[0]}, {second[1]}]."
        )
    result = record(matmul_row, (input, mat2), (), "BmmBackward0")
    return result if out is None else write_out("bmm", out, result, input, mat2)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """Return the product of a matrix and a vector."""
    if require_tensor("mv", input).ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})")
    result = _with_vectors(input, vec, 2, 1)
    return result if out is None else write_out("mv", out, result, input, vec)


def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """Return the product of two vectors, a scalar."""
    require_tensor("dot", input)
    require_tensor("dot", tensor, "tensor", 2)
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {input.dtype.title} and {tensor.dtype.title}"
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(input.shape)} and src {list(tensor.shape)} to have the same number of "
            f"elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    start = here()
    length = input._node.type.shape[0]
    product = record(matmul_row, (reshape(input, shape=(1, length)), reshape(tensor, shape=(length, 1))))
    result = reshape(product, shape=())
    if result._node.type.requires_grad:
        mark_composed("DotBackward0", result, start)
    return result if out is None else write_out("dot", out, result, input, tensor)


def vdot(input: Any, other: Any) -> Any:
    """Return the product of two vectors, the first conjugated."""
    return dot(signs.conj(input) if input.dtype.is_complex else input, other)


def inner(input: Any, other: Any) -> Any:
    """Return the sums of products over the last dimensions."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """Return the products of all pairs of elements of two vectors."""
    if require_tensor("outer", input).ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if require_tensor("outer", vec2, "vec2", 2).ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    result = reshape(input, shape=(input._node.type.shape[0], 1)) * vec2
    return result if out is None else write_out("outer", out, result, input, vec2)


ger = outer


def _add_product(name: str, input: Any, product: Any, beta: Any, alpha: Any, start: Any) -> Any:
    """Return ``beta * input + alpha * product``, shown as one operation; with beta 0, input is ignored."""
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        result = product
    else:
        result = (input if beta == 1 else input * beta) + product
    if result._node.type.requires_grad:
        mark_composed(name, result, start)
    return result


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""
    start = here()
    result = _add_product("AddmmBackward0", input, mm(mat1, mat2), beta, alpha, start)
    return result if out is None else write_out("addmm", out, result, input, mat1, mat2)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``beta * input + alpha * (mat @ vec)``."""
    start = here()
    result = _add_product("AddmvBackward0", input, mv(mat, vec), beta, alpha, start)
    return result if out is None else write_out("addmv", out, result, input, mat, vec)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""
    start = here()
    return _add_product("AddrBackward0", input, outer(vec1, vec2), beta, alpha, start)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``beta * input + alpha * bmm(batch1, batch2)``."""
    start = here()
    result = _add_product("BaddbmmBackward0", input, bmm(batch1, batch2), beta, alpha, start)
    return result if out is None else write_out("baddbmm", out, result, input, batch1, batch2)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""
    start = here()
    return _add_product("AddbmmBackward0", input, reduce_sum(bmm(batch1, batch2), axes=(0,), keepdims=False), beta, alpha, start)


def tensordot(a: Any, b: Any, dims: int | Sequence[Sequence[int]] = 2) -> Any:
    """Return the sums of products over pairs of dimensions: the last and first `dims`, or those listed."""
    if isinstance(dims, int):
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first = [normalise_axis(axis, a.ndim) for axis in dims[0]]
        second = [normalise_axis(axis, b.ndim) for axis in dims[1]]
    shape_a, shape_b = tuple(a.shape), tuple(b.shape)
    for axis_a, axis_b in zip(first, second, strict=True):
        if shape_a[axis_a] != shape_b[axis_b]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {shape_a[axis_a]} in dim {axis_a} and second has size "
                f"{shape_b[axis_b]} in dim {axis_b}"
            )
    free_a = [axis for axis in range(a.ndim) if axis not in first]
    free_b = [axis for axis in range(b.ndim) if axis not in second]
    inside = _product([shape_a[axis] for axis in first])
    left = reshape(permute(a, axes=(*free_a, *first)), shape=(_product([shape_a[axis] for axis in free_a]), inside))
    right = reshape(permute(b, axes=(*second, *free_b)), shape=(inside, _product([shape_b[axis] for axis in free_b])))
    shape = tuple([shape_a[axis] for axis in free_a] + [shape_b[axis] for axis in free_b])
    return reshape(record(matmul_row, (left, right)), shape=shape)


def _product(lengths: Sequence[int]) -> int:
    total = 1
    for length in lengths:
        total *= length
    return total


__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "dot",
    "ger",
    "inner",
    "matmul",
    "mm",
    "mv",
    "outer",
    "tensordot",
    "vdot",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name != "tensordot"}
METHODS.update(__matmul__=matmul, __rmatmul__=reverse_matmul)
