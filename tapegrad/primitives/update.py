"""Updates through views: a tensor, with a view of it replaced.

A chain tells which view. It is a tuple of links, each a view primitive's name, its static parameters as a tuple, and
how many of the numbers are its run-time operands (the start of a slice). Index chains, such as the one below for
``x[2]`` of a (5, 3) tensor, are made by ``functions.indexing``::

    chain = (("select", (0,), 1),)
    numbers = (2,)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tape.constants import zeros
from ..tape.record import read
from ..tape.types import Type, make_type
from . import batching, type_rules
from .declare import TABLE, Sample, other

Link = tuple[str, tuple[Any, ...], int]
Chain = tuple[Link, ...]


def _apply(chain: Chain, value: Any, numbers: Sequence[Any], step: Any) -> Any:
    """Return ``step(primitive, operands, parameters)`` folded over the links."""
    start = 0
    for name, parameters, count in chain:
        primitive = TABLE[name]
        operands = (value, *numbers[start : start + count])
        start += count
        value = step(primitive, operands, dict(zip(primitive.parameters, parameters, strict=True)))
    return value


def apply_chain(tensor: Any, chain: Chain, numbers: Sequence[Any], name: str | None = None) -> Any:
    """Record the view of a tensor; `name` is the one that ``grad_fn`` shows for its last link."""
    if not chain:
        return tensor
    body, last = chain[:-1], chain[-1:]
    split = len(numbers) - last[0][2]
    value = _apply(body, tensor, numbers[:split], lambda primitive, operands, parameters: primitive(*operands, **parameters))
    return _apply(
        last, value, numbers[split:], lambda primitive, operands, parameters: primitive(*operands, name=name, **parameters)
    )


def apply_chain_to_array(array: Any, chain: Chain, numbers: Sequence[Any]) -> Any:
    """Return the view of a NumPy array (a copy where NumPy has no such view of this layout).

    A position that is a tensor, as in ``x[i]``, is read.
    """
    numbers = [read(number) if hasattr(number, "_node") else number for number in numbers]
    return _apply(chain, array, numbers, lambda primitive, operands, parameters: primitive.numpy(*operands, **parameters))


def chain_type(type_: Type, chain: Chain, numbers: Sequence[Type]) -> Type:
    """Return the type of the view."""

    def step(primitive: Any, types: tuple[Type, ...], parameters: dict[str, Any]) -> Type:
        return make_type(*primitive.type_rule(*types, **parameters))

    view: Type = _apply(chain, type_, numbers, step)
    return view


def _update(x: Any, new: Any, *numbers: Any, chain: Chain) -> Any:
    result = np.array(x, order="K")
    view = apply_chain_to_array(result, chain, numbers)
    if not view.size:
        return result
    if np.may_share_memory(result, view):
        if not view.flags.writeable:  # a view through `expand`
            view.flags.writeable = True
        view[...] = new
    else:  # this layout has no such view: write by position
        positions = apply_chain_to_array(np.arange(result.size).reshape(result.shape), chain, numbers)
        result = np.ascontiguousarray(result)
        result.reshape(-1)[positions] = new
    return result


def _update_type(x: Type, new: Type, *numbers: Type, chain: Chain) -> Any:
    view = chain_type(make_type(x.dtype, x.shape), chain, numbers)
    if view.shape != new.shape or view.dtype is not new.dtype:
        raise RuntimeError(f"update: a view of type {view} cannot be replaced by {new}")
    if view.overlaps:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    return x.dtype, x.shape, x.strides if type_rules.is_dense(x.shape, x.strides) else None


def _update_vjp(g: Any, constants: Any, types: Any, needs: Any, chain: Chain) -> Any:
    old = update(g, zeros(types[1].shape, types[1].dtype), *constants, chain=chain) if needs[0] else None
    new = apply_chain(g, chain, constants) if needs[1] else None
    return (old, new, *[None] * len(constants))


def _update_jvp(g: Any, constants: Any, types: Any, chain: Chain) -> Any:
    old, new = (zeros(t.shape, t.dtype) if tangent is None else tangent for tangent, t in zip(g[:2], types[:2], strict=True))
    return update(old, new, *constants, chain=chain)


# How the parameters of a link change when the tensor gets a batch dimension of a size in front.
BATCHED_LINKS: dict[str, Any] = {
    "reshape": lambda size, shape: ((size, *shape),),
    "permute": lambda size, axes: ((0, *[axis + 1 for axis in axes]),),
    "select": lambda size, axis: (axis + 1,),
    "slice_axis": lambda size, axis, length, step: (axis + 1, length, step),
    "diagonal": lambda size, offset, axis1, axis2: (offset, axis1 + 1, axis2 + 1),
    "unfold": lambda size, axis, window, step: (axis + 1, window, step),
    "alias": lambda size: (),
    "detach": lambda size: (),
    "real": lambda size: (),
    "imag": lambda size: (),
    "view_as_real": lambda size: (),
    "view_as_complex": lambda size: (),
}


def batched_chain(chain: Chain, size: int) -> Chain:
    """Return the chain that views each element of a batch, in front, alike."""
    return tuple([(name, BATCHED_LINKS[name](size, *parameters), count) for name, parameters, count in chain])


def _update_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], chain: Chain) -> Any:
    expanded, size, _ = batching.with_batch_dimension(operands, batched)
    return primitive(*expanded, chain=batched_chain(chain, size))


def _update_samples() -> list[Sample]:
    grid = np.arange(12.0).reshape(3, 4)
    row = (("select", (0,), 1),)
    block = (("slice_axis", (0, 2, 1), 1), ("slice_axis", (1, 2, 2), 1))
    column_as_flat = (("permute", ((1, 0),), 0), ("slice_axis", (0, 1, 1), 1), ("reshape", ((3,),), 0))
    flat = (("permute", ((1, 0),), 0), ("reshape", ((12,),), 0))
    return [
        Sample(grid, np.full(4, 0.5), 2, chain=row),
        Sample(grid, np.array([[1.0, 2.0], [3.0, 4.0]]), 1, 1, chain=block),
        Sample(grid, np.array([7.0, 8.0, 9.0]), 3, chain=column_as_flat),
        Sample(grid.reshape(4, 3).T, np.arange(12.0), chain=flat),
        Sample(grid, np.array([5.0, 6.0, 7.0]), chain=(("diagonal", (1, 0, 1), 0),)),
        Sample(np.array(1.0), np.array(2.0), chain=(("alias", (), 0),)),
        Sample(grid, np.zeros((0, 4)), 1, chain=(("slice_axis", (0, 0, 1), 1),)),
    ]


def _torch_update(torch: Any, x: Any, new: Any, *numbers: Any, chain: Chain) -> Any:
    """Do it by position in PyTorch, in which not every layout has the view."""
    positions = np.array(apply_chain_to_array(np.arange(x.numel()).reshape(x.shape), chain, numbers))
    return x.put(torch.from_numpy(positions), new)


update = other(
    "update",
    _update,
    _update_type,
    vjp=_update_vjp,
    jvp=_update_jvp,
    parameters=("chain",),
    batch=_update_batch,
    samples=_update_samples,
    torch=_torch_update,
    grad_name="torch::autograd::CopySlices",
)
