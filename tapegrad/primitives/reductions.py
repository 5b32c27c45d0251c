"""Reductions: sum, product, extremes, all, any, and where the extremes are.

The static parameter ``axes`` names the (normalised) axes to reduce; a row with ``axis`` reduces one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape, Type
from . import batching
from .declare import Primitive, Sample, linear, other
from .marks import tied
from .selecting import accepting_0d, chosen, reduced_with_index, reducing, refuse, require_nonempty, with_reduced_axes
from .summation import FEW, accumulator, sum_over
from .type_rules import reduced_shape

__all__ = [
    "argmax",
    "argmin",
    "max_with_index",
    "min_with_index",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


def _random(*shape: int) -> Any:
    """Return operands without ties or zeros."""
    return np.random.default_rng(7).uniform(0.5, 2.0, shape) * np.where(np.arange(np.prod(shape)).reshape(shape) % 3, 1, -1)


def _reduction_samples() -> list[Sample]:
    return [
        Sample(_random(3, 4), axes=(1,), keepdims=False),
        Sample(_random(3, 4), axes=(0,), keepdims=True),
        Sample(_random(2, 3, 4), axes=(0, 2), keepdims=False),
        Sample(_random(2, 3, 4), axes=(0, 1, 2), keepdims=True),
        Sample(_random(4, 6).T[::2], axes=(0,), keepdims=False),
        Sample(_random(), axes=(), keepdims=False),
        Sample(_random(0, 3), axes=(1,), keepdims=False),
    ]


def _identity_samples() -> list[Sample]:
    """Of reductions that have an identity: reducing nothing gives it."""
    return [*_reduction_samples(), Sample(_random(0, 3), axes=(0,), keepdims=False)]


# Sum and product


def _widened(a: Type, axes: Shape, keepdims: bool) -> Any:
    """Integers and bool become int64."""
    dtype = dtypes.int64 if a.dtype.category < dtypes.FLOAT else a.dtype
    return dtype, reduced_shape(a.shape, axes, keepdims)


def _spread(g: Any, types: Any, axes: Shape) -> Any:
    """Give each summand the cotangent of its sum."""
    shape = types[0].shape
    return batching.expanded(with_reduced_axes(g, shape, axes), shape)


reduce_sum = linear(
    "reduce_sum",
    lambda a, axes, keepdims: sum_over(a, axes, keepdims),
    _widened,
    transpose=_spread,
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=_identity_samples,
    torch=lambda torch, a, axes, keepdims: torch.sum(a, axes, keepdim=keepdims) if axes else torch.sum(a),
    grad_name="SumBackward0",
)


def _few_floats(types: Sequence[Type], axes: Shape, keepdims: bool) -> Any:
    """Choose NumPy's own sum where it is as accurate: of so few floats that it adds them in one block."""
    (a,) = types
    if a.dtype not in (dtypes.float32, dtypes.float64) or not axes or math.prod([a.shape[axis] for axis in axes]) > FEW:
        return None
    axis = axes[0] if len(axes) == 1 else axes
    return lambda a: np.add.reduce(a, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]  # NumPy takes several axes


reduce_sum.specialise = _few_floats


def _product(a: Any, axes: Shape, keepdims: bool) -> Any:
    a = np.asarray(a)
    working = accumulator(a.dtype)
    result = np.prod(a, axis=axes, dtype=working, keepdims=keepdims)
    return result if a.dtype.kind in "bui" else result.astype(a.dtype, copy=False)


def _others(a: Any, axes: Shape) -> Any:
    """Return, for each factor, the product of the others."""
    from .cumulative import product_of_others
    from .movement import permute

    if len(axes) == 1:
        return product_of_others(a, axes[0])
    shape = tuple(a.shape)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = (*kept, *axes)
    lined_up = tuple([shape[axis] for axis in order])
    lines = batching.reshaped(permute(a, axes=order), (*lined_up[: len(kept)], math.prod(lined_up[len(kept) :])))
    others = batching.reshaped(product_of_others(lines, len(kept)), lined_up)
    return permute(others, axes=tuple([order.index(axis) for axis in range(len(shape))]))


def _prod_vjp(g: Any, a: Any, axes: Shape) -> Any:
    g = with_reduced_axes(g, tuple(a.shape), axes)
    others = _others(a, axes)
    return tied(g * (_conj(others) if a.dtype.is_complex else others), a, "MulBackward0")


