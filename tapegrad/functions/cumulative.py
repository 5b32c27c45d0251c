"""Running sums, products and extremes; differences, integrals and gradients of sampled functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import cumulative as rows
from ..primitives.arithmetic import div, mul
from ..primitives.casting import cast
from ..primitives.comparison import logical_xor
from ..primitives.concatenation import concatenate
from ..primitives.movement import alias, reshape, slice_axis
from ..primitives.reductions import reduce_sum
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..return_types import return_type
from ..tape.record import record
from ..tensor import Tensor
from .declare import accepts_names, accepts_out, require_tensor
from .in_place import in_place_methods
from .reductions import in_dtype

_cummax_type = return_type("cummax", ("values", "indices"))
_cummin_type = return_type("cummin", ("values", "indices"))


def _axis(name: str, input: Any, dim: int) -> int:
    return normalise_axis(dim, require_tensor(name, input)._node.type.ndim)


# Running


@accepts_out
def cumsum(input: Any, dim: int, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the sums of the elements up to each one along `dim`.

    >>> import tapegrad
    >>> tapegrad.cumsum(tapegrad.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return _running("cumsum", rows.cumsum, input, dim, dtype)


@accepts_out
def cumprod(input: Any, dim: int, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the products of the elements up to each one along `dim`."""
    return _running("cumprod", rows.cumprod, input, dim, dtype)


def _running(name: str, primitive: Any, input: Any, dim: int, dtype: dtypes.dtype | None) -> Any:
    axis = _axis(name, input, dim)
    return in_dtype(input, dtype, lambda input: record(primitive, (input,), (axis,)), primitive.grad_name)


@accepts_out
def logcumsumexp(input: Any, dim: int) -> Any:
    """Return the logarithms of the running sums of the exponentials."""
    axis = _axis("logcumsumexp", input, dim)
    return record(rows.logcumsumexp, (input,), (axis,))


@accepts_out
def cummax(input: Any, dim: int) -> Any:
    """Return the largest element up to each one along `dim`, and its index (the last of equal ones)."""
    axis = _axis("cummax", input, dim)
    return _cummax_type(record(rows.cummax, (input,), (axis,)))


@accepts_out
def cummin(input: Any, dim: int) -> Any:
    """Return the smallest element up to each one along `dim`, and its index (the last of equal ones)."""
    axis = _axis("cummin", input, dim)
    return _cummin_type(record(rows.cummin, (input,), (axis,)))


# Differences and integrals


def _part(tensor: Any, axis: int, start: int, length: int) -> Any:
    return slice_axis(tensor, start, axis=axis, length=max(length, 0), step=1)


@accepts_out
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the `n`-th differences of neighbours along `dim`, of the input with what is to be put before and after it.

    >>> import tapegrad
    >>> tapegrad.diff(tapegrad.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if require_tensor("diff", input).ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = normalise_axis(dim, input.ndim)
    if n == 0:
        return record(alias, (input,), (), "CopyBackwards")
    parts = [part for part in (prepend, input, append) if part is not None]
    for part in parts:
        if part.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for part in parts:
        for at in range(input.ndim):
            if at != axis and part.shape[at] != input.shape[at]:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                    f"dimension; input.size({at}) = {input.shape[at]}, but got tensor.size({at}) = {part.shape[at]}"
                )
    result = input if len(parts) == 1 else concatenate(*parts, axis=axis)
    for _ in range(min(n, max(result.shape[axis], 1))):
        length = result.shape[axis] - 1
        later, earlier = _part(result, axis, min(1, length + 1), length), _part(result, axis, 0, length)
        result = logical_xor(later, earlier) if result.dtype is dtypes.bool else later - earlier
    return result


def _sample_positions(name: str, y: Any, x: Any, axis: int) -> Any:
    """Return the positions of the samples in a shape that broadcasts with the samples."""
    if x.ndim == 1 and y.ndim != 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return reshape(x, shape=tuple([x.shape[0] if place == axis else 1 for place in range(y.ndim)]))
    if x.ndim < y.ndim:
        return reshape(x, shape=(1,) * (y.ndim - x.ndim) + tuple(x.shape))
    return x


def _neighbours(tensor: Any, axis: int) -> tuple[Any, Any]:
    length = tensor.shape[axis] - 1
    return _part(tensor, axis, min(1, length + 1), length), _part(tensor, axis, 0, length)


def _trapezoids(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, Any, int]:
    """Return twice the areas under the samples (over `dx` where it is a number), that number or None, and the axis."""
    if require_tensor(name, y, "y").ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalise_axis(dim, y.ndim)
    if y.dtype is dtypes.bool or isinstance(x, Tensor) and x.dtype is dtypes.bool:
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    later, earlier = _neighbours(y, axis)
    if x is None:
        return later + earlier, dx, axis
    positions = _sample_positions(name, y, require_tensor(name, x, "x", 2), axis)
    after, before = _neighbours(positions, positions.ndim - y.ndim + axis)
    return (after - before) * (later + earlier), None, axis


