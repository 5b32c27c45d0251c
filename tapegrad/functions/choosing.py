"""Elementwise choices: by a condition, within limits, or of what is not finite."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..operators import operand_from
from ..primitives import selection
from ..tape.record import record
from ..tensor import Tensor
from .declare import accepts_out, operand, require_tensor, type_name, write_out
from .in_place import in_place_methods

_BYTE_CONDITION = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. Use a "
    "boolean condition instead."
)


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """Return the elements of `input` where the condition is true, of `other` elsewhere; either may be a number.

    With the condition alone, return the indices of its true elements: one vector for each dimension.

    >>> import tapegrad
    >>> x = tapegrad.tensor([-1.0, 2.0])
    >>> tapegrad.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> tapegrad.where(x > 0)
    (tensor([1]),)
    """
    require_tensor("where", condition, "condition")
    if input is None and other is None:
        from .searching import nonzero

        return nonzero(condition, as_tuple=True)
    if condition.dtype is dtypes.uint8:
        warnings.warn(_BYTE_CONDITION, UserWarning, stacklevel=2)
    result = selection.where(condition, operand("where", input, "input", 2), operand("where", other, "other", 3))
    return result if out is None else write_out("where", out, result, input, other)


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """Return the tensor's elements where the condition is true, those of `other` elsewhere."""
    return where(condition, self, other)


def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Return the elements limited to the interval from `min` to `max` (numbers or tensors; one may be None).

    >>> import tapegrad
    >>> tapegrad.clamp(tapegrad.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    with_tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    if with_tensors and not all(limit is None or isinstance(limit, Tensor) for limit in (min, max)):
        min, max = _as_number(min), _as_number(max)
        with_tensors = False
    name = "ClampBackward0" if with_tensors else "ClampBackward1"
    if max is None:
        result = record(selection.clamp_min, (input, _limit(min)), (), name)
    elif min is None:
        result = record(selection.clamp_max, (input, _limit(max)), (), name)
    else:
        result = record(selection.clamp, (input, _limit(min), _limit(max)), (), name)
    return result if out is None else write_out("clamp", out, result, input, min, max)


clip = clamp


def _as_number(limit: Any) -> Any:
    """Return the number in a 0-d tensor, which may stand beside a number."""
    if not isinstance(limit, Tensor):
        return limit
    if limit.ndim == 0 and not limit.requires_grad:
        return limit.item()
    raise _wrong_limits(limit)


def _limit(limit: Any) -> Any:
    found = operand_from(limit)
    if found is None:
        raise _wrong_limits(limit)
    return found


def _wrong_limits(limit: Any) -> TypeError:
    return TypeError(
        f"clamp() received an invalid combination of arguments - got ({type_name(limit)}), but expected min and max to be "
        "both tensors, or both numbers"
    )


@accepts_out
def clamp_min(input: Any, min: Any) -> Any:
    """Return the elements, at least `min`."""
    name = "ClampMinBackward1" if isinstance(min, Tensor) else "ClampMinBackward0"
    return record(selection.clamp_min, (require_tensor("clamp_min", input), operand("clamp_min", min, "min", 2)), (), name)


@accepts_out
def clamp_max(input: Any, max: Any) -> Any:
    """Return the elements, at most `max`."""
    name = "ClampMaxBackward1" if isinstance(max, Tensor) else "ClampMaxBackward0"
    return record(selection.clamp_max, (require_tensor("clamp_max", input), operand("clamp_max", max, "max", 2)), (), name)


@accepts_out
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Return the elements with NaN and infinities replaced: by 0, and by the dtype's largest and least number.

    >>> import tapegrad
    >>> tapegrad.nan_to_num(tapegrad.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    dtype = require_tensor("nan_to_num", input).dtype
    if dtype.category < dtypes.FLOAT:
        return input.clone()
    if dtype.is_complex and input.requires_grad:
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    largest = _LARGEST[dtype.to_real().name]
    return selection.nan_to_num(
        input,
        0.0 if nan is None else float(nan),
        largest if posinf is None else float(posinf),
        -largest if neginf is None else float(neginf),
    )


_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "nan_to_num", "where",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS["where"] = _where_method
METHODS.update(in_place_methods("clamp clamp_max clamp_min clip nan_to_num", METHODS))
