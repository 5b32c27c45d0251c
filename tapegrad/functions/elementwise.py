"""Elementwise functions of one and two tensors, each of which is one primitive."""

from __future__ import annotations

from typing import Any

from .. import operators
from .declare import binary, unary
from .in_place import augmented, in_place_method, in_place_methods

absolute = abs = unary("abs", "signs.absolute")
acos = arccos = unary("acos", "transcendental.acos")
acosh = arccosh = unary("acosh", "transcendental.acosh")
angle = unary("angle", "signs.angle")
asin = arcsin = unary("asin", "transcendental.asin")
asinh = arcsinh = unary("asinh", "transcendental.asinh")
atan = arctan = unary("atan", "transcendental.atan")
atanh = arctanh = unary("atanh", "transcendental.atanh")
bitwise_not = unary("bitwise_not", "comparison.bitwise_not")
ceil = unary("ceil", "rounding.ceil")
cos = unary("cos", "transcendental.cos")
cosh = unary("cosh", "transcendental.cosh")
digamma = unary("digamma", "special.digamma")
erf = unary("erf", "special.erf")
erfc = unary("erfc", "special.erfc")
erfinv = unary("erfinv", "special.erfinv")
exp = unary("exp", "transcendental.exp")
exp2 = unary("exp2", "transcendental.exp2")
expm1 = unary("expm1", "transcendental.expm1")
floor = unary("floor", "rounding.floor")
frac = unary("frac", "rounding.frac")
i0 = unary("i0", "bessel.i0")
isfinite = unary("isfinite", "comparison.isfinite")
isinf = unary("isinf", "comparison.isinf")
isnan = unary("isnan", "comparison.isnan")
isneginf = unary("isneginf", "comparison.isneginf")
isposinf = unary("isposinf", "comparison.isposinf")
lgamma = unary("lgamma", "special.lgamma")
log = unary("log", "transcendental.log")
log10 = unary("log10", "transcendental.log10")
log1p = unary("log1p", "transcendental.log1p")
log2 = unary("log2", "transcendental.log2")
logical_not = unary("logical_not", "comparison.logical_not")
neg = negative = unary("neg", "arithmetic.neg")
reciprocal = unary("reciprocal", "arithmetic.reciprocal")
relu = unary("relu", "selection.relu")
rsqrt = unary("rsqrt", "arithmetic.rsqrt")
sgn = unary("sgn", "signs.sgn")
sigmoid = unary("sigmoid", "transcendental.sigmoid")
sign = unary("sign", "signs.sign")
signbit = unary("signbit", "comparison.signbit")
sin = unary("sin", "transcendental.sin")
sinc = unary("sinc", "special.sinc")
sinh = unary("sinh", "transcendental.sinh")
sqrt = unary("sqrt", "arithmetic.sqrt")
tan = unary("tan", "transcendental.tan")
tanh = unary("tanh", "transcendental.tanh")
trunc = fix = unary("trunc", "rounding.trunc")

atan2 = arctan2 = binary("atan2", "transcendental.atan2", numbers="none")
bitwise_and = binary("bitwise_and", "comparison.bitwise_and", numbers="either")
bitwise_left_shift = binary("bitwise_left_shift", "comparison.left_shift", numbers="either")
bitwise_or = binary("bitwise_or", "comparison.bitwise_or", numbers="either")
bitwise_right_shift = binary("bitwise_right_shift", "comparison.right_shift", numbers="either")
bitwise_xor = binary("bitwise_xor", "comparison.bitwise_xor", numbers="either")
copysign = binary("copysign", "signs.copysign", shown=("CopysignBackward1", "CopysignBackward0"))
eq = binary("eq", "comparison.equal")
floor_divide = binary("floor_divide", "division.floor_divide", numbers="both")
fmax = binary("fmax", "selection.fmax", numbers="none")
fmin = binary("fmin", "selection.fmin", numbers="none")
fmod = binary("fmod", "division.fmod", shown=("FmodBackward0", "FmodBackward1"))
gcd = binary("gcd", "comparison.gcd", numbers="none")
ge = greater_equal = binary("ge", "comparison.greater_equal")
gt = greater = binary("gt", "comparison.greater")
hypot = binary("hypot", "arithmetic.hypot", numbers="none")
igamma = binary("igamma", "special.igamma", numbers="none")
igammac = binary("igammac", "special.igammac", numbers="none")
lcm = binary("lcm", "comparison.lcm", numbers="none")
le = less_equal = binary("le", "comparison.less_equal")
logaddexp = binary("logaddexp", "transcendental.logaddexp", numbers="none")
logaddexp2 = binary("logaddexp2", "transcendental.logaddexp2", numbers="none")
logical_and = binary("logical_and", "comparison.logical_and", numbers="none")
logical_or = binary("logical_or", "comparison.logical_or", numbers="none")
logical_xor = binary("logical_xor", "comparison.logical_xor", numbers="none")
lt = less = binary("lt", "comparison.less")
maximum = binary("maximum", "selection.maximum", numbers="none")
minimum = binary("minimum", "selection.minimum", numbers="none")
mul = multiply = binary("mul", "arithmetic.mul", numbers="both")
ne = not_equal = binary("ne", "comparison.not_equal")
nextafter = binary("nextafter", "signs.nextafter", numbers="none")
remainder = binary("remainder", "division.remainder", numbers="either", shown=("RemainderBackward0", "RemainderBackward1"))

