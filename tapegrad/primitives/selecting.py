"""What rows share that choose elements along an axis, such as max, sort and median: values, and the indices they are at.

The values' derivative goes to the chosen elements, and only there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import zeros
from ..tape.types import Shape, Type
from . import batching
from .declare import Primitive, Sample, other
from .type_rules import reduced_shape


def require_nonempty(name: str, t: Type, axes: Sequence[int]) -> None:
    """Raise PyTorch's IndexError for a reduction without identity over an axis of length 0."""
    for axis in axes:
        if t.ndim and t.shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def refuse(kernel: str, t: Type, *categories: int) -> None:
    """Raise PyTorch's NotImplementedError for a dtype of these categories, which it has no kernel for."""
    if t.dtype.category in categories:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'")


def with_reduced_axes(tensor: Any, shape: Shape, axes: Sequence[int]) -> Any:
    """Return a reduction's result (or its cotangent) with the reduced axes of an operand of this shape put back, of length 1."""
    return batching.reshaped(tensor, reduced_shape(shape, axes, True))


def accepting_0d(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a NumPy function along an axis work on a 0-d array: as on a vector of length 1."""

    @functools.wraps(function)
    def lifted(a: Any, **parameters: Any) -> Any:
        a = np.asarray(a)
        if a.ndim:
            return function(a, **parameters)
        results = function(a.reshape(1), **parameters)
        if isinstance(results, tuple):
            return tuple([result.reshape(()) for result in results])
        return results.reshape(())

    return lifted


def chosen(a: Any, indices: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
    """Return the values at indices that have the reduced axis still, and the indices."""
    values = np.take_along_axis(a, indices, axis)
    return (values, indices) if keepdims else (values.squeeze(axis), indices.squeeze(axis))


def reduced_with_index(name: str, a: Type, axis: int, keepdims: bool) -> Any:
    """Type rule: a value and an index for each line along the axis."""
    require_nonempty(name, a, (axis,))
    shape = reduced_shape(a.shape, (axis,), keepdims)
    return (a.dtype, shape), (dtypes.int64, shape)


def _scatter_back(g: Any, index: Any, operand: Type, axis: int) -> Any:
    """Return the cotangent of the operand that elements were chosen from."""
    if operand.ndim == 0:
        return batching.reshaped(g, ())
    from .gathering import scatter_add

    return scatter_add(zeros(operand.shape, operand.dtype), index, g, axis=axis)


def _choose(tangent: Any, index: Any, axis: int) -> Any:
    """Return the tangent of the chosen elements."""
    if tangent.ndim == 0:
        return tangent
    from .gathering import gather

    return gather(tangent, index, axis=axis)


def _reducing_vjp(g: Any, r1: Any, types: Any, axis: int) -> Any:
    shape = types[0].shape
    values, index = [with_reduced_axes(tensor, shape, (axis,)) for tensor in (g[0], r1)]
    return _scatter_back(values, index, types[0], axis)


def _reducing_jvp(g: Any, r1: Any, types: Any, axis: int) -> Any:
    index = with_reduced_axes(r1, types[0].shape, (axis,))
    return batching.reshaped(_choose(g[0], index, axis), tuple(r1.shape)), None


def _along_vjp(g: Any, r1: Any, types: Any, axis: int) -> Any:
    return _scatter_back(g[0], r1, types[0], axis)


def _along_jvp(g: Any, r1: Any, axis: int) -> Any:
    return _choose(g[0], r1, axis), None


def reducing(
    name: str,
    numpy: Callable[..., Any],
    *,
    parameters: Sequence[str] = ("axis", "keepdims"),
    type_rule: Callable[..., Any],
    torch: Callable[..., Any],
    samples: Callable[[], list[Sample]],
    grad_name: str | None = None,
) -> Primitive:
    """Declare a row that chooses one element of each line along the parameters ``axis`` and ``keepdims``."""
    return other(
        name,
        accepting_0d(numpy),
        type_rule,
        vjp=_reducing_vjp,
        jvp=_reducing_jvp,
        parameters=parameters,
        results=2,
        batch=batching.shifted_axis,
        samples=samples,
        torch=torch,
        grad_name=grad_name,
    )


def along(
    name: str,
    numpy: Callable[..., Any],
    *,
    parameters: Sequence[str] = ("axis",),
    type_rule: Callable[..., Any],
    torch: Callable[..., Any],
    samples: Callable[[], list[Sample]],
    grad_name: str | None = None,
) -> Primitive:
    """Declare a row that chooses several elements of each line along the parameter ``axis``."""
    return other(
        name,
        accepting_0d(numpy),
        type_rule,
        vjp=_along_vjp,
        jvp=_along_jvp,
        parameters=parameters,
        results=2,
        batch=batching.shifted_axis,
        samples=samples,
        torch=torch,
        grad_name=grad_name,
    )
