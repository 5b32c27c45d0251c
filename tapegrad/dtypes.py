"""The dtypes, and PyTorch's rules for promoting them.

A dtype belongs to a category (bool < integer < float < complex). Tensors with dimensions decide the result dtype;
0-d tensors and then Python numbers take part only where they are of a higher category.
Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy

BOOL, INTEGER, FLOAT, COMPLEX = range(4)


class dtype:  # noqa: N801 - PyTorch's name for it
    """The element type of a tensor, such as ``tapegrad.float32``.

    It prints under PyTorch's name, so that what a tutorial prints stays the same.

    >>> float64
    torch.float64
    >>> float64.itemsize, float64.is_floating_point, float64.is_complex
    (8, True, False)
    """

    __slots__ = ("name", "numpy", "category", "itemsize", "is_floating_point", "is_complex", "is_signed", "title")

    def __init__(self, name: str, array_type: numpy.dtype[Any] | None, category: builtins.int, itemsize: builtins.int, title: str) -> None:
        self.name = name
        self.numpy = array_type
        self.category = category
        self.itemsize = itemsize
        self.title = title
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = category >= FLOAT or name.startswith("int")

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name

    def to_real(self) -> dtype:
        """Return the dtype of the real part."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts have this dtype."""
        return _COMPLEX.get(self, complex64)


def _brain_float() -> numpy.dtype[Any] | None:
    """Return NumPy's extension type for bfloat16, or None where ml_dtypes is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    found: numpy.dtype[Any] = numpy.dtype(ml_dtypes.bfloat16)
    return found


float16 = half = dtype("float16", numpy.dtype("float16"), FLOAT, 2, "Half")
float32 = float = dtype("float32", numpy.dtype("float32"), FLOAT, 4, "Float")
float64 = double = dtype("float64", numpy.dtype("float64"), FLOAT, 8, "Double")
bfloat16 = dtype("bfloat16", None, FLOAT, 2, "BFloat16")
complex64 = cfloat = dtype("complex64", numpy.dtype("complex64"), COMPLEX, 8, "ComplexFloat")
complex128 = cdouble = dtype("complex128", numpy.dtype("complex128"), COMPLEX, 16, "ComplexDouble")
uint8 = dtype("uint8", numpy.dtype("uint8"), INTEGER, 1, "Byte")
int8 = dtype("int8", numpy.dtype("int8"), INTEGER, 1, "Char")
int16 = short = dtype("int16", numpy.dtype("int16"), INTEGER, 2, "Short")
int32 = int = dtype("int32", numpy.dtype("int32"), INTEGER, 4, "Int")
int64 = long = dtype("int64", numpy.dtype("int64"), INTEGER, 8, "Long")
bool = dtype("bool", numpy.dtype("bool"), BOOL, 1, "Bool")  # noqa: A001 - PyTorch's name for it

ALL = (float16, float32, float64, bfloat16, complex64, complex128, uint8, int8, int16, int32, int64, bool)
_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {float32: complex64, float64: complex128}
_FROM_NUMPY = {entry.numpy: entry for entry in ALL if entry.numpy is not None}
_default = float32


def array_type(of: dtype) -> numpy.dtype[Any]:
    """Return the NumPy dtype for a dtype; bfloat16 needs the package ml_dtypes."""
    if of.numpy is None:
        of.numpy = _brain_float()
        if of.numpy is None:
            raise RuntimeError("bfloat16 needs the package ml_dtypes: pip install 'tapegrad[bfloat16]', or use float32")
        _FROM_NUMPY[of.numpy] = of
    return of.numpy


def from_array_type(of: numpy.dtype[Any]) -> dtype:
    """Return the dtype for a NumPy dtype, or raise PyTorch's TypeError for one that has no counterpart."""
    found = _FROM_NUMPY.get(of)
    if found is None and of.name == "bfloat16":
        array_type(bfloat16)
        found = bfloat16
    if found is None:
        found = _FROM_NUMPY.get(of.newbyteorder("="))
    if found is None:
        kind = "numpy.object_" if of.kind == "O" else f"numpy.{of.type.__name__}"
        raise TypeError(
            f"can't convert np.ndarray of type {kind}. The only supported types are: float64, float32, float16, "
            "complex64, complex128, int64, int32, int16, int8, uint8, and bool."
        )
    return found


def get_default_dtype() -> dtype:
    """Return the dtype that Python floats become.

    >>> get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(to: dtype) -> None:
    """Set the dtype that Python floats become: a floating point dtype, else TypeError.

    What is pending on this thread is materialised first: it was recorded with the dtype that was the default then.

    >>> set_default_dtype(float32)
    """
    global _default
    if not isinstance(to, dtype) or not to.is_floating_point:
        raise TypeError(f"set_default_dtype: only floating-point types are supported as the default type, got {to}")
    if to is not _default:
        from .tape.modes import finish_segment

        finish_segment()
    _default = to


def of_number(kind: type) -> dtype:
    """Return the dtype that a Python number of this type has as a tensor."""
    return {_bool: bool, _int: int64, _float: _default, _complex: _default.to_complex()}[kind]


_bool, _int, _float, _complex = True.__class__, (1).__class__, (1.0).__class__, 1j.__class__


def promote_types(first: dtype, second: dtype) -> dtype:
    """Return the smallest dtype that holds both, by PyTorch's table.

    >>> promote_types(uint8, int8), promote_types(int64, float16), promote_types(float16, bfloat16)
    (torch.int16, torch.float16, torch.float32)
    """
    if first is second:
        return first
    if first.category < second.category:
        first, second = second, first
    if first.category == COMPLEX and second.category == FLOAT:
        return complex128 if float64 in (second, first.to_real()) else complex64
    if first.category > second.category:
        return first
    if first.category == FLOAT:
        if first.itemsize == second.itemsize:
            return float32
        return first if first.itemsize > second.itemsize else second
    if first.category == INTEGER and uint8 in (first, second):
        other = second if first is uint8 else first
        return int16 if other is int8 else other
    return first if first.itemsize > second.itemsize else second


def promote(dimensioned: dtype | None, zero_dim: dtype | None, number: dtype | None) -> dtype:
    """Return the result dtype of three priorities of operands; each is the promotion of its own kind, or None.

    A lower priority matters only where its category is higher; the precision of a float stays that of the higher.
    """
    result = _prefer(dimensioned, _prefer(zero_dim, number))
    assert result is not None
    return result


def _prefer(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Combine the dtypes of two priorities."""
    if higher is None or lower is None:
        return higher or lower
    if lower.category <= higher.category:
        return higher
    if higher.category == FLOAT:
        return higher.to_complex()
    return promote_types(higher, lower)