def _prod_jvp(g: Any, a: Any, axes: Shape, keepdims: bool) -> Any:
    return reduce_sum(g[0] * _others(a, axes), axes=axes, keepdims=keepdims)


def _conj(tensor: Any) -> Any:
    from .signs import conj

    return conj(tensor)


def _torch_prod(torch: Any, a: Any, axes: Shape, keepdims: bool) -> Any:
    """PyTorch's prod takes one axis."""
    for axis in sorted(axes, reverse=True):
        a = a.prod(axis, keepdim=keepdims)
    return a if axes else a.prod()


reduce_prod = other(
    "reduce_prod",
    _product,
    _widened,
    vjp=_prod_vjp,
    jvp=_prod_jvp,
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=lambda: [*_identity_samples(), Sample(np.array([[0.0, 2.0, 3.0], [0.0, 4.0, 0.0]]), axes=(1,), keepdims=False)],
    torch=_torch_prod,
    grad_name="ProdBackward0",
)


# Extremes. Elements that tie share the cotangent equally.


def _extreme_vjp(g: Any, a: Any, r: Any, axes: Shape) -> Any:
    shape = tuple(a.shape)
    mask, count = _ties(a, r, axes)
    return with_reduced_axes(g, shape, axes) / count * mask


def _extreme_jvp(g: Any, a: Any, r: Any, axes: Shape, keepdims: bool) -> Any:
    mask, count = _ties(a, r, axes)
    total = reduce_sum(g[0] * mask, axes=axes, keepdims=True) / count
    return batching.reshaped(total, tuple(r.shape))


def _ties(a: Any, r: Any, axes: Shape) -> tuple[Any, Any]:
    """Return ones at the elements that equal the extreme, and how many there are."""
    from .casting import cast
    from .comparison import equal

    mask = cast(equal(a, with_reduced_axes(r, tuple(a.shape), axes)), dtype=a.dtype)
    return mask, reduce_sum(mask, axes=axes, keepdims=True)


def _declare_extreme(name: str, ufunc: Any, torch_name: str, kernel_name: str) -> Primitive:
    def type_rule(a: Type, axes: Shape, keepdims: bool) -> Any:
        require_nonempty(torch_name, a, axes)
        if a.numel:
            refuse(f"{kernel_name}_values_cpu", a, dtypes.COMPLEX)
        return a.dtype, reduced_shape(a.shape, axes, keepdims)

    return other(
        name,
        lambda a, axes, keepdims: ufunc.reduce(a, axis=axes, keepdims=keepdims),
        type_rule,
        vjp=_extreme_vjp,
        jvp=_extreme_jvp,
        parameters=("axes", "keepdims"),
        batch=batching.shifted_axes,
        samples=_reduction_samples,
        torch=lambda torch, a, axes, keepdims: getattr(torch, torch_name)(a, axes, keepdim=keepdims),
        grad_name=torch_name.capitalize() + "Backward0",
    )


reduce_max = _declare_extreme("reduce_max", np.maximum, "amax", "max")
reduce_min = _declare_extreme("reduce_min", np.minimum, "amin", "min")


# All and any


def _logical_type(a: Type, axes: Shape, keepdims: bool) -> Any:
    """PyTorch keeps uint8 from the time before it had bool."""
    return a.dtype if a.dtype is dtypes.uint8 else dtypes.bool, reduced_shape(a.shape, axes, keepdims)


def _logical(ufunc: Any) -> Callable[..., Any]:
    def reduce(a: Any, axes: Shape, keepdims: bool) -> Any:
        truth = np.asarray(a) != 0
        result = ufunc.reduce(truth, axis=axes, keepdims=keepdims)
        return result.astype(np.uint8) if a.dtype == np.uint8 else result

    return reduce


def _logical_samples() -> list[Sample]:
    truth = np.array([[True, False, True], [True, True, True]])
    return [
        Sample(truth, axes=(1,), keepdims=False),
        Sample(truth, axes=(0, 1), keepdims=True),
        Sample(truth[:0], axes=(0,), keepdims=False),
        Sample(truth[0, 1], axes=(), keepdims=False),
        Sample(np.array([[0.0, 2.5], [0.0, -0.0]]), axes=(1,), keepdims=False),
        Sample(np.array([[3, 0], [1, 2]]), axes=(1,), keepdims=True),
    ]


