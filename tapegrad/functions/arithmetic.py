"""Sums, products and powers with options, and what is composed of them."""

from __future__ import annotations

from typing import Any

from .. import dtypes, operators
from ..primitives import arithmetic
from ..primitives.casting import cast
from ..primitives.type_rules import broadcast_shapes
from ..return_types import return_type
from ..tape.aliases import in_place
from ..tape.checks import check_writable
from ..tape.record import here, record
from ..tape.updates import step_again
from ..tensor import Tensor
from .declare import accepts_out, c_name, operand, require_tensor, write_out, wrong_type
from .in_place import augmented, in_place_method, in_place_methods
from .reductions import show

_frexp_type = return_type("frexp", ("mantissa", "exponent"))


def _category(value: Any) -> int:
    """Return the category of the dtype of a tensor or number."""
    return int((value.dtype if isinstance(value, Tensor) else dtypes.of_number(type(value))).category)


# Sums, differences, quotients; two tensors take the operators' short path

_plus = operators.binary(arithmetic.add)
_minus = operators.binary(arithmetic.sub)
_over = operators.binary(arithmetic.div)


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``input + alpha * other``.

    >>> import tapegrad
    >>> tapegrad.add(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([3.0, 4.0]), alpha=2)
    tensor([ 7., 10.])
    """
    if input.__class__ is Tensor is other.__class__ and alpha.__class__ is int and alpha == 1 and out is None:
        return _plus(input, other)
    return _add("add", arithmetic.add, input, other, alpha, out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``input - alpha * other``.

    >>> import tapegrad
    >>> tapegrad.sub(tapegrad.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    if input.__class__ is Tensor is other.__class__ and alpha.__class__ is int and alpha == 1 and out is None:
        return _minus(input, other)
    return _add("sub", arithmetic.sub, input, other, alpha, out)


subtract = sub


def _add(name: str, primitive: Any, input: Any, other: Any, alpha: Any, out: Any) -> Any:
    operands = (operand(name, input, "input", 1), operand(name, other, "other", 2))
    if alpha.__class__ is int and alpha == 1:
        result = record(primitive, operands)
    else:
        result = _add_multiple(primitive, *operands, alpha)
    return result if out is None else write_out(name, out, result, input, other)


def _add_multiple(primitive: Any, first: Any, second: Any, alpha: Any) -> Any:
    if alpha.__class__ is float and isinstance(first, Tensor) and isinstance(second, Tensor):
        dtype = first._node.type.dtype
        if dtype is second._node.type.dtype and dtype.category >= dtypes.FLOAT:
            if primitive is arithmetic.add:
                return record(arithmetic.add_multiple, (first, second, alpha))
            return record(arithmetic.add_multiple, (first, second, -alpha), (), "SubBackward0")
    _check_alpha(alpha, max(_category(first), _category(second)))
    if isinstance(alpha, bool):
        return record(primitive, (first, second & alpha))
    if not isinstance(second, Tensor):
        return record(primitive, (first, second * alpha))
    start = here()
    if second.dtype.category < _category(first):
        second = cast(second, dtype=first.dtype if isinstance(first, Tensor) else dtypes.of_number(type(first)))
    return show(primitive.grad_name, record(primitive, (first, arithmetic.scale(second, alpha))), start)


def _check_alpha(alpha: Any, category: int) -> None:
    """Raise for a factor that would change the category of the result."""
    if isinstance(alpha, bool) and category != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category < dtypes.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and category < dtypes.COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Return ``other - alpha * input``."""
    first = operand("rsub", other, "other", 2)
    require_tensor("rsub", input)
    _check_alpha(alpha, max(_category(first), _category(input)))
    start = here()
    result = record(arithmetic.sub, (first, input if alpha == 1 else input * alpha), (), "RsubBackward1")
    return show("RsubBackward0" if isinstance(other, Tensor) else "RsubBackward1", result, start)


