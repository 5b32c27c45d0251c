"""Elements filled, selected or replaced where a mask is true."""

from __future__ import annotations

from typing import Any

from ..primitives import masking as rows
from ..tape.buffers import is_concrete
from ..tape.record import look_at, record
from ..tensor import Tensor
from .declare import accepts_out, operand, require_tensor
from .in_place import in_place_method, in_place_methods
from .indexing import getitem, setitem
from .indexing import masked_select as select_masked


def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """Return a copy with a number (or 0-d tensor) where the mask is true.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0, -2.0])
    >>> tapegrad.masked_fill(x, x < 0, 0.0)
    tensor([1., 0.])
    """
    require_tensor("masked_fill", input)
    require_tensor("masked_fill", mask, "mask", 2)
    name = "MaskedFillBackward1" if isinstance(value, Tensor) else "MaskedFillBackward0"
    return record(rows.masked_fill, (input, mask, operand("masked_fill", value, "value", 3)), (), name)


@accepts_out
def masked_select(input: Any, mask: Any) -> Any:
    """Return the elements where the mask is true, as a vector. The mask is read at once.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0, -2.0, 3.0])
    >>> tapegrad.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    return select_masked(require_tensor("masked_select", input), require_tensor("masked_select", mask, "mask", 2))


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """Return a copy with the elements where the mask is true replaced by those of `source`, one after the other."""
    require_tensor("masked_scatter", input)
    require_tensor("masked_scatter", mask, "mask", 2)
    result = rows.masked_scatter(input, mask, require_tensor("masked_scatter", source, "source", 3))
    if is_concrete(mask) and not mask._is_stale:
        rows.check_count(look_at(mask), tuple(result.shape), source._node.type.numel)
    return result


def _masked_scatter_here(self: Any, mask: Any, source: Any) -> Any:
    """Return what `masked_scatter` does, of a mask with no more dimensions than the tensor."""
    if mask.ndim > self.ndim:
        raise RuntimeError(
            f"expand(CPU{mask.dtype.title}Type{{{list(mask.shape)}}}, size={list(self.shape)}): the number of sizes provided "
            f"({self.ndim}) must be greater or equal to the number of dimensions in the tensor ({mask.ndim})"
        )
    return masked_scatter(self, mask, source)


__all__ = [
    "masked_fill", "masked_scatter", "masked_select",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS.update(in_place_methods("masked_fill", METHODS), masked_scatter_=in_place_method("masked_scatter_", _masked_scatter_here))
METHODS.update(__getitem__=getitem, __setitem__=setitem)
