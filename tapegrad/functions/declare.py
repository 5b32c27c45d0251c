"""How functions of tensors are made: from primitives, with checks of their arguments, NumPy's names for these, and ``out=``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .. import dtypes, operators
from ..device import Device
from ..tape.aliases import check_dtype, in_place, set_data
from ..tape.checks import check_writable
from ..tape.record import record
from ..tape.segment import state
from ..tape.trace import NUMBERS
from ..tensor import Tensor
from .arguments import Check
from .out_rules import check_dtype as check_out_dtype
from .out_rules import check_memory

Function = Callable[..., Any]
Result = TypeVar("Result")

# PyTorch's names of arguments for NumPy's.
_NAMES = {"axis": "dim", "keepdims": "keepdim"}

_RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output shape {}. "
    "This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. You "
    "can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
)


# Functions of one and of two tensors


def unary(name: str, source: str) -> Function:
    """Return the function of one tensor that records the primitive "family.name": ``name(input, *, out=None)``."""
    apply = operators.unary(source)

    def function(input: Any, *, out: Any = None) -> Any:
        if input.__class__ is not Tensor:
            require_tensor(name, input)
        return apply(input) if out is None else write_out(name, out, apply(input), input)

    return _named(function, name, f"Return `{name}` of each element of `input`.")


def binary(name: str, source: str, numbers: str = "other", shown: tuple[str, str] | None = None) -> Function:
    """Return the function of two tensors that records the primitive "family.name": ``name(input, other, *, out=None)``.

    `numbers` names the arguments that may be Python numbers: "other", "either", "both" or "none". `shown` are the names that
    ``grad_fn`` shows for an `other` that is a number and that is a tensor, where they are not the primitive's own.
    """
    apply = operators.binary(source)
    of_number, of_tensor = shown or (None, None)

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if input.__class__ is Tensor and out is None and shown is None:
            if other.__class__ is Tensor or (numbers != "none" and other.__class__ in NUMBERS):
                return apply(input, other)
        if numbers == "none":
            require_tensor(name, other, "other", 2)
        if numbers != "both" and (numbers != "either" or not isinstance(other, Tensor)):
            require_tensor(name, input)
        operands = (operand(name, input, "input", 1), operand(name, other, "other", 2))
        primitive = operators.primitive_from(source)
        result = record(primitive, operands, (), of_tensor if isinstance(other, Tensor) else of_number)
        return result if out is None else write_out(name, out, result, input, other)

    return _named(function, name, f"Return `{name}` of each pair of elements of `input` and `other`, which broadcast.")


def _named(function: Function, name: str, summary: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


# Arguments


def operand(name: str, value: Any, argument: str, position: int) -> Any:
    """Return a value as an operand (a tensor or a number) of function `name`, or raise PyTorch's TypeError."""
    if value.__class__ is Tensor:
        return value
    found = operators.operand_from(value)
    if found is None:
        raise wrong_type(name, argument, position, "Tensor", value)
    return found


def require_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> Any:
    """Return the value if it is a tensor, or raise PyTorch's TypeError."""
    if isinstance(value, Tensor):
        return value
    raise wrong_type(name, argument, position, "Tensor", value)


def require_tensors(name: str, tensors: Any, argument: str = "tensors") -> tuple[Any, ...]:
    """Return a sequence of tensors as a tuple, or raise PyTorch's TypeError."""
    if not isinstance(tensors, (tuple, list)):
        raise wrong_type(name, argument, 1, "tuple of Tensors", tensors)
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type_name(tensor)}")
    return tuple(tensors)


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warn, but only the first time in a process."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, UserWarning, stacklevel=4)


# What PyTorch's errors call the types of elements in C++.
_C_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(dtype: dtypes.dtype) -> str:
    """Return the name of the elements' type in C++, as some of PyTorch's errors show it."""
    return _C_NAMES[dtype.name]


_TYPE_NAMES = {dtypes.dtype: "torch.dtype", Device: "torch.device"}
_IS_PYTHON_CLASS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that is written in Python, which has its name alone


def type_name(value: Any) -> str:
    """Return the name of a value's class as PyTorch's errors print it: ``numpy.ndarray``."""
    kind = type(value)
    if kind in _TYPE_NAMES:
        return _TYPE_NAMES[kind]
    is_plain = kind.__module__ == "builtins" or kind.__flags__ & _IS_PYTHON_CLASS
    return kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"


def wrong_type(name: str, argument: str, position: int, expected: str, value: Any) -> TypeError:
    """Return the error for an argument of the wrong type."""
    return TypeError(f"{name}(): argument '{argument}' (position {position}) must be {expected}, not {type_name(value)}")


# Names of arguments


def accepts_names(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let the arguments be given by NumPy's names too, as in PyTorch: ``axis`` for ``dim``, ``keepdims`` for ``keepdim``."""
    check = Check(function)

    @functools.wraps(function)
    def renamed(*arguments: Any, **options: Any) -> Result:
        if options:
            options = _translated(options)
        check(arguments, options)
        return function(*arguments, **options)

    return renamed


def _translated(options: dict[str, Any]) -> dict[str, Any]:
    return {_NAMES.get(name, name): value for name, value in options.items()}


# Results


def accepts_out(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let the function write its result into a tensor ``out=`` (a tuple of them for several), and accept NumPy's names."""
    check, name = Check(function), function.__name__

    @functools.wraps(function)
    def writing(*arguments: Any, out: Any = None, **options: Any) -> Result:
        if options:
            options = _translated(options)
        check(arguments, options)
        if out is None:
            return function(*arguments, **options)
        _check_out(name, out, *arguments, *options.values())
        written: Result = _put_all(name, out, function(*arguments, **options))
        return written

    return writing


def write_out(name: str, out: Any, result: Any, *arguments: Any) -> Any:
    """Put a result, computed from these arguments, into the tensor (or tuple of tensors) `out`, and return that."""
    _check_out(name, out, *arguments)
    return _put_all(name, out, result)


def _check_out(name: str, out: Any, *arguments: Any) -> None:
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for place in outs:
        require_tensor(name, place, "out", len(arguments) + 1)
    tensors = _tensors_in(arguments)
    if state.grad_enabled and any(tensor.requires_grad for tensor in (*outs, *tensors)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    check_memory(name, outs, tensors)


def _tensors_in(value: Any) -> list[Any]:
    """Return the tensors in nested sequences."""
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in _tensors_in(part)]
    return [value] if isinstance(value, Tensor) else []


def _put_all(name: str, out: Any, result: Any) -> Any:
    several = isinstance(result, tuple)
    places = out if several else (out[0],) if isinstance(out, tuple) else (out,)
    parts = result if several else (result,)
    for place, part in zip(places, parts, strict=True):
        check_out_dtype(name, part.dtype, place.dtype, is_one_of_several=several)
    written = [_put(place, part) for place, part in zip(places, parts, strict=True)]
    return type(result)(written) if several else written[0]


def _put(out: Any, result: Any) -> Any:
    """Give `out` the value of a result, cast to its dtype; it takes on the result's shape."""
    from ..primitives.casting import cast

    if result.dtype is not out.dtype:
        check_dtype(out, result.dtype)
        result = cast(result, dtype=out.dtype)
    if result.shape == out.shape:
        check_writable(out)
        return in_place(out, result)
    if out.numel():
        warnings.warn(_RESIZED.format(list(out.shape), list(result.shape)), UserWarning, stacklevel=5)
    set_data(out, result)
    return out