_ROUNDED_DIVISIONS = {"trunc": "division.trunc_divide", "floor": "division.div_floor"}


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """Return ``input / other``; rounded with `rounding_mode` "trunc" (towards zero) or "floor".

    >>> import tapegrad
    >>> tapegrad.div(tapegrad.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        if input.__class__ is Tensor is other.__class__ and out is None:
            return _over(input, other)
        primitive = arithmetic.div
    elif rounding_mode in _ROUNDED_DIVISIONS:
        primitive = operators.primitive_from(_ROUNDED_DIVISIONS[rounding_mode])
    else:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    result = record(primitive, (operand("div", input, "input", 1), operand("div", other, "other", 2)))
    return result if out is None else write_out("div", out, result, input, other)


divide = div


def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Return ``input / other``."""
    return div(input, other, out=out)


@accepts_out
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Return ``input + value * tensor1 * tensor2``."""
    _check_three("addcmul", input, tensor1, tensor2)
    if isinstance(value, float) and max(map(_category, (input, tensor1, tensor2))) < dtypes.FLOAT:
        value = int(value)
    start = here()
    operands, dtype = _in_single(input, tensor1, tensor2)
    return _sum_with("AddcmulBackward0", start, operands[0], operands[1] * operands[2], value, dtype)


@accepts_out
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Return ``input + value * tensor1 / tensor2``."""
    _check_three("addcdiv", input, tensor1, tensor2)
    if max(_category(tensor1), _category(tensor2)) < dtypes.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division "
            "of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
        )
    start = here()
    operands, dtype = _in_single(input, tensor1, tensor2)
    return _sum_with("AddcdivBackward0", start, operands[0], operands[1] / operands[2], value, dtype)


def _check_three(name: str, input: Any, tensor1: Any, tensor2: Any) -> None:
    for position, (argument, value) in enumerate((("input", input), ("tensor1", tensor1), ("tensor2", tensor2)), 1):
        require_tensor(name, value, argument, position)


def _in_single(*tensors: Any) -> tuple[tuple[Any, ...], dtypes.dtype | None]:
    """Return tensors of a 2-byte float dtype in float32, and the dtype to round the result to; others as they are."""
    dtype = tensors[0].dtype
    if dtype.itemsize != 2 or not dtype.is_floating_point or any(tensor.dtype is not dtype for tensor in tensors):
        return tensors, None
    return tuple([cast(tensor, dtype=dtypes.float32) for tensor in tensors]), dtype


def _sum_with(shown: str, start: tuple[int, int], input: Any, product: Any, value: Any, dtype: dtypes.dtype | None) -> Any:
    if value.__class__ is not int or value != 1:
        product = product * value
    result = input + product
    return show(shown, result if dtype is None else cast(result, dtype=dtype), start)


@accepts_out
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Return ``input + weight * (end - input)``, exactly `end` for a weight of 1.

    >>> import tapegrad
    >>> tapegrad.lerp(tapegrad.tensor([0.0, 10.0]), tapegrad.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    require_tensor("lerp", input)
    require_tensor("lerp", end, "end", 2)
    for argument, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype:
            raise RuntimeError(
                f"expected dtype {c_name(input.dtype)} for `{argument}` but got dtype {c_name(value.dtype)}"
            )
    if input.dtype.category < dtypes.FLOAT:
        kernel = "lerp_kernel_tensor" if isinstance(weight, Tensor) else "lerp_kernel_scalar"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.title}'")
    broadcast_shapes("lerp", *[value._node.type.shape for value in (input, end, weight) if isinstance(value, Tensor)])
    start = here()
    difference = end - input
    if isinstance(weight, Tensor):
        from ..primitives.selection import where

        result = where(weight.abs() < 0.5, input + weight * difference, end - difference * (1 - weight))
    elif abs(weight) < 0.5:
        result = input + arithmetic.scale(difference, weight)
    else:
        result = end - arithmetic.scale(difference, 1 - weight)
    return show("LerpBackward1" if isinstance(weight, Tensor) else "LerpBackward0", result, start)


