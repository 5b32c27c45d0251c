"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes, operators
from ..primitives import signs
from ..primitives.casting import cast
from ..primitives.contraction import matmul as matmul_row
from ..primitives.movement import expand, permute, reshape
from ..primitives.reductions import reduce_sum
from ..primitives.type_rules import normalise_axis
from ..tape.record import here, record
from ..tensor import Tensor
from .declare import accepts_out, c_name, require_tensor, write_out
from .in_place import in_place_method, in_place_methods
from .reductions import product_of, show

_multiply = operators.binary(matmul_row)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Return the matrix product; vectors count as a row on the left, a column on the right; leading dimensions broadcast.

    >>> import tapegrad
    >>> tapegrad.matmul(tapegrad.tensor([[1.0, 2.0]]), tapegrad.tensor([3.0, 4.0]))
    tensor([11.])
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        require_tensor("matmul", input)
        require_tensor("matmul", other, "other", 2)
    first, second = input._node.type.ndim, other._node.type.ndim
    if first == second == 2:
        result = _multiply(input, other)
    elif first >= 2 and second >= 2:
        result = record(matmul_row, (input, other), (), _batched_name(input._node.type, other._node.type))
    else:
        result = _with_vectors(input, other, first, second)
    return result if out is None else write_out("matmul", out, result, input, other)


def _batched_name(first: Any, second: Any) -> str:
    """Return the name of the operation that ends PyTorch's product of (batches of) matrices."""
    if first.ndim == 2 and first.requires_grad:  # it multiplies the transposed matrices, and transposes the result
        rows, columns = first.shape[0], second.shape[-1]
        moves = rows > 1 and columns > 1 and 0 not in second.shape
        return "CloneBackward0" if moves else "TransposeBackward0"
    return "UnsafeViewBackward0"


def _with_vectors(input: Any, other: Any, first: int, second: int) -> Any:
    """Multiply where an operand has one dimension: it gets a second, which the result loses again."""
    if first == 0 or second == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {first}D and {second}D")
    if first == second == 1:
        return dot(input, other)
    if (first, second) == (2, 1):
        return mv(input, other)
    start = here()
    left = reshape(input, shape=(1, input._node.type.shape[0])) if first == 1 else input
    right = reshape(other, shape=(other._node.type.shape[0], 1)) if second == 1 else other
    product = record(matmul_row, (left, right))
    shape = product._node.type.shape
    result = reshape(product, shape=(*shape[:-2], shape[-1]) if first == 1 else shape[:-1])
    return show("SqueezeBackward4" if second == 2 else "UnsafeViewBackward0", result, start)


def _left_operator(self: Any, other: Any) -> Any:
    """Return ``self @ other``."""
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _right_operator(self: Any, other: Any) -> Any:
    """Return ``other @ self``."""
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


# Matrices


@accepts_out
def mm(input: Any, mat2: Any) -> Any:
    """Return the product of two matrices.

    >>> import tapegrad
    >>> tapegrad.mm(tapegrad.tensor([[1, 2]]), tapegrad.tensor([[3], [4]]))
    tensor([[11]])
    """
    _require_dimensions(require_tensor("mm", input), 2, "self must be a matrix")
    _require_dimensions(require_tensor("mm", mat2, "mat2", 2), 2, "mat2 must be a matrix")
    return _multiply(input, mat2)


def _require_dimensions(tensor: Any, ndim: int, message: str) -> None:
    if tensor.ndim != ndim:
        raise RuntimeError(message)


@accepts_out
def bmm(input: Any, mat2: Any) -> Any:
    """Return the products of two batches of matrices."""
    _require_dimensions(require_tensor("bmm", input), 3, "batch1 must be a 3D tensor")
    _require_dimensions(require_tensor("bmm", mat2, "mat2", 2), 3, "batch2 must be a 3D tensor")
    first, second = input._node.type.shape, mat2._node.type.shape
    if first[0] != second[0] or first[2] != second[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{first[0]}, {first[2]}] but got: "
            f"[{second[0]}, {second[1]}]."
        )
    return record(matmul_row, (input, mat2), (), "BmmBackward0")


@accepts_out
def mv(input: Any, vec: Any) -> Any:
    """Return the product of a matrix and a vector."""
    require_tensor("mv", input)
    require_tensor("mv", vec, "vec", 2)
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    rows, columns = input._node.type.shape
    length = vec._node.type.shape[0]
    if columns != length:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({length})")
    if input.dtype is not vec.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{vec.dtype.title}, {input.dtype.title}, and {vec.dtype.title}"
        )
    start = here()
    product = record(matmul_row, (input, reshape(vec, shape=(length, 1))))
    return show("MvBackward0", reshape(product, shape=(rows,)), start)


# Vectors


