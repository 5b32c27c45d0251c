"""Elementwise functions of one and two tensors."""

from __future__ import annotations

from typing import Any

from .. import operators
from ..primitives import arithmetic, bessel, comparison, division, rounding, selection, signs, special, transcendental
from ..tape.record import here, mark_composed, record
from ..tensor import Tensor
from .declare import binary, operand, require_tensor, unary, write_out
from .in_place import in_place_method

absolute = abs = unary("abs", signs.absolute)
acos = arccos = unary("acos", transcendental.acos)
acosh = arccosh = unary("acosh", transcendental.acosh)
angle = unary("angle", signs.angle)
asin = arcsin = unary("asin", transcendental.asin)
asinh = arcsinh = unary("asinh", transcendental.asinh)
atan = arctan = unary("atan", transcendental.atan)
atanh = arctanh = unary("atanh", transcendental.atanh)
bitwise_not = unary("bitwise_not", comparison.bitwise_not)
ceil = unary("ceil", rounding.ceil)
conj_physical = unary("conj_physical", signs.conj)
cos = unary("cos", transcendental.cos)
cosh = unary("cosh", transcendental.cosh)
digamma = unary("digamma", special.digamma)
erf = unary("erf", special.erf)
erfc = unary("erfc", special.erfc)
erfinv = unary("erfinv", special.erfinv)
exp = unary("exp", transcendental.exp)
exp2 = unary("exp2", transcendental.exp2)
expm1 = unary("expm1", transcendental.expm1)
floor = unary("floor", rounding.floor)
frac = unary("frac", rounding.frac)
i0 = unary("i0", bessel.i0)
isfinite = unary("isfinite", comparison.isfinite)
isinf = unary("isinf", comparison.isinf)
isnan = unary("isnan", comparison.isnan)
isneginf = unary("isneginf", comparison.isneginf)
isposinf = unary("isposinf", comparison.isposinf)
lgamma = unary("lgamma", special.lgamma)
log = unary("log", transcendental.log)
log10 = unary("log10", transcendental.log10)
log1p = unary("log1p", transcendental.log1p)
log2 = unary("log2", transcendental.log2)
logical_not = unary("logical_not", comparison.logical_not)
neg = negative = unary("neg", arithmetic.neg)
reciprocal = unary("reciprocal", arithmetic.reciprocal)
relu = unary("relu", selection.relu)
rsqrt = unary("rsqrt", arithmetic.rsqrt)
sgn = unary("sgn", signs.sgn)
sigmoid = unary("sigmoid", transcendental.sigmoid)
sign = unary("sign", signs.sign)
signbit = unary("signbit", comparison.signbit)
sin = unary("sin", transcendental.sin)
sinc = unary("sinc", special.sinc)
sinh = unary("sinh", transcendental.sinh)
sqrt = unary("sqrt", arithmetic.sqrt)
tan = unary("tan", transcendental.tan)
tanh = unary("tanh", transcendental.tanh)
trunc = fix = unary("trunc", rounding.trunc)