# Powers


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return ``input ** exponent``; either may be a number.

    >>> import tapegrad
    >>> tapegrad.pow(2, tapegrad.tensor([1.0, 3.0]))
    tensor([2., 8.])
    """
    if isinstance(input, Tensor):
        result = operators.power(input, exponent)
        if result is NotImplemented:
            raise wrong_type("pow", "exponent", 2, "Tensor", exponent)
    else:
        operands = (operand("pow", input, "input", 1), require_tensor("pow", exponent, "exponent", 2))
        result = record(arithmetic.power, operands, (), "PowBackward2")
    return result if out is None else write_out("pow", out, result, input, exponent)


@accepts_out
def float_power(input: Any, exponent: Any) -> Any:
    """Return ``input ** exponent`` computed in double precision."""
    if isinstance(exponent, Tensor):
        return pow(_double(input), _double(exponent))
    return pow(_double(require_tensor("float_power", input)), exponent)


def _double(value: Any) -> Any:
    """Return a tensor or number in double precision."""
    if not isinstance(value, Tensor):
        return value
    dtype = dtypes.complex128 if value.dtype.is_complex else dtypes.float64
    return value if value.dtype is dtype else cast(value, dtype=dtype)


def float_power_(self: Any, exponent: Any) -> Any:
    """Raise a tensor of double precision to a power, in place."""
    wanted = dtypes.complex128 if self.dtype.is_complex or _category(exponent) == dtypes.COMPLEX else dtypes.float64
    if self.dtype is not wanted:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.title} but the operation's result requires dtype {wanted.title}"
        )
    result: Any = in_place_method("float_power_", float_power)(self, exponent)
    return result


@accepts_out
def square(input: Any) -> Any:
    """Return the square of each element."""
    return record(arithmetic.integer_power, (require_tensor("square", input),), (2,))


def positive(input: Any) -> Any:
    """Return `input` as it is; bool raises RuntimeError."""
    if require_tensor("positive", input).dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@accepts_out
def ldexp(input: Any, other: Any) -> Any:
    """Return ``input * 2 ** other``."""
    return arithmetic.ldexp(require_tensor("ldexp", input), require_tensor("ldexp", other, "other", 2))


def frexp(input: Any, *, out: Any = None) -> Any:
    """Return the mantissas, in [0.5, 1), and the exponents, such that ``input == mantissa * 2 ** exponent``.

    >>> import tapegrad
    >>> tapegrad.frexp(tapegrad.tensor([6.0])).exponent
    tensor([3], dtype=torch.int32)
    """
    result = _frexp_type(arithmetic.frexp(require_tensor("frexp", input)))
    return result if out is None else write_out("frexp", out, result, input)


@accepts_out
def xlogy(input: Any, other: Any) -> Any:
    """Return ``input * log(other)``, which is 0 where `input` is; either may be a number."""
    from ..primitives.transcendental import xlogy as primitive

    if not isinstance(other, Tensor):
        require_tensor("xlogy", input)
    name = None if isinstance(input, Tensor) is isinstance(other, Tensor) else "XlogyBackward2"
    if not isinstance(input, Tensor):
        name = "XlogyBackward1"
    return record(primitive, (operand("xlogy", input, "input", 1), operand("xlogy", other, "other", 2)), (), name)


@accepts_out
def heaviside(input: Any, values: Any) -> Any:
    """Return 0 for negative elements, 1 for positive ones, and `values` for zero."""
    from ..primitives.comparison import heaviside as primitive

    return primitive(require_tensor("heaviside", input), require_tensor("heaviside", values, "values", 2))


# Rounding, angles, and functions with a parameter


@accepts_out
def round(input: Any, *, decimals: int | None = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return each element rounded to `decimals` places, halves to even.

    >>> import tapegrad
    >>> tapegrad.round(tapegrad.tensor([0.5, 1.5, 2.7]))
    tensor([0., 2., 3.])
    """
    from ..primitives.rounding import round as primitive

    name = "RoundBackward0" if decimals is None else "RoundBackward1"
    return record(primitive, (require_tensor("round", input),), (decimals or 0,), name)