@accepts_out
def dot(input: Any, tensor: Any) -> Any:
    """Return the product of two vectors, a number.

    >>> import tapegrad
    >>> tapegrad.dot(tapegrad.tensor([1, 2]), tapegrad.tensor([3, 4]))
    tensor(11)
    """
    require_tensor("dot", input)
    require_tensor("dot", tensor, "tensor", 2)
    return _dot("DotBackward0", "dot", input, tensor)


def _dot(shown: str, name: str, input: Any, other: Any) -> Any:
    if input.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {other.ndim}D tensors")
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {input.dtype.title} and {other.dtype.title}"
        )
    length = input._node.type.shape[0]
    if length != other._node.type.shape[0]:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{length}] and src [{other.shape[0]}] to have the same number of elements, "
            f"but got {length} and {other.shape[0]} elements respectively"
        )
    if input.dtype is dtypes.bool:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    start = here()
    left = signs.conj(input) if name == "vdot" and input.dtype.is_complex else input
    product = record(matmul_row, (reshape(left, shape=(1, length)), reshape(other, shape=(length, 1))))
    return show(shown, reshape(product, shape=()), start)


@accepts_out
def vdot(input: Any, other: Any) -> Any:
    """Return the product of two vectors, the first conjugated."""
    require_tensor("vdot", input)
    require_tensor("vdot", other, "other", 2)
    return _dot("VdotBackward0", "vdot", input, other)