reduce_all = other(
    "reduce_all",
    _logical(np.logical_and),
    _logical_type,
    vjp=None,
    jvp=None,
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=_logical_samples,
    torch=lambda torch, a, axes, keepdims: torch.all(a, axes, keepdim=keepdims),
)

reduce_any = other(
    "reduce_any",
    _logical(np.logical_or),
    _logical_type,
    vjp=None,
    jvp=None,
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=_logical_samples,
    torch=lambda torch, a, axes, keepdims: torch.any(a, axes, keepdim=keepdims),
)


# Where the extremes are: the first of equal ones; NaN counts as more extreme than any number


def _index_samples() -> list[Sample]:
    return [
        Sample(_random(3, 4), axis=1, keepdims=False),
        Sample(_random(3, 4), axis=0, keepdims=True),
        Sample(_random(4, 6).T[::2], axis=0, keepdims=False),
        Sample(_random(), axis=0, keepdims=False),
        Sample(_random(0, 3), axis=1, keepdims=True),
    ]


def _arg_samples() -> list[Sample]:
    tied = np.array([[2.0, 5.0, 5.0, 2.0], [2.0, 1.0, 5.0, 1.0]])
    return [
        *_index_samples(),
        Sample(tied, axis=1, keepdims=False),
        Sample(tied, axis=None, keepdims=False),
        Sample(_random(2, 3), axis=None, keepdims=True),
        Sample(_random(), axis=None, keepdims=False),
        Sample(np.array([3, 1, 3]), axis=0, keepdims=False),
    ]


def _flattening_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int | None, keepdims: bool) -> Any:
    """Flattened, each element of the batch is a line."""
    if axis is not None:
        return batching.shifted_axis(primitive, operands, batched, axis=axis, keepdims=keepdims)
    shape = tuple(operands[0].shape)
    lines = batching.reshaped(operands[0], (shape[0], math.prod(shape[1:])))
    indices = primitive(lines, axis=1, keepdims=False)
    return batching.reshaped(indices, (shape[0], *[1] * (len(shape) - 1))) if keepdims else indices


def _declare_position(name: str, numpy: Callable[..., Any]) -> Primitive:
    def type_rule(a: Type, axis: int | None, keepdims: bool) -> Any:
        if a.dtype.is_complex or a.dtype is dtypes.bool:
            raise RuntimeError(f"{name}(): does not support {'complex' if a.dtype.is_complex else 'bool'} input")
        if axis is None and a.numel == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        axes = tuple(range(a.ndim)) if axis is None else (axis,)
        require_nonempty(name, a, axes)
        return dtypes.int64, reduced_shape(a.shape, axes, keepdims)

    def position(a: Any, axis: int | None, keepdims: bool) -> Any:
        return np.asarray(numpy(a, axis=axis, keepdims=keepdims), np.int64)

    return other(
        name,
        accepting_0d(position),
        type_rule,
        vjp=None,
        jvp=None,
        parameters=("axis", "keepdims"),
        batch=_flattening_batch,
        samples=_arg_samples,
        torch=lambda torch, a, axis, keepdims: getattr(torch, name)(a, axis, keepdim=keepdims),
    )


argmax = _declare_position("argmax", np.argmax)
argmin = _declare_position("argmin", np.argmin)


def _declare_choice(name: str, numpy: Callable[..., Any], torch_name: str) -> Primitive:
    def type_rule(a: Type, axis: int, keepdims: bool) -> Any:
        if a.dtype.is_complex:
            raise RuntimeError(f"{torch_name}(): does not support complex input")
        return reduced_with_index(torch_name, a, axis, keepdims)

    def choose(a: Any, axis: int, keepdims: bool) -> Any:
        return chosen(a, numpy(a, axis=axis, keepdims=True), axis, keepdims)

    return reducing(
        name,
        choose,
        type_rule=type_rule,
        samples=_index_samples,
        torch=lambda torch, a, axis, keepdims: getattr(torch, torch_name)(a, axis, keepdim=keepdims),
        grad_name=torch_name.capitalize() + "Backward0",
    )


max_with_index = _declare_choice("max_with_index", np.argmax, "max")
min_with_index = _declare_choice("min_with_index", np.argmin, "min")