@accepts_out
def deg2rad(input: Any) -> Any:
    """Return degrees as radians."""
    return _scaled("deg2rad", "Deg2RadBackward0", input, 0.017453292519943295)


@accepts_out
def rad2deg(input: Any) -> Any:
    """Return radians as degrees."""
    return _scaled("rad2deg", "Rad2DegBackward0", input, 57.29577951308232)


def _scaled(name: str, shown: str, input: Any, factor: float) -> Any:
    if require_tensor(name, input).dtype.is_complex:
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return record(arithmetic.mul, (input, factor), (), shown)


@accepts_out
def logit(input: Any, eps: float | None = None) -> Any:
    """Return ``log(x / (1 - x))``; with `eps`, of x clamped to [eps, 1 - eps]."""
    from ..primitives.special import logit as primitive

    require_tensor("logit", input)
    if eps is None or eps < 0:
        return primitive(input)
    from ..primitives.selection import clamp

    start = here()
    return show("LogitBackward0", primitive(clamp(input, eps, 1 - eps)), start)


@accepts_out
def polygamma(n: int, input: Any) -> Any:
    """Return the n-th derivative of the digamma function of each element."""
    from ..primitives.special import polygamma as primitive

    require_tensor("polygamma", input, "input", 2)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return primitive(input, n=n)


@accepts_out
def mvlgamma(input: Any, p: int) -> Any:
    """Return the multivariate log-gamma function of dimension `p` of each element."""
    from ..primitives.special import lgamma

    require_tensor("mvlgamma", input)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    start = here()
    total = p * (p - 1) * 0.28618247146235004  # log(pi) / 4
    result: Any = total
    for place in range(p):
        result = lgamma(input - place / 2) + result
    return show("MvlgammaBackward0", result, start)


__all__ = [
    "add", "addcdiv", "addcmul", "deg2rad", "div", "divide", "float_power", "frexp", "heaviside", "ldexp", "lerp",
    "logit", "mvlgamma", "polygamma", "positive", "pow", "rad2deg", "round", "rsub", "square", "sub", "subtract",
    "true_divide", "xlogy",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name != "rsub"}
METHODS.update(
    in_place_methods("add addcdiv addcmul deg2rad div divide heaviside ldexp lerp logit mvlgamma pow rad2deg round square sub", METHODS)
)
METHODS.update(in_place_methods("subtract true_divide xlogy", METHODS))
_general_add_in_place = METHODS["add_"]
_general_sub_in_place = METHODS["sub_"]


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add ``alpha * other`` in place, and return the tensor."""
    if alpha.__class__ is float and isinstance(other, Tensor):
        if step_again(self, other, alpha):
            return self
        old, new = self._node.type, other._node.type
        if old.dtype is new.dtype and old.shape == new.shape and old.strides == new.strides and old.dtype.is_floating_point:
            check_writable(self)  # an optimiser's step: nothing is to be cast or broadcast
            return in_place(self, record(arithmetic.add_multiple, (self, other, alpha)))
    return _general_add_in_place(self, other, alpha=alpha)


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract ``alpha * other`` in place, and return the tensor."""
    if alpha.__class__ is float and isinstance(other, Tensor) and step_again(self, other, -alpha, "SubBackward0"):
        return self
    return _general_sub_in_place(self, other, alpha=alpha)


METHODS.update(add_=add_, sub_=sub_)


def _polygamma_method(self: Any, n: int) -> Any:
    """Return the n-th derivative of the digamma function of each element."""
    return polygamma(n, self)


METHODS.update(
    float_power_=float_power_,
    polygamma=_polygamma_method,
    polygamma_=in_place_method("polygamma_", _polygamma_method, "PolygammaBackward1"),
    __rdiv__=Tensor.__rtruediv__,
    __iadd__=augmented(METHODS["add_"]),
    __isub__=augmented(METHODS["sub_"]),
    __itruediv__=augmented(METHODS["div_"]),
    __idiv__=augmented(METHODS["div_"]),
    __ipow__=augmented(METHODS["pow_"]),
)