@accepts_out
def inner(input: Any, other: Any) -> Any:
    """Return the sums of products over the last dimensions."""
    first, second = require_tensor("inner", input)._node.type.shape, require_tensor("inner", other, "other", 2)._node.type.shape
    if not first or not second:
        return input * other
    if first[-1] != second[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(first)} and {list(second)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@accepts_out
def outer(input: Any, vec2: Any) -> Any:
    """Return the products of all pairs of elements of two vectors.

    >>> import tapegrad
    >>> tapegrad.outer(tapegrad.tensor([1, 2]), tapegrad.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    if require_tensor("outer", input).ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if require_tensor("outer", vec2, "vec2", 2).ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    return reshape(input, shape=(input._node.type.shape[0], 1)) * vec2


ger = outer


# Products added to a tensor


def _add_product(shown: str, input: Any, product: Any, beta: Any, alpha: Any, start: tuple[int, int]) -> Any:
    """Return ``beta * input + alpha * product``, shown as one operation; with beta 0, input is ignored."""
    shape = product._node.type.shape
    if input._node.type.shape != shape:
        input = expand(input, shape=shape)  # raises PyTorch's error where it cannot be
    dtype = product.dtype
    if dtype.category < dtypes.FLOAT:
        beta, alpha = int(beta), int(alpha)
    if dtype is dtypes.bool:
        beta, alpha = bool(beta), bool(alpha)
        result = (product & alpha) | (input & beta)
    elif beta == 0:
        result = _multiple(product, alpha)
    else:
        result = _multiple(input, beta) + _multiple(product, alpha)
    return show(shown, result, start)


def _multiple(tensor: Any, factor: Any) -> Any:
    return tensor if factor == 1 else tensor * factor


def _wide(dtype: dtypes.dtype) -> dtypes.dtype:
    """Return the dtype to compute in: float32 for the 2-byte floats."""
    return dtypes.float32 if dtype.category == dtypes.FLOAT and dtype.itemsize == 2 else dtype


def _in(tensor: Any, dtype: dtypes.dtype) -> Any:
    return tensor if tensor.dtype is dtype else cast(tensor, dtype=dtype)


def _check_dtypes(input: Any, other: Any, message: str) -> None:
    if input.dtype is not other.dtype:
        raise RuntimeError(message.format(input.dtype.title, other.dtype.title))


@accepts_out
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)``.

    >>> import tapegrad
    >>> tapegrad.addmm(tapegrad.tensor([1.0]), tapegrad.tensor([[1.0, 2.0]]), tapegrad.tensor([[3.0], [4.0]]))
    tensor([[12.]])
    """
    require_tensor("addmm", input)
    _require_dimensions(require_tensor("addmm", mat1, "mat1", 2), 2, f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    _require_dimensions(require_tensor("addmm", mat2, "mat2", 3), 2, f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    _check_dtypes(input, mat2, "self and mat2 must have the same dtype, but got {} and {}")
    _check_dtypes(mat1, mat2, "mat1 and mat2 must have the same dtype, but got {} and {}")
    start = here()
    return _add_product("AddmmBackward0", input, _multiply(mat1, mat2), beta, alpha, start)


@accepts_out
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * (mat @ vec)``."""
    require_tensor("addmv", input)
    start = here()
    return _add_product("AddmvBackward0", input, mv(mat, vec), beta, alpha, start)


@accepts_out
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""
    require_tensor("addr", input)
    for position, vector in enumerate((vec1, vec2), 2):
        if require_tensor("addr", vector, f"vec{position - 1}", position).ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{position - 1}, but got {vector.ndim}-D")
    dtype = dtypes.promote_types(dtypes.promote_types(input.dtype, vec1.dtype), vec2.dtype)
    start = here()
    working = _wide(dtype)
    result = _add_product("AddrBackward0", _in(input, working), outer(_in(vec1, working), _in(vec2, working)), beta, alpha, start)
    return show("AddrBackward0", _in(result, dtype), start)


@accepts_out
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * bmm(batch1, batch2)``."""
    require_tensor("baddbmm", input)
    start = here()
    product = bmm(batch1, batch2)
    if input.dtype is not batch1.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {c_name(input.dtype)}, batch1: {c_name(batch1.dtype)}")
    return _add_product("BaddbmmBackward0", input, product, beta, alpha, start)


@accepts_out
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""
    dtype = require_tensor("addbmm", input).dtype
    start = here()
    working = _wide(dtype)
    products = bmm(_in(batch1, _wide(batch1.dtype)), _in(batch2, _wide(batch2.dtype)))
    total = _in(reduce_sum(products, axes=(0,), keepdims=False), working)
    result = _add_product("AddbmmBackward0", _in(input, working), total, beta, alpha, start)
    return show("AddbmmBackward0", _in(result, dtype), start)


_OTHER_SIZE = "Bad in-place call: input tensor size {0} and output tensor size {1} should match"


def _in_place(function: Any, mismatch: str) -> Any:
    """Return the in-place method of a function, with what it says where the result's size is not the tensor's."""

    def fitting(input: Any, *arguments: Any, **options: Any) -> Any:
        result = function(input, *arguments, **options)
        if result.shape != input.shape:
            raise RuntimeError(mismatch.format(list(input.shape), list(result.shape), input.ndim))
        return result

    return in_place_method(f"{function.__name__}_", fitting)


# Any dimensions


@accepts_out
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Return the sums of products over pairs of dimensions: the last and first `dims`, or those listed.

    >>> import tapegrad
    >>> tapegrad.tensordot(tapegrad.ones(2, 3), tapegrad.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    require_tensor("tensordot", a, "a")
    require_tensor("tensordot", b, "b", 2)
    given_a, given_b = _paired_dims(a, b, dims)
    if len(given_a) != len(given_b):
        raise RuntimeError("both dimension lists should have same length")
    _check_dtypes(a, b, "both inputs should have same dtype")
    first = [normalise_axis(axis, a.ndim) for axis in given_a]
    second = [normalise_axis(axis, b.ndim) for axis in given_b]
    for axis_a, axis_b, dim_a, dim_b in zip(first, second, given_a, given_b, strict=True):
        lengths = a.shape[axis_a], b.shape[axis_b]
        if 1 not in lengths and lengths[0] != lengths[1]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {lengths[0]} in dim {dim_a} and second has size "
                f"{lengths[1]} in dim {dim_b}"
            )
        if lengths[0] == 1 != lengths[1]:
            b = _in(reduce_sum(b, axes=(axis_b,), keepdims=True), b.dtype)
        elif lengths[1] == 1 != lengths[0]:
            a = _in(reduce_sum(a, axes=(axis_a,), keepdims=True), a.dtype)
    start = here()
    shape_a, shape_b = tuple(a.shape), tuple(b.shape)
    free_a = [axis for axis in range(a.ndim) if axis not in first]
    free_b = [axis for axis in range(b.ndim) if axis not in second]
    inside = product_of([shape_a[axis] for axis in first])
    rows, columns = product_of([shape_a[axis] for axis in free_a]), product_of([shape_b[axis] for axis in free_b])
    left = reshape(permute(a, axes=(*free_a, *first)), shape=(rows, inside))
    right = reshape(permute(b, axes=(*second, *free_b)), shape=(inside, columns))
    shape = tuple([shape_a[axis] for axis in free_a] + [shape_b[axis] for axis in free_b])
    return show("ViewBackward0", reshape(record(matmul_row, (left, right)), shape=shape), start)


def _paired_dims(a: Any, b: Any, dims: Any) -> tuple[Sequence[int], Sequence[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        return (first, second) if isinstance(first, (tuple, list)) else ([first], [second])
    if not isinstance(dims, int):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(
            f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}, ndim_a={a.ndim} ndim_b={b.ndim}"
        )
    return list(range(-dims, 0)), list(range(dims))


__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "ger", "inner", "matmul", "mm", "mv", "outer",
    "tensordot", "vdot",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name != "tensordot"}
METHODS.update(in_place_methods("addbmm", METHODS))
METHODS.update(
    addmm_=_in_place(addmm, _OTHER_SIZE),
    addmv_=_in_place(addmv, _OTHER_SIZE),
    addr_=_in_place(addr, "2D tensor expected, got {2}D tensor for input"),
    baddbmm_=_in_place(baddbmm, _OTHER_SIZE),
)
METHODS.update(__matmul__=_left_operator, __rmatmul__=_right_operator)
