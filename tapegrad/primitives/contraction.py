"""The matrix product, batched over broadcasting leading dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type, make_type
from . import batching, type_rules
from .declare import Sample, linear

# What C++ calls the dtypes, in PyTorch's error.
_C_NAMES = {
    dtypes.float16: "c10::Half",
    dtypes.bfloat16: "c10::BFloat16",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short int",
    dtypes.int32: "int",
    dtypes.int64: "long int",
    dtypes.bool: "bool",
}
_FLOAT64_INTEGERS = 2**53  # float64 holds every integer up to here
_FEW_MULTIPLICATIONS = 32**3


def multiply_matrices(a: Any, b: Any) -> Any:
    """Return the (batched) matrix product of two arrays of one dtype, in that dtype."""
    if is_half(a):
        return multiply_matrices(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if a.dtype.kind in "iu":
        return _multiply_integers(a, b)
    if a.shape[-1] == 1:
        return np.multiply(a, b)  # outer products: BLAS would be slower
    if a.ndim > 2 and b.ndim == 2:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])  # one product instead of many small ones
        return np.matmul(rows, b).reshape(*a.shape[:-1], b.shape[-1])
    return np.matmul(a, b)


def is_half(array: Any) -> bool:
    """Whether the dtype is float16 or bfloat16, whose arithmetic is done in float32."""
    return bool(array.dtype.itemsize == 2 and array.dtype.kind not in "iu")


def _multiply_integers(a: Any, b: Any) -> Any:
    """Multiply exactly (wrapping, as PyTorch does): with BLAS in float64 where no sum can leave its exact integers."""
    if a.size * b.shape[-1] > _FEW_MULTIPLICATIONS and b.size:
        largest = a.shape[-1] * _magnitude(a) * _magnitude(b)
        if largest <= _FLOAT64_INTEGERS:
            return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype)
    return np.matmul(a, b)


def _magnitude(array: Any) -> int:
    return max(int(array.max()), -int(array.min()))


def _type(a: Type, b: Type) -> Any:
    """Check the operands, in PyTorch's order, and return the dtype and shape of the product."""
    lead = type_rules.broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    *_, n, k = a.shape
    *_, k_of_b, m = b.shape
    is_batched = b.ndim > 2
    if k != k_of_b and is_batched:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{math.prod(lead)}, {k}] but got: [{math.prod(lead)}, {k_of_b}]."
        )
    if k != k_of_b:
        rows = math.prod(a.shape[:-1])
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {k_of_b}x{m})")
    if a.dtype is not b.dtype and is_batched:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_C_NAMES[a.dtype]} != {_C_NAMES[b.dtype]}")
    if a.dtype is dtypes.bool and 0 not in (*lead, n, m):
        raise NotImplementedError(f"\"{'bmm' if is_batched else 'addmm_impl_cpu_'}\" not implemented for 'Bool'")
    return a.dtype, (*lead, n, m)


def _transpose_left(g: Any, b: Any, types: tuple[Type, Type]) -> Any:
    """Return ``g @ b^T``; where only b is batched, with the sum over the batch inside the product."""
    from .movement import permute, reshape

    if types[0].ndim == types[1].ndim == 2:
        return matmul_nt(g, b)
    if types[0].ndim > 2 or types[1].ndim == 2:
        return matmul(g, _transposed(b))
    last = g.ndim - 1
    rows = permute(g, axes=(last - 1, *range(last - 1), last))
    n, k = types[0].shape
    summed = math.prod(types[1].shape[:-2]) * types[1].shape[-1]
    return matmul(reshape(rows, shape=(n, summed)), reshape(_transposed(b), shape=(summed, k)))


