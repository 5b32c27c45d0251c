"""Float64 arithmetic in two words: a high one and what its rounding took away (Dekker, 1971; Knuth, TAOCP 2, 4.2.2)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .instructions import exactly, instruction

_SPLITTER = 2.0**27 + 1


def _has_fused_multiply(context: Any) -> bool:
    """Whether the processor compiled for has fused multiply-add."""
    triple, _, features = context.codegen().magic_tuple()
    return triple.startswith(("aarch64", "arm64")) or "+fma" in features.split(",")


@instruction
def product_error(typing_context: Any, x: Any, y: Any, product: Any) -> Any:
    """Return x*y - product, for product = x*y rounded: by fused multiply-add, or in halves where there is none."""

    def halves(builder: Any, value: Any) -> Any:
        scaled = builder.fmul(value, ir.Constant(value.type, _SPLITTER))
        high = builder.fsub(scaled, builder.fsub(scaled, value))
        return high, builder.fsub(value, high)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, product = arguments
        if _has_fused_multiply(context):
            return builder.fma(x, y, builder.fneg(product))
        (x_high, x_low), (y_high, y_low) = halves(builder, x), halves(builder, y)
        error = builder.fsub(builder.fmul(x_high, y_high), product)
        for left, right in ((x_high, y_low), (x_low, y_high), (x_low, y_low)):
            error = builder.fadd(error, builder.fmul(left, right))
        return error

    return x(x, x, x), generate


@exactly
def add(greater: Any, smaller: Any) -> Any:
    """Return a sum in two words; ``greater`` must be 0 or have the greater magnitude."""
    high = greater + smaller
    return high, smaller - (high - greater)


@exactly
def add_any(x: Any, y: Any) -> Any:
    """Return a sum in two words, whichever has the greater magnitude."""
    high = x + y
    taken = high - x
    return high, (x - (high - taken)) + (y - taken)


@exactly
def multiply(x: Any, y: Any) -> Any:
    """Return a product in two words."""
    high = x * y
    return high, product_error(x, y, high)


@exactly
def divide(numerator: Any, numerator_low: Any, denominator: Any, denominator_low: Any) -> Any:
    """Return a quotient of two words each, in two words; the reciprocal of the denominator must not overflow."""
    inverse = 1.0 / denominator
    quotient = numerator * inverse
    product, product_low = multiply(quotient, denominator)
    rest = ((numerator - product) - product_low) + (numerator_low - quotient * denominator_low)
    return quotient, rest * inverse