atan2 = arctan2 = binary("atan2", transcendental.atan2)
bitwise_and = binary("bitwise_and", comparison.bitwise_and)
bitwise_left_shift = binary("bitwise_left_shift", comparison.left_shift)
bitwise_or = binary("bitwise_or", comparison.bitwise_or)
bitwise_right_shift = binary("bitwise_right_shift", comparison.right_shift)
bitwise_xor = binary("bitwise_xor", comparison.bitwise_xor)
copysign = binary("copysign", signs.copysign)
eq = binary("eq", comparison.equal)
floor_divide = binary("floor_divide", division.floor_divide)
fmax = binary("fmax", selection.fmax)
fmin = binary("fmin", selection.fmin)
fmod = binary("fmod", division.fmod)
gcd = binary("gcd", comparison.gcd)
ge = greater_equal = binary("ge", comparison.greater_equal)
gt = greater = binary("gt", comparison.greater)
heaviside = binary("heaviside", comparison.heaviside)
hypot = binary("hypot", arithmetic.hypot)
igamma = binary("igamma", special.igamma)
igammac = binary("igammac", special.igammac)
lcm = binary("lcm", comparison.lcm)
ldexp = binary("ldexp", arithmetic.ldexp)
le = less_equal = binary("le", comparison.less_equal)
logaddexp = binary("logaddexp", transcendental.logaddexp)
logaddexp2 = binary("logaddexp2", transcendental.logaddexp2)
logical_and = binary("logical_and", comparison.logical_and)
logical_or = binary("logical_or", comparison.logical_or)
logical_xor = binary("logical_xor", comparison.logical_xor)
lt = less = binary("lt", comparison.less)
maximum = binary("maximum", selection.maximum)
minimum = binary("minimum", selection.minimum)
mul = multiply = binary("mul", arithmetic.mul)
ne = not_equal = binary("ne", comparison.not_equal)
nextafter = binary("nextafter", signs.nextafter)
remainder = binary("remainder", division.remainder)
xlogy = binary("xlogy", transcendental.xlogy)


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``input + alpha * other``.

    >>> import tapegrad
    >>> tapegrad.add(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([3.0, 4.0]), alpha=2)
    tensor([ 7., 10.])
    """
    return _add("add", arithmetic.add, input, other, alpha, out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Return ``input - alpha * other``.

    >>> import tapegrad
    >>> tapegrad.sub(tapegrad.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    return _add("sub", arithmetic.sub, input, other, alpha, out)


subtract = sub


def _add(name: str, primitive: Any, input: Any, other: Any, alpha: Any, out: Any) -> Any:
    first, second = operand(name, input, 1), operand(name, other, 2)
    if alpha.__class__ is int and alpha == 1:
        result = record(primitive, (first, second))
    else:
        _check_alpha(first, second, alpha)
        start = here()
        result = record(primitive, (first, second * alpha))
        if result.requires_grad:
            mark_composed(primitive.grad_name, result, start)
    return result if out is None else write_out(name, out, result, input, other)


def _check_alpha(first: Any, second: Any, alpha: Any) -> None:
    floating = any(not isinstance(v, (bool, int)) and (v.__class__ is float or v.dtype.category >= 2) for v in (first, second))
    if isinstance(alpha, bool) and not isinstance(second, bool) and second.dtype.name != "bool":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not floating:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Return ``other - alpha * input``."""
    return record(arithmetic.sub, (operand("rsub", other, 2), input if alpha == 1 else input * alpha), (), "RsubBackward1")


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """Return ``input / other``; rounded with `rounding_mode` "trunc" (towards zero) or "floor".

    >>> import tapegrad
    >>> tapegrad.div(tapegrad.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    modes = {None: arithmetic.div, "trunc": division.trunc_divide, "floor": division.div_floor}
    if rounding_mode not in modes:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    result = record(modes[rounding_mode], (operand("div", input, 1), operand("div", other, 2)))
    return result if out is None else write_out("div", out, result, input, other)


divide = div


def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Return ``input / other``."""
    return div(input, other, out=out)


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return ``input ** exponent``; either may be a number.

    >>> import tapegrad
    >>> tapegrad.pow(2, tapegrad.tensor([1.0, 3.0]))
    tensor([2., 8.])
    """
    if isinstance(input, Tensor):
        result = operators.power(input, exponent)
    else:
        result = record(arithmetic.power, (operators.operand_from(input), require_tensor("pow", exponent, "exponent", 2)), (), "PowBackward2")
    if result is NotImplemented:
        raise TypeError(f"pow(): argument 'exponent' (position 2) must be Tensor, not {type(exponent).__name__}")
    return result if out is None else write_out("pow", out, result, input, exponent)


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Return ``input ** exponent`` computed in double precision."""
    from .. import dtypes
    from ..primitives.casting import cast

    def double(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return cast(value, dtype=dtypes.complex128 if value.dtype.is_complex else dtypes.float64)

    result = pow(double(input), double(exponent))
    return result if out is None else write_out("float_power", out, result, input, exponent)


def square(input: Any, *, out: Any = None) -> Any:
    """Return the square of each element."""
    result = record(arithmetic.integer_power, (require_tensor("square", input),), (2,))
    return result if out is None else write_out("square", out, result, input)


def positive(input: Any) -> Any:
    """Return `input` as it is; bool raises RuntimeError."""
    if require_tensor("positive", input).dtype.name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def round(input: Any, *, decimals: int = 0, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return each element rounded to `decimals` places, halves to even."""
    result = rounding.round(require_tensor("round", input), decimals=decimals)
    return result if out is None else write_out("round", out, result, input)


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """Return the n-th derivative of the digamma function of each element."""
    result = special.polygamma(require_tensor("polygamma", input, "input", 2), n=n)
    return result if out is None else write_out("polygamma", out, result, input)


def deg2rad(input: Any, *, out: Any = None) -> Any:
    """Return degrees as radians."""
    result = require_tensor("deg2rad", input) * 0.017453292519943295
    return result if out is None else write_out("deg2rad", out, result, input)


def rad2deg(input: Any, *, out: Any = None) -> Any:
    """Return radians as degrees."""
    result = require_tensor("rad2deg", input) * 57.29577951308232
    return result if out is None else write_out("rad2deg", out, result, input)


def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """Return ``log(x / (1 - x))``; with `eps`, of x clamped to [eps, 1 - eps]."""
    if eps is not None:
        input = record(selection.clamp, (require_tensor("logit", input), eps, 1 - eps))
    result = special.logit(require_tensor("logit", input))
    return result if out is None else write_out("logit", out, result, input)


def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: Any = None) -> Any:
    """Return the elements with NaN and infinities replaced: by 0 and the dtype's largest and least number."""
    import numpy as np

    from .. import dtypes

    dtype = require_tensor("nan_to_num", input).dtype
    if dtype.category < dtypes.FLOAT:
        return input.clone()
    limits = np.finfo(dtypes.array_type(dtype.to_real())) if dtype is not dtypes.bfloat16 else None
    largest = float(limits.max) if limits is not None else 3.3895313892515355e38
    result = record(
        selection.nan_to_num,
        (
            input,
            0.0 if nan is None else float(nan),
            largest if posinf is None else float(posinf),
            -largest if neginf is None else float(neginf),
        ),
    )
    return result if out is None else write_out("nan_to_num", out, result, input)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
    """Return ``input + value * tensor1 * tensor2``."""
    return _addc("addcmul", "AddcmulBackward0", input, tensor1, tensor2, value, out)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
    """Return ``input + value * tensor1 / tensor2``."""
    return _addc("addcdiv", "AddcdivBackward0", input, tensor1, tensor2, value, out)


def _addc(name: str, shown: str, input: Any, first: Any, second: Any, value: Any, out: Any) -> Any:
    start = here()
    product = first * second if name == "addcmul" else first / second
    if value.__class__ is not int or value != 1:
        product = product * value
    result = input + product
    if result.requires_grad:
        mark_composed(shown, result, start)
    return result if out is None else write_out(name, out, result, input, first, second)


def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """Return ``input + weight * (end - input)``."""
    start = here()
    result = input + weight * (end - input)
    if result.requires_grad:
        mark_composed("LerpBackward0", result, start)
    return result if out is None else write_out("lerp", out, result, input, end, weight)


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
    name = "ClampBackward0" if with_tensors else "ClampBackward1"
    if max is None:
        result = record(selection.clamp_min, (input, min), (), "ClampMinBackward1" if with_tensors else name)
    elif min is None:
        result = record(selection.clamp_max, (input, max), (), "ClampMaxBackward1" if with_tensors else name)
    else:
        result = record(selection.clamp, (input, min, max), (), name)
    return result if out is None else write_out("clamp", out, result, input, min, max)


clip = clamp


def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """Return the elements, at least `min`."""
    result = record(selection.clamp_min, (input, min), (), "ClampMinBackward1" if isinstance(min, Tensor) else "ClampMinBackward0")
    return result if out is None else write_out("clamp_min", out, result, input, min)


def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """Return the elements, at most `max`."""
    result = record(selection.clamp_max, (input, max), (), "ClampMaxBackward1" if isinstance(max, Tensor) else "ClampMaxBackward0")
    return result if out is None else write_out("clamp_max", out, result, input, max)


__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "conj_physical",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "div",
    "divide",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "gcd",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "hypot",
    "i0",
    "igamma",
    "igammac",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lcm",
    "ldexp",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "nan_to_num",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "positive",
    "pow",
    "rad2deg",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "xlogy",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name != "polygamma"}
METHODS["polygamma"] = lambda self, n: polygamma(n, self)
# The methods of the primitives used most take the operators' short path.
METHODS.update(
    abs=operators.unary(signs.absolute),
    cos=operators.unary(transcendental.cos),
    exp=operators.unary(transcendental.exp),
    log=operators.unary(transcendental.log),
    neg=operators.unary(arithmetic.neg),
    relu=operators.unary(selection.relu),
    rsqrt=operators.unary(arithmetic.rsqrt),
    sigmoid=operators.unary(transcendental.sigmoid),
    sin=operators.unary(transcendental.sin),
    sqrt=operators.unary(arithmetic.sqrt),
    tanh=operators.unary(transcendental.tanh),
)
_IN_PLACE = (
    "abs acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh bitwise_and "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh "
    "deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd ge greater "
    "greater_equal gt hypot i0 igamma igammac lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 logical_and logical_not "
    "logical_or logical_xor logit lt mul multiply nan_to_num ne neg negative nextafter not_equal pow rad2deg reciprocal relu remainder "
    "round rsqrt sgn sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh true_divide trunc xlogy absolute"
).split()
METHODS.update({f"{name}_": in_place_method(f"{name}_", METHODS[name]) for name in _IN_PLACE})
# Python's in-place operators.
METHODS.update(
    __iadd__=METHODS["add_"],
    __isub__=METHODS["sub_"],
    __imul__=METHODS["mul_"],
    __itruediv__=METHODS["div_"],
    __ifloordiv__=METHODS["floor_divide_"],
    __imod__=METHODS["remainder_"],
    __ipow__=METHODS["pow_"],
    __iand__=METHODS["bitwise_and_"],
    __ior__=METHODS["bitwise_or_"],
    __ixor__=METHODS["bitwise_xor_"],
    __ilshift__=METHODS["bitwise_left_shift_"],
    __irshift__=METHODS["bitwise_right_shift_"],
)