def _transpose_right(g: Any, a: Any, types: tuple[Type, Type]) -> Any:
    """Return ``a^T @ g``; where only a is batched, with the sum over the batch inside the product."""
    from .movement import reshape

    if types[0].ndim == types[1].ndim == 2:
        return matmul_tn(a, g)
    if types[1].ndim > 2 or types[0].ndim == 2:
        return matmul(_transposed(a), g)
    summed = math.prod(types[0].shape[:-1])
    k, m = types[1].shape
    return matmul(_transposed(reshape(a, shape=(summed, k))), reshape(g, shape=(summed, m)))


def _transposed(matrices: Any) -> Any:
    """Swap the last two dimensions."""
    from .movement import permute

    last = matrices.ndim - 1
    return permute(matrices, axes=(*range(last - 1), last, last - 1))


def _samples() -> list[Sample]:
    random = np.random.default_rng(0)
    shapes = [((3, 4), (4, 2)), ((1, 3), (3, 1)), ((3, 1), (1, 2)), ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2))]
    shapes += [((2, 3, 4), (2, 4, 2)), ((2, 1, 3, 2), (3, 2, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 0, 3), (3, 0))]
    samples = [Sample(random.standard_normal(a), random.standard_normal(b)) for a, b in shapes]
    whole = random.standard_normal((6, 6))
    samples.append(Sample(whole[::2, ::-1], whole.T))
    samples.append(Sample(np.broadcast_to(whole[0], (2, 6)), whole[:, ::3]))
    return samples


matmul: Any = linear(
    "matmul",
    multiply_matrices,
    _type,
    transpose=(_transpose_left, _transpose_right),
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a, b: torch.matmul(a, b),
    grad_name="MmBackward0",
)


# Products of matrices of which one is transposed. Together with matmul they are closed under differentiation, so that a
# linear layer and its reverse sweep are one record a product.


def _nt_type(a: Type, b: Type) -> Any:
    return _type(a, make_type(b.dtype, b.shape[::-1]))


def _tn_type(a: Type, b: Type) -> Any:
    return _type(make_type(a.dtype, a.shape[::-1]), b)


def _nt_batch(primitive: Any, operands: Any, batched: Any) -> Any:
    a, b = operands
    return matmul(a, _transposed(b))


def _tn_batch(primitive: Any, operands: Any, batched: Any) -> Any:
    a, b = operands
    return matmul(_transposed(a), b)


matmul_nt: Any = linear(
    "matmul_nt",
    lambda a, b: multiply_matrices(a, b.T),
    _nt_type,
    transpose=(lambda g, b: matmul(g, b), lambda g, a: matmul_tn(g, a)),
    batch=_nt_batch,
    samples=lambda: [Sample(s.operands[0], s.operands[1].T) for s in _samples() if s.operands[0].ndim == s.operands[1].ndim == 2],
    torch=lambda torch, a, b: torch.matmul(a, b.mT),
    grad_name="MmBackward0",
)

matmul_tn: Any = linear(
    "matmul_tn",
    lambda a, b: multiply_matrices(a.T, b),
    _tn_type,
    transpose=(lambda g, b: matmul_nt(b, g), lambda g, a: matmul(a, g)),
    batch=_tn_batch,
    samples=lambda: [Sample(s.operands[0].T, s.operands[1]) for s in _samples() if s.operands[0].ndim == s.operands[1].ndim == 2],
    torch=lambda torch, a, b: torch.matmul(a.mT, b),
    grad_name="MmBackward0",
)


def _of_matrices(product: Any) -> Any:
    """Return what chooses this product for two matrices of floats, which BLAS multiplies with no further question."""

    def specialise(a: Type, b: Type) -> Any:
        plain = a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.dtype in _BLAS
        return product if plain and a.numel and b.numel else None

    return lambda types: specialise(*types)


_BLAS = (dtypes.float32, dtypes.float64)

matmul.specialise = _of_matrices(np.dot)
matmul_nt.specialise = _of_matrices(lambda a, b: np.dot(a, b.T))
matmul_tn.specialise = _of_matrices(lambda a, b: np.dot(a.T, b))