@accepts_names
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Return the integral along `dim` of samples at the positions `x`, or `dx` apart, by the trapezoidal rule.

    >>> import tapegrad
    >>> tapegrad.trapezoid(tapegrad.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    if not isinstance(x, Tensor) and x is not None:
        x, dx = None, x
    areas, apart, axis = _trapezoids("trapezoid", y, x, dx, dim)
    total = reduce_sum(areas, axes=(axis,), keepdims=False)
    if apart is None:
        return record(div, (total, 2.0), (), "DivBackward1")
    return record(mul, (total, apart / 2), (), "MulBackward1")


@accepts_names
def trapz(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Return what `trapezoid` does."""
    return trapezoid(y, x, dx=dx, dim=dim)


@accepts_names
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Return the integrals up to each sample but the first, by the trapezoidal rule."""
    if not isinstance(x, Tensor) and x is not None:
        x, dx = None, x
    areas, apart, axis = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    if apart is None:
        return record(div, (rows.cumsum(areas, axis=axis), 2.0), (), "DivBackward1")
    return rows.cumsum(areas * (apart / 2), axis=axis)


# Gradients of sampled functions


@accepts_names
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Return estimates of the derivatives along dimensions of a function from its samples.

    `spacing` is how far the samples are apart: a number, one for each dimension, or a vector of positions for each.

    >>> import tapegrad
    >>> tapegrad.gradient(tapegrad.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    ndim = require_tensor("gradient", input).ndim
    dims = range(ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [normalise_axis(axis, ndim) for axis in dims]
    spacings = _spacings(1 if spacing is None else spacing, len(axes), dim is not None)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    normalise_axes(axes, ndim)  # raises for one that appears twice
    for axis in axes:
        if input.shape[axis] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if input.dtype.category < dtypes.FLOAT:
        input = cast(input, dtype=dtypes.get_default_dtype())
    return tuple([_gradient(input, axis, apart, edge_order) for axis, apart in zip(axes, spacings, strict=True)])


def _spacings(spacing: Any, count: int, has_dim: bool) -> Sequence[Any]:
    if not isinstance(spacing, (tuple, list)):
        return [spacing] * count
    if len(spacing) != count and has_dim:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, "
            f"but got a spacing argument of length {len(spacing)} and a dim argument of length {count}."
        )
    if len(spacing) != count:
        kind = "tensors" if spacing and isinstance(spacing[0], Tensor) else "spacing"
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {count}', "
            f"since dim argument was not given, but got a list of length {len(spacing)} of {kind}"
        )
    return spacing


def _gradient(y: Any, axis: int, apart: Any, edge_order: int) -> Any:
    """Return the derivative along one axis: central differences inside, one-sided ones at both ends."""
    length = y.shape[axis]
    if isinstance(apart, Tensor):
        shape = tuple([length if place == axis else 1 for place in range(y.ndim)])
        steps = diff(reshape(apart, shape=shape), dim=axis)
    else:
        steps = None
    before, middle, after = [_part(y, axis, start, length - 2) for start in range(3)]
    if steps is None:
        inside = (after - before) / (2 * apart)
    else:
        left, right = _part(steps, axis, 0, length - 2), _part(steps, axis, 1, length - 2)
        inside = (
            before * (-right / (left * (left + right)))
            + middle * ((right - left) / (left * right))
            + after * (left / (right * (left + right)))
        )
    ends = [_edge(y, axis, apart if steps is None else steps, edge_order, last) for last in (False, True)]
    return concatenate(ends[0], inside, ends[1], axis=axis)


def _edge(y: Any, axis: int, steps: Any, edge_order: int, last: bool) -> Any:
    """Return the one-sided derivative at the first or the last sample."""
    length = y.shape[axis]
    sign = -1 if last else 1
    outer, inner, third = [_part(y, axis, length - 1 - place if last else place, 1) for place in range(3 if edge_order == 2 else 2)] + (
        [None] if edge_order == 1 else []
    )
    if isinstance(steps, Tensor):
        first = _part(steps, axis, length - 2 if last else 0, 1)
        second = _part(steps, axis, length - 3 if last else 1, 1) if edge_order == 2 else None
    else:
        first = second = steps
    if edge_order == 1:
        return (inner - outer) / first * sign
    total = first + second
    return (
        outer * (-(first + total) / (first * total)) + inner * (total / (first * second)) + third * (-first / (second * total))
    ) * sign


__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "gradient", "logcumsumexp", "trapezoid",
    "trapz",
]

METHODS: dict[str, Any] = {
    name: globals()[name] for name in ("cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp")
}
METHODS.update(in_place_methods("cumprod cumsum", METHODS))