__all__ = [
    "abs", "absolute", "acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "digamma", "eq", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "fix", "floor", "floor_divide", "fmax", "fmin", "fmod", "frac", "gcd", "ge", "greater",
    "greater_equal", "gt", "hypot", "i0", "igamma", "igammac", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "lcm", "le", "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "multiply", "ne", "neg",
    "negative", "nextafter", "not_equal", "reciprocal", "relu", "remainder", "rsqrt", "sgn", "sigmoid", "sign", "signbit",
    "sin", "sinc", "sinh", "sqrt", "tan", "tanh", "trunc",
]

def _modulo(self: Any, other: Any) -> Any:
    """Return ``self % other``."""
    return NotImplemented if operators.operand_from(other) is None else remainder(self, other)


def _real_absolute(self: Any) -> Any:
    """Return the absolute values of real numbers: in place, those of complex ones have no room for their dtype."""
    if self.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return absolute(self)


METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
# The methods of the primitives used most take the operators' short path.
METHODS.update(
    abs=operators.unary("signs.absolute"),
    cos=operators.unary("transcendental.cos"),
    exp=operators.unary("transcendental.exp"),
    log=operators.unary("transcendental.log"),
    neg=operators.unary("arithmetic.neg"),
    relu=operators.unary("selection.relu"),
    rsqrt=operators.unary("arithmetic.rsqrt"),
    sigmoid=operators.unary("transcendental.sigmoid"),
    sin=operators.unary("transcendental.sin"),
    sqrt=operators.unary("arithmetic.sqrt"),
    tanh=operators.unary("transcendental.tanh"),
)
METHODS.update(
    in_place_methods(
        "acos arccos arcsin arctan arctan2 asin atan atan2 bitwise_and "
        "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil copysign cos cosh digamma eq erf erfc "
        "erfinv exp exp2 expm1 fix floor floor_divide fmod frac gcd ge greater greater_equal gt hypot i0 igamma "
        "igammac lcm le less less_equal lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor lt mul "
        "multiply ne neg negative nextafter not_equal reciprocal relu remainder rsqrt sgn sigmoid sign sin sinc sinh sqrt tan "
        "tanh trunc",
        METHODS,
    )
)
METHODS.update(
    {
        f"{name}_": in_place_method(f"{name}_", METHODS[name], f"{shown}Backward1")
        for names, shown in (("acosh arccosh", "Acosh"), ("asinh arcsinh", "Asinh"), ("atanh arctanh", "Atanh"))
        for name in names.split()
    }
)
METHODS.update({name: in_place_method(name, _real_absolute) for name in ("abs_", "absolute_")})
# Python's in-place operators.
METHODS.update(
    __mod__=_modulo,
    __imul__=augmented(METHODS["mul_"]),
    __ifloordiv__=augmented(METHODS["floor_divide_"]),
    __imod__=augmented(METHODS["remainder_"]),
    __iand__=augmented(METHODS["bitwise_and_"]),
    __ior__=augmented(METHODS["bitwise_or_"]),
    __ixor__=augmented(METHODS["bitwise_xor_"]),
    __ilshift__=augmented(METHODS["bitwise_left_shift_"]),
    __irshift__=augmented(METHODS["bitwise_right_shift_"]),
)
