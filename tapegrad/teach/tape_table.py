"""The tape on paper: a table with one line a value, in the order of execution.

Read downwards, it is the forward sweep: each line is an operation on lines above it. Read upwards, the column of
adjoints is the reverse sweep. What is kept in between is what a reverse sweep needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..tape.buffers import is_concrete
from ..tape.record import address_of
from ..tape.trace import IMPORT, LEAF
from ..tape.types import Type
from ..tensor import Tensor
from .adjoints import adjoints_of, can_start
from .history import History, Line, is_value

_HEADINGS = ("slot", "operation", "operands", "shape", "value", "kept", "adjoint")
_KINDS_OF_NUMBER = ("bool", "int", "float", "complex")  # in the order of the categories in dtypes
_ELEMENTS_SHOWN = 4
_WIDEST = 36


class Row(NamedTuple):
    """One line of the tape table, as text."""

    slot: str
    operation: str
    operands: str
    shape: str
    value: str
    kept: str
    adjoint: str


def print_tape(tensor: Tensor | None = None, names: Mapping[str, Tensor] | None = None, *, cotangent: Tensor | None = None) -> None:
    """Print the table that :func:`tape_table` makes.

    >>> import tapegrad
    >>> from tapegrad.teach import print_tape
    >>> w = tapegrad.tensor([0.5, -1.0], requires_grad=True)
    >>> x = tapegrad.tensor([2.0, 3.0])
    >>> print_tape((w * x).sum() ** 2, {"w": w, "x": x})
    slot  operation            operands  shape  value      kept  adjoint
    v0    leaf w                         [2]    [0.5, -1]        [-8, -12]
    v1    constant x                     [2]    [2, 3]     kept
    v2    mul                  v0, v1    [2]    [1, -3]          [-4, -4]
    v3    reduce_sum axes=(0)  v2        []     -2         kept  -4
    v4    integer_power n=2    v3        []     4                1
    """
    print(tape_table(tensor, names, cotangent=cotangent))


def tape_table(tensor: Tensor | None = None, names: Mapping[str, Tensor] | None = None, *, cotangent: Tensor | None = None) -> str:
    """Return the history of a tensor on the tape, as an aligned table; the tape stays as it is.

    One line a value, in the order of execution:

    - *slot*: the number of the value. The table counts the values it shows, from v0 on.
    - *operation*: the primitive and its static parameters. A *leaf* is a tensor that the gradient goes to, a
      *constant* one that was there before.
    - *operands*: the slots it reads, and Python numbers (of one that is no longer known, its kind).
    - *shape*: with the dtype, where that is not the default one.
    - *value*: if it has few elements, these; else the smallest and the largest. Values that are pending are computed for the
      table alone. Of what has been materialised, the tape has only what it kept, and what follows from that; "-"
      is the rest. A leaf has its value itself; after "now", if it may have been modified since.
    - *kept*: whether the reverse sweep needs the value. "released": it did, and had its turn.
    - *adjoint*: the derivative of the last line by this one. There is none without history, or once released.

    Args:
        tensor: whose history; without one, everything on this thread's open segment, with the grad mode marks.
        names: what tensors are called in the table, such as ``dict(model.named_parameters())``.
        cotangent: the adjoint of `tensor` to start with, of its shape; needed unless it is real and has one element.

    Raises TypeError or ValueError for an argument that is none of these.

    >>> import tapegrad
    >>> x = tapegrad.tensor(3.0, requires_grad=True)
    >>> print(tape_table(x * x + 1))
    slot  operation  operands  shape  value  kept  adjoint
    v0    leaf                 []     3      kept  6
    v1    mul        v0, v0    []     9            1
    v2    add        v1, 1     []     10           1
    """
    rows = tape_rows(tensor, names, cotangent=cotangent)
    table = _aligned(rows)
    if tensor is None or cotangent is not None or address_of(tensor)[0] is None or any(row.kept == "released" for row in rows):
        return table
    type_ = tensor._node.type
    if can_start(type_, None) or not type_.requires_grad:
        return table
    what = "is complex" if type_.numel == 1 else f"has shape {list(type_.shape)}"
    return f"{table}\n(no adjoints: the last value {what}, so the sweep needs a cotangent to start with: cotangent=...)"


def tape_rows(tensor: Tensor | None = None, names: Mapping[str, Tensor] | None = None, *, cotangent: Tensor | None = None) -> list[Row]:
    """Return the lines of :func:`tape_table`, for showing them in another way.

    >>> import tapegrad
    >>> x = tapegrad.tensor(3.0, requires_grad=True)
    >>> [row.operation for row in tape_rows(x.exp().sin())]
    ['leaf', 'exp', 'sin']
    """
    _check(tensor, names, cotangent)
    names = names or {}
    history = History(tensor)
    if tensor is not None and history.root is None:
        return [_lone_row(tensor, names)]
    adjoints = adjoints_of(history, cotangent)
    slots = {line: f"v{number}" for number, line in enumerate(history.values())}
    rows = []
    for line in history.lines:
        if isinstance(line, Line):
            value = f"{type(line.error).__name__}!" if line.error is not None else _value_text(line.value)
            if value == "-":
                value = _present_value_text(line.leaf)
            operands = ", ".join(_operand_text(operand, slots) for operand in line.operands)
            adjoint = _value_text(adjoints[line]) if line in adjoints else ""
            operation = _operation_text(line, _name_of(line, names))
            rows.append(Row(slots[line], operation, operands, _shape_text(line.type), value, line.kept, adjoint))
        else:
            rows.append(Row("", f"gradients {'on' if line.grad_enabled else 'off'}", "", "", "", "", ""))
    return rows


def _check(tensor: Any, names: Any, cotangent: Any) -> None:
    """Raise TypeError or ValueError for arguments that are not what they should be."""
    for argument, value in (("tensor", tensor), ("cotangent", cotangent)):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{argument} must be a tensor, not {type(value).__name__}")
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(f"names must be a mapping of names to tensors, such as {{'x': x}}, not {type(names).__name__}")
    for name, named in (names or {}).items():
        if not isinstance(name, str) or not isinstance(named, Tensor):
            raise TypeError(f"names must map names to tensors; {name!r} is mapped to {type(named).__name__}")
    if cotangent is None:
        return
    if tensor is None:
        raise TypeError("a cotangent needs the tensor that it is the cotangent of")
    if cotangent.shape != tensor.shape:
        raise ValueError(f"the cotangent has shape {list(cotangent.shape)}, and the tensor {list(tensor.shape)}")


def _lone_row(tensor: Tensor, names: Mapping[str, Tensor]) -> Row:
    """Return the line of a tensor that has no history."""
    kind = "leaf" if tensor.requires_grad else "constant"
    name = next((name for name, named in names.items() if named is tensor), "")
    value = tensor._array
    text = _value_text(value) if is_value(value) else f"{type(value.error).__name__}!"
    return Row("v0", f"{kind} {name}".rstrip(), "", _shape_text(tensor._node.type), text, "", "")


def _present_value_text(leaf: Tensor | None) -> str:
    """Return the value that a leaf has now: what it had, nobody knows. Nothing is computed for it."""
    if leaf is None or leaf._is_stale or not is_concrete(leaf) or not is_value(leaf._array):
        return "-"
    return f"now {_value_text(leaf._array)}"


def _name_of(line: Line, names: Mapping[str, Tensor]) -> str:
    return next((name for name, tensor in names.items() if _is_at(tensor, line)), "")


def _is_at(tensor: Tensor, line: Line) -> bool:
    """Whether a line is this tensor's."""
    if line.leaf is not None:
        return line.leaf is tensor
    if line.node.primitive is IMPORT and is_concrete(tensor) and line.value is tensor._array:
        return True
    segment, slot = address_of(tensor)
    return any(
        stretch.brought.get(output) is tensor or (stretch.segment is segment and output.slot == slot) for stretch, output in line.places
    )


