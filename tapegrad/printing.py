"""How tensors print: PyTorch's text, character for character.

The numbers become texts once, in one column width for the whole tensor; brackets then close over them axis by axis,
from the innermost out. What follows the numbers (dtype, grad_fn, ...) is a list of suffixes. Only values that are
printed, finite and not zero decide the style and the width; this is PyTorch's rule, and why some columns are ragged.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from . import dtypes

_DEFAULT_PROFILE: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_PROFILES = {
    "default": _DEFAULT_PROFILE,
    "short": {**_DEFAULT_PROFILE, "precision": 2, "edgeitems": 2},
    "full": {**_DEFAULT_PROFILE, "threshold": math.inf},
}
_options: dict[str, Any] = {**_DEFAULT_PROFILE, "sci_mode": None}
_PYTHON_NUMBER: tuple[type, ...] = (bool, int, float, complex)  # in the order of the categories in dtypes


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print. What is not given stays, except ``sci_mode``, which becomes automatic again.

    Args:
        precision: digits after the point (at first 4).
        threshold: tensors with more elements than this are summarised (1000).
        edgeitems: elements shown at both ends of a summarised axis (3).
        linewidth: characters in a line (80).
        profile: "default", "short" or "full", a set of the above that the other arguments change.
        sci_mode: scientific notation always (True), never (False), or where the values ask for it (None).

    >>> set_printoptions(precision=2)
    >>> format_tensor(numpy.array([1.12345]), dtypes.float64)
    'tensor([1.12], dtype=torch.float64)'
    >>> set_printoptions(profile="default")
    """
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the print options as keywords for :func:`set_printoptions`.

    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return dict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options within a ``with`` block; the arguments are those of :func:`set_printoptions`.

    >>> with printoptions(edgeitems=1, threshold=5):
    ...     format_tensor(numpy.arange(9), dtypes.int64)
    'tensor([0,  ..., 8])'
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def format_tensor(
    array: numpy.ndarray[Any, Any],
    dtype: dtypes.dtype,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    is_parameter: bool = False,
    tangent: numpy.ndarray[Any, Any] | str | None = None,
    class_name: str = "tensor",
) -> str:
    """Return the ``repr`` of a tensor.

    Args:
        array: its values.
        dtype: its dtype, shown where the values and the default dtype do not imply it.
        requires_grad: whether gradients are recorded for it; shown for leaves.
        grad_fn_name: the name of the node that made it, such as "AddBackward0"; None for leaves.
        is_parameter: whether it is a parameter of a module.
        tangent: its forward-mode tangent; as text where the tangent has suffixes of its own.
        class_name: the name of its class, for subclasses of Tensor and Parameter.

    >>> format_tensor(numpy.array([1, 2], "float32"), dtypes.float32, requires_grad=True)
    'tensor([1., 2.], requires_grad=True)'
    """
    suffixes = _describe_type(array, dtype)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append("tangent=" + (tangent if isinstance(tangent, str) else _format_tangent(tangent, dtype)))
    opening = class_name + "("
    text = _append_suffixes(opening + _format_contents(array, dtype, len(opening)), suffixes, len(opening))
    if not is_parameter:
        return text
    return "Parameter containing:\n" + (text if class_name == "tensor" else f"Parameter({text})")


def format_scalar(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype, spec: str) -> str:
    """Return ``format(tensor, spec)`` of a 0-d tensor, which formats as its Python number.

    Raises:
        TypeError: the tensor has dimensions. (With an empty spec such a tensor formats as its ``repr``: not done here.)

    >>> format_scalar(numpy.array(2.5), dtypes.float64, ".2f")
    '2.50'
    """
    if array.ndim > 0:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    return format(_PYTHON_NUMBER[dtype.category](array), spec)


def format_return_type(name: str, fields: Mapping[str, object]) -> str:
    r"""Return the ``repr`` of a function's named results, such as those of ``max`` along an axis.

    >>> format_return_type("max", {"values": 3.0, "indices": 1})
    'torch.return_types.max(\nvalues=3.0,\nindices=1)'
    """
    return f"torch.return_types.{name}(\n" + ",\n".join(f"{field}={value!r}" for field, value in fields.items()) + ")"


def _describe_type(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype) -> list[str]:
    """Return the suffixes for the shape and the dtype, each where the printed values do not show it."""
    suffixes = []
    default = dtypes.get_default_dtype()
    implied: tuple[dtypes.dtype, ...]
    if array.size == 0:
        shape_shown = array.ndim == 1
        implied = (default,)
    else:
        shape_shown = _options["edgeitems"] != 0
        implied = (default, default.to_complex(), dtypes.int64, dtypes.bool)
    if not shape_shown:
        suffixes.append(f"size={array.shape}")
    if dtype not in implied:
        suffixes.append(f"dtype={dtype}")
    return suffixes


