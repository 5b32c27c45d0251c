"""Complex tensors: parts, conjugates, and views as pairs of real numbers."""

from __future__ import annotations

from typing import Any

from ..primitives import complex_pairs, signs
from ..tape.aliases import make_view
from ..tape.record import record
from .declare import accepts_out, require_tensor
from .in_place import in_place_method


def real(input: Any) -> Any:
    """Return a view of the real parts; a real tensor as it is.

    >>> import tapegrad
    >>> tapegrad.real(tapegrad.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real(require_tensor("real", input))


def _real(self: Any) -> Any:
    """Return a view of the real parts: the property real."""
    return make_view(self, signs.real) if self.dtype.is_complex else self


def imag(input: Any) -> Any:
    """Return a view of the imaginary parts of a complex tensor."""
    return _imag(require_tensor("imag", input))


def _imag(self: Any) -> Any:
    """Return a view of the imaginary parts: the property imag."""
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return make_view(self, signs.imag)


def _set_real(self: Any, value: Any) -> None:
    _set_part(_real(self), value)


def _set_imag(self: Any, value: Any) -> None:
    _set_part(_imag(self), value)


def _set_part(part: Any, value: Any) -> None:
    if hasattr(value, "_node"):
        part.copy_(value)
    else:
        part.fill_(value)


def conj(input: Any) -> Any:
    """Return the complex conjugates; a real tensor as it is.

    >>> import tapegrad
    >>> tapegrad.conj(tapegrad.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if require_tensor("conj", input).dtype.is_complex:
        return record(signs.conj, (input,), (), "ConjBackward0")
    return input


@accepts_out
def conj_physical(input: Any) -> Any:
    """Return the complex conjugates, in memory of their own; a real tensor as it is."""
    if require_tensor("conj_physical", input).dtype.is_complex:
        return record(signs.conj, (input,), (), "ConjPhysicalBackward0")
    return input


def resolve_conj(input: Any) -> Any:
    """Return the tensor: conjugates are always computed, never only marked."""
    return require_tensor("resolve_conj", input)


def resolve_neg(input: Any) -> Any:
    """Return the tensor: negatives are always computed, never only marked."""
    return require_tensor("resolve_neg", input)


def is_conj(input: Any) -> bool:
    """Return whether the tensor is only marked as conjugate: never."""
    require_tensor("is_conj", input)
    return False


def is_neg(input: Any) -> bool:
    """Return whether the tensor is only marked as negative: never."""
    require_tensor("is_neg", input)
    return False


def view_as_real(input: Any) -> Any:
    """Return a view of complex numbers as pairs of real ones, in a last dimension.

    >>> import tapegrad
    >>> tapegrad.view_as_real(tapegrad.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return make_view(require_tensor("view_as_real", input), complex_pairs.view_as_real)


def view_as_complex(input: Any) -> Any:
    """Return a view of pairs of real numbers, in the last dimension, as complex ones.

    >>> import tapegrad
    >>> tapegrad.view_as_complex(tapegrad.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    require_tensor("view_as_complex", input)
    complex_pairs.check_pairs(input._node.type)
    return make_view(input, complex_pairs.view_as_complex)


__all__ = [
    "conj", "conj_physical", "imag", "is_conj", "is_neg", "real", "resolve_conj", "resolve_neg", "view_as_complex",
    "view_as_real",
]

METHODS: dict[str, Any] = {
    name: globals()[name] for name in ("conj", "conj_physical", "is_conj", "is_neg", "resolve_conj", "resolve_neg")
}
METHODS["conj_physical_"] = in_place_method("conj_physical_", conj_physical, "ConjPhysicalBackward1")
METHODS.update(real=property(_real, _set_real), imag=property(_imag, _set_imag))
