"""Batching rules that many primitives share, and the sample operands of elementwise ones.

A batching rule gets the primitive, its operands with the batch dimension moved to the front (of those that have one),
which operands have one, and the static parameters; it returns the result (or a tuple), batch dimension in front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def elementwise(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """Line up the logical dimensions behind the batch dimension, and apply the primitive."""
    from .movement import reshape  # movement declares its rows with this module

    logical = [operand.ndim - has if hasattr(operand, "ndim") else 0 for operand, has in zip(operands, batched, strict=True)]
    deepest = max(logical)
    aligned = []
    for operand, has, ndim in zip(operands, batched, logical, strict=True):
        if has and ndim < deepest:
            shape = tuple(operand.shape)
            operand = reshape(operand, shape=(shape[0], *[1] * (deepest - ndim), *shape[1:]))
        aligned.append(operand)
    return primitive(*aligned, **parameters)


def leading(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """For primitives that treat leading dimensions as a batch already, and have one operand."""
    return primitive(*operands, **parameters)


def shifted_axis(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """For primitives that work along the (normalised) parameter ``axis``: the same axis, behind the batch dimension.

    Tensor operands without a batch dimension get one. A 0-d element counts as one of length 1.
    """
    operands, size, ndim = with_batch_dimension(operands, batched)
    axis = parameters.pop("axis")
    if ndim:
        return primitive(*operands, axis=axis + 1, **parameters)
    columns = [reshaped(operand, (size, 1)) if is_tensor(operand) else operand for operand in operands]
    results = primitive(*columns, axis=1, **parameters)
    if isinstance(results, tuple):
        return tuple([reshaped(result, (size,)) for result in results])
    return reshaped(results, (size,))


def shifted_axes(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """For primitives that work along the (normalised) parameter ``axes``: the same axes, behind the batch dimension.

    Tensor operands without a batch dimension get one; ``axes`` None stands for all of an element's axes.
    """
    operands, _, ndim = with_batch_dimension(operands, batched)
    axes = parameters.pop("axes")
    shifted = range(1, ndim + 1) if axes is None else [axis + 1 for axis in axes]
    return primitive(*operands, axes=tuple(shifted), **parameters)


def with_batch_dimension(operands: Sequence[Any], batched: Sequence[bool]) -> tuple[list[Any], int, int]:
    """Expand the tensor operands without a batch dimension; return operands, batch size and the first one's logical ndim."""
    size = batch_size(operands, batched)
    result = [
        expanded(operand, (size, *operand.shape)) if is_tensor(operand) and not has else operand
        for operand, has in zip(operands, batched, strict=True)
    ]
    ndim = next(operand.ndim - 1 for operand in result if is_tensor(operand))
    return result, size, ndim


def batch_size(operands: Sequence[Any], batched: Sequence[bool]) -> int:
    """Return the length of the batch dimension."""
    size: int = next(operand.shape[0] for operand, has in zip(operands, batched, strict=True) if has)
    return size


def is_tensor(operand: Any) -> bool:
    """Whether an operand is a tensor and not a Python number."""
    return hasattr(operand, "ndim")


def reshaped(operand: Any, shape: tuple[int, ...]) -> Any:
    """Record `reshape`, where the shape differs."""
    from .movement import reshape

    return operand if tuple(operand.shape) == shape else reshape(operand, shape=shape)


def expanded(operand: Any, shape: tuple[int, ...]) -> Any:
    """Record `expand`."""
    from .movement import expand  # movement declares its rows with this module

    return expand(operand, shape=shape)


def batch_positions(size: int, ndim: int) -> Any:
    """Return each element's place in the batch, as an index tensor of `ndim` dimensions."""
    from .. import dtypes
    from ..tape.types import make_type
    from ..tensor import Tensor

    shape = (size, *[1] * (ndim - 1))
    return Tensor._wrap(np.arange(size).reshape(shape), make_type(dtypes.int64, shape))


def unrolled(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """Apply the primitive to each element of the batch, and stack: right for every primitive, and slow."""
    from .movement import concatenate, reshape, slice_axis

    size = next(operand.shape[0] for operand, has in zip(operands, batched, strict=True) if has)
    rows = []
    for index in range(size):
        row = [
            reshape(slice_axis(operand, index, axis=0, length=1, step=1), shape=tuple(operand.shape[1:])) if has else operand
            for operand, has in zip(operands, batched, strict=True)
        ]
        results = primitive(*row, **parameters)
        rows.append(results if isinstance(results, tuple) else (results,))
    stacked = tuple(
        concatenate(*[reshape(part, shape=(1, *part.shape)) for part in parts], axis=0) for parts in zip(*rows, strict=True)
    )
    return stacked if primitive.results > 1 else stacked[0]


def grid(*shape: int) -> Any:
    """Return an array of distinct values to sample with."""
    return (np.arange(math.prod(shape)) - 3.0).reshape(shape)


def elementwise_samples(sample: Callable[..., Any], operands: int, domain: Any) -> list[Any]:
    """Return operands drawn from the domain: equal shapes, broadcast, 0-d, empty and non-contiguous."""
    random = np.random.default_rng(0)
    domains = domain if isinstance(domain[0], tuple) else (domain,) * operands
    shape_sets: list[list[tuple[int, ...]]] = [[(3, 4)] * operands, [()] * operands, [(0, 3)] * operands]
    if operands > 1:
        shape_sets += [[(3, 4), (4,), (3, 1)][:operands], [(2, 1), (1, 3), ()][:operands], [(), (3,), (2, 1)][:operands]]
    samples = [
        sample(*[random.uniform(low, high, shape) for shape, (low, high) in zip(shapes, domains, strict=False)])
        for shapes in shape_sets
    ]
    samples.append(sample(*[random.uniform(low, high, (4, 6)).T[::2] for low, high in domains[:operands]]))
    return samples