def _operation_text(line: Line, name: str) -> str:
    """Return the operation's name with its static parameters, and what the value is called."""
    node = line.node
    if node.primitive in (IMPORT, LEAF):
        text = "leaf" if line.leaf is not None else "constant" if not line.type.requires_grad else "outside value"
        return f"{text} {name}".rstrip()
    text = node.primitive.name
    if len(node.outputs) > 1:
        text += f"[{node.outputs.index(line.output)}]"
    for key, value in node.parameters.items():
        if value is not False and value is not None:
            text += f" {key}={_parameter_text(value)}"
    if len(text) > _WIDEST:
        text = text[: _WIDEST - 2] + ".."
    return f"{text} -> {name}" if name else text


def _parameter_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(map(_parameter_text, value))})"
    return value.name if isinstance(value, dtypes.dtype) else str(value)


def _operand_text(operand: Any, slots: dict[Line, str]) -> str:
    """Return an operand's slot; of a number, its value, or what kind of number it was."""
    if isinstance(operand, Line):
        return slots[operand]
    return _KINDS_OF_NUMBER[operand.dtype.category] if isinstance(operand, Type) else _number_text(operand)


def _shape_text(type_: Type) -> str:
    shape = f"[{', '.join(map(str, type_.shape))}]"
    return shape if type_.dtype is dtypes.get_default_dtype() else f"{shape} {type_.dtype.name}"


def _value_text(value: Any) -> str:
    """Return the elements of a small value, the range of a large one, "-" for one that is not known."""
    if value is None:
        return "-"
    array = np.asarray(value)
    if array.ndim == 0:
        return _number_text(array.item())
    if array.size <= _ELEMENTS_SHOWN:
        return _elements_text(array)
    if array.dtype.kind == "b":
        return f"{np.count_nonzero(array)} of {array.size} True"
    if array.dtype.kind == "c":
        return f"0 .. {_number_text(float(np.abs(array).max()))} in magnitude" if array.any() else "0"
    lowest, highest = _number_text(array.min().item()), _number_text(array.max().item())
    return lowest if lowest == highest != "nan" else f"{lowest} .. {highest}"


def _elements_text(array: Any) -> str:
    if array.ndim == 0:
        return _number_text(array.item())
    return f"[{', '.join(_elements_text(part) for part in array)}]"


def _number_text(number: Any) -> str:
    return str(number) if isinstance(number, (bool, int)) else f"{number:.4g}"


def _aligned(rows: list[Row]) -> str:
    """Return the rows under their headings, each column as wide as its widest text."""
    lines = [_HEADINGS, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines)
