"""The operators' path onto the tape: the few instructions that run for each `a * b` of a repeated program.

An operator looks whether the trace's next node is this very record (the same primitive, the operands' nodes): then it
appends, and nothing else is looked at. All else (first time, another operand, a full segment) is `record`'s.
There must be no call between reading the segment's node and appending (see tape/record.py).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from . import dtypes
from .tape.record import record
from .tape.segment import state
from .tape.trace import NUMBERS

new_tensor: Callable[[], Any] = object  # tensor.py puts its own here
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # of a Python int that can be an operand


def primitive_from(source: Any) -> Any:
    """Return the primitive that a source names ("family.name", loaded when first asked for), or that it is."""
    if not isinstance(source, str):
        return source
    family, _, name = source.partition(".")
    return getattr(import_module(f"tapegrad.primitives.{family}"), name)


def binary(source: Any, takes_arrays: bool = False) -> Callable[[Any, Any], Any]:
    """Return the method for `self <operator> other`, which records a primitive (see `primitive_from`).

    A NumPy array as `other` is NumPy's to handle (see ``Tensor.__array_wrap__``), unless the operator `takes_arrays`.
    """
    primitive: Any = None

    def operator(self: Any, other: Any) -> Any:
        nonlocal primitive
        result = new_tensor()
        segment = state.segment
        node: Any = segment.node.next
        try:
            if node.primitive is primitive and node.first is self._node and self._segment is segment and not segment.urgent:
                if node.second is other.__class__ and (node.second is not int or _LEAST <= other <= _MOST):  # a run-time input
                    result._segment = segment
                    result._node = segment.node = node
                    segment.values += (other, result)
                    return result
                if node.second is other._node and other._segment is segment:
                    result._segment = segment
                    result._node = segment.node = node
                    segment.values.append(result)
                    return result
        except AttributeError:  # no next node yet, or the other operand is no tensor
            pass
        if primitive is None:
            primitive = primitive_from(source)
        operand = operand_from(other)
        if operand is None and takes_arrays and isinstance(other, np.ndarray):
            from .functions.from_data import as_tensor

            operand = as_tensor(other)
        return NotImplemented if operand is None else record(primitive, (self, operand))

    return operator


def reflected(source: Any, name: str | None = None) -> Callable[[Any, Any], Any]:
    """Return the method for `other <operator> self`."""
    primitive: Any = None

    def operator(self: Any, other: Any) -> Any:
        nonlocal primitive
        result = new_tensor()
        segment = state.segment
        node: Any = segment.node.next
        is_known = node is not None and self._segment is segment and node.key == (primitive, other.__class__, self._node, (), name)
        if is_known and not segment.urgent and (other.__class__ is not int or _LEAST <= other <= _MOST):
            result._segment = segment
            result._node = segment.node = node
            segment.values += (other, result)
            return result
        if primitive is None:
            primitive = primitive_from(source)
        operand = operand_from(other)
        return NotImplemented if operand is None else record(primitive, (operand, self), (), name)

    return operator


def unary(source: Any) -> Callable[[Any], Any]:
    """Return the method for an operator (or function) of one operand."""
    primitive: Any = None

    def operator(self: Any) -> Any:
        nonlocal primitive
        result = new_tensor()
        segment = state.segment
        node: Any = segment.node.next
        is_known = node is not None and node.primitive is primitive and node.first is self._node and self._segment is segment
        if is_known and not segment.urgent:
            result._segment = segment
            result._node = segment.node = node
            segment.values.append(result)
            return result
        if primitive is None:
            primitive = primitive_from(source)
        return record(primitive, (self,))

    return operator


def operand_from(value: Any) -> Any:
    """Return a value as an operand (a tensor or a Python number), or None if it cannot be one."""
    kind = value.__class__
    if hasattr(kind, "_node"):
        return value
    if kind in NUMBERS:
        if kind is int and not _LEAST <= value <= _MOST:
            raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        plain: type = int if isinstance(value, int) else float if isinstance(value, float) else complex
        return plain(value)
    return None


_powers: tuple[Any, ...] = ()  # the primitives integer_power and power, once used


def power(self: Any, exponent: Any) -> Any:
    """``self ** exponent``: a small integer exponent is part of the structure, any other a run-time input."""
    global _powers
    if not _powers:
        _powers = (primitive_from("arithmetic.integer_power"), primitive_from("arithmetic.power"))
    integer_power, general = _powers
    if exponent.__class__ is int and -8 <= exponent <= 8:
        return record(integer_power, (self,), (exponent,))
    if exponent.__class__ is float and exponent.is_integer() and -8 <= exponent <= 8 and self.dtype.category >= dtypes.FLOAT:
        return record(integer_power, (self,), (int(exponent),))
    operand = operand_from(exponent)
    if operand is None:
        return NotImplemented
    if operand.__class__ is bool and self.dtype is dtypes.bool:
        return self | (not operand)
    if operand.__class__ is int and self.dtype.category == dtypes.INTEGER:
        _check_exponent(operand, self.dtype)
    return record(general, (self, operand), (), "PowBackward0" if operand.__class__ in NUMBERS else None)


def _check_exponent(exponent: int, dtype: dtypes.dtype) -> None:
    """Raise for an exponent that integers of this dtype cannot be raised to."""
    if exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if exponent > np.iinfo(dtypes.array_type(dtype)).max:
        name = "int" if dtype is dtypes.int32 else f"{dtype.name}_t"
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