def _format_tangent(tangent: numpy.ndarray[Any, Any], dtype: dtypes.dtype) -> str:
    """Return the text of a tangent that is a plain tensor."""
    return format_scalar(tangent, dtype, "") if tangent.ndim == 0 else format_tensor(tangent, dtype)


def _append_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Return the text with its suffixes and the closing parenthesis; a suffix that does not fit starts a line."""
    used = len(text) - (text.rfind("\n") + 1) + 2  # PyTorch counts the separator before the first suffix twice
    for suffix in suffixes:
        if used + 2 + len(suffix) > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += 2 + len(suffix)
    return text + ")"


def _format_contents(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype, indent: int) -> str:
    """Return the values in their brackets, which open at the column ``indent``."""
    if array.size == 0:
        return "[]"
    cut_axes: list[int] = []
    if array.size > _options["threshold"] and array.ndim > 0:
        if _options["edgeitems"] == 0:
            return "[...]"
        cut_axes = [axis for axis, length in enumerate(array.shape) if length > 2 * _options["edgeitems"]]
        array = _keep_edges(array, cut_axes)
    texts, width = _format_elements(array.ravel(), dtype)
    if array.ndim == 0:
        return texts[0]
    return _bracket(texts, width, array.shape, cut_axes, indent)


def _keep_edges(array: numpy.ndarray[Any, Any], cut_axes: Sequence[int]) -> numpy.ndarray[Any, Any]:
    """Return the array without the middle of the axes that are cut."""
    edge = _options["edgeitems"]
    for axis in cut_axes:
        length = array.shape[axis]
        array = array.take([*range(edge), *range(length - edge, length)], axis)
    return array


def _bracket(texts: list[str], width: int, shape: Sequence[int], cut_axes: Sequence[int], indent: int) -> str:
    """Return the elements' texts in nested brackets, with line breaks, and dots where an axis is cut."""
    innermost = len(shape) - 1
    elements_per_line = max(1, math.floor((_options["linewidth"] - indent - innermost) / (width + 2)))
    parts = texts
    for axis in range(innermost, -1, -1):
        length = shape[axis]
        groups = [parts[start : start + length] for start in range(0, len(parts), length)]
        if axis in cut_axes:
            for group in groups:
                group.insert(_options["edgeitems"], " ..." if axis == innermost else "...")
        if axis == innermost:
            groups = [_break_lines(group, elements_per_line) for group in groups]
        # One line break between the lines of a vector and between vectors, one more for every axis further out.
        separator = "," + "\n" * max(1, innermost - axis) + " " * (indent + axis + 1)
        parts = ["[" + separator.join(group) + "]" for group in groups]
    return parts[0]


def _break_lines(texts: Sequence[str], elements_per_line: int) -> list[str]:
    """Return the lines of one vector."""
    return [", ".join(texts[start : start + elements_per_line]) for start in range(0, len(texts), elements_per_line)]


def _format_elements(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype) -> tuple[list[str], int]:
    """Return the texts of all elements, padded to one column, and the width that PyTorch reckons with for it."""
    if not dtype.is_complex:
        return _pad(*_format_column(array.tolist(), dtype.is_floating_point))
    reals, real_width = _pad(*_format_column(array.real.tolist(), True))
    imaginaries, imaginary_width = _format_column(array.imag.tolist(), True)
    texts = [
        real + ("" if imaginary.startswith("-") else "+") + imaginary + "j"
        for real, imaginary in zip(reals, imaginaries, strict=True)
    ]
    return texts, real_width + imaginary_width + 1


def _pad(texts: Sequence[str], width: int) -> tuple[list[str], int]:
    """Return the texts aligned to the right, and the width again."""
    return [text.rjust(width) for text in texts], width


def _format_column(values: list[Any], is_floating_point: bool) -> tuple[list[str], int]:
    """Return the texts of real numbers, not padded, and the width of their column."""
    if not is_floating_point:
        texts = [str(value) for value in values]
        return texts, max(map(len, texts))
    ordinary = [value for value in values if value and math.isfinite(value)]
    spec, point = _choose_style(ordinary)
    texts = [format(value, spec) + (point if math.isfinite(value) else "") for value in values]
    deciding = (len(text) for text, value in zip(texts, values, strict=True) if value and math.isfinite(value))
    return texts, max(deciding, default=1)


def _choose_style(ordinary: Sequence[float]) -> tuple[str, str]:
    """Return the format spec that suits finite non-zero numbers, and what is appended to a finite number."""
    if not ordinary:
        return ".0f", "."
    scientific = _options["sci_mode"]
    if scientific is None:
        sizes = [abs(value) for value in ordinary]
        smallest, largest = min(sizes), max(sizes)
        scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
    if scientific:
        return f".{_options['precision']}e", ""
    if all(value.is_integer() for value in ordinary):
        return ".0f", "."
    return f".{_options['precision']}f", ""
