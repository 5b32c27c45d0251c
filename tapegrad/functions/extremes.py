"""The largest and smallest elements, and where they are."""

from __future__ import annotations

from typing import Any

from ..primitives import reductions as rows
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..return_types import return_type
from ..tape.record import record
from ..tensor import Tensor
from .arguments import is_integer
from .declare import accepts_out, require_tensor, wrong_type
from .reductions import Dim

_max_type = return_type("max", ("values", "indices"))
_min_type = return_type("min", ("values", "indices"))
_aminmax_type = return_type("aminmax", ("min", "max"))


def _require_elements(name: str, type_: Any) -> None:
    """Raise for the extreme of nothing at all."""
    if type_.numel == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
            "argument."
        )


@accepts_out
def amax(input: Any, dim: Dim = (), keepdim: bool = False) -> Any:
    """Return the largest elements over `dim`; the gradient is shared equally among ties.

    >>> import tapegrad
    >>> tapegrad.amax(tapegrad.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    tensor([5., 7.])
    """
    return _extreme("amax", rows.reduce_max, input, dim, keepdim)


@accepts_out
def amin(input: Any, dim: Dim = (), keepdim: bool = False) -> Any:
    """Return the smallest elements over `dim`; the gradient is shared equally among ties."""
    return _extreme("amin", rows.reduce_min, input, dim, keepdim)


def _extreme(name: str, primitive: Any, input: Any, dim: Dim, keepdim: bool) -> Any:
    type_ = require_tensor(name, input)._node.type
    if dim is None or dim == ():
        _require_elements(name, type_)
    return record(primitive, (input,), (normalise_axes(dim, type_.ndim), keepdim))


@accepts_out
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the smallest and largest elements, over one dimension or all."""
    type_ = require_tensor("aminmax", input)._node.type
    if type_.dtype.is_complex:
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{type_.dtype.title}'")
    if dim is None and type_.numel == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axes = normalise_axes(dim, type_.ndim)
    if any(type_.shape[axis] == 0 for axis in axes):
        raise IndexError(f"aminmax: Expected reduction dim {axes[0]} to have non-zero size.")
    return _aminmax_type(
        [record(primitive, (input,), (axes, keepdim), "AminmaxBackward0") for primitive in (rows.reduce_min, rows.reduce_max)]
    )


@accepts_out
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return the largest element, or with `dim` the largest along it and where they are; of two tensors, the larger.

    >>> import tapegrad
    >>> tapegrad.max(tapegrad.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1).indices
    tensor([1, 0])
    """
    from .elementwise import maximum

    return _max_or_min("max", rows.reduce_max, rows.max_with_index, maximum, _max_type, input, dim, keepdim, other)


@accepts_out
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return the smallest element, or with `dim` the smallest along it and where they are; of two tensors, the smaller."""
    from .elementwise import minimum

    return _max_or_min("min", rows.reduce_min, rows.min_with_index, minimum, _min_type, input, dim, keepdim, other)


def _max_or_min(
    name: str, whole: Any, along: Any, pairwise: Any, fields: Any, input: Any, dim: Any, keepdim: bool, other: Any
) -> Any:
    type_ = require_tensor(name, input)._node.type
    if other is not None or isinstance(dim, Tensor):
        return pairwise(input, dim if other is None else other)
    if dim is None:
        _require_elements(name, type_)
        if type_.dtype.is_complex:
            raise NotImplementedError(f"\"{name}_all\" not implemented for '{type_.dtype.title}'")
        return record(whole, (input,), (tuple(range(type_.ndim)), False), f"{name.capitalize()}Backward1")
    if not is_integer(dim):
        raise wrong_type(name, "dim", 2, "int", dim)
    axis = normalise_axis(dim, type_.ndim)
    return fields(record(along, (input,), (axis, keepdim), f"{name.capitalize()}Backward0"))


@accepts_out
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the largest element: along `dim`, or in the flattened tensor.

    >>> import tapegrad
    >>> tapegrad.argmax(tapegrad.tensor([[1.0, 5.0], [7.0, 2.0]]))
    tensor(2)
    """
    return _position("argmax", rows.argmax, input, dim, keepdim)


@accepts_out
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the smallest element: along `dim`, or in the flattened tensor."""
    return _position("argmin", rows.argmin, input, dim, keepdim)


def _position(name: str, primitive: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    type_ = require_tensor(name, input)._node.type
    if dim is not None:
        return record(primitive, (input,), (normalise_axis(dim, type_.ndim), keepdim))
    if type_.numel == 0:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return record(primitive, (input,), (None, keepdim))


__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "min",
]

METHODS = {name: globals()[name] for name in __all__}
