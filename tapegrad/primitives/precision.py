"""What several families of primitives share: rounding once in half precision, and the dtypes they refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, COMPLEX, INTEGER
from ..tape.types import Type
from . import type_rules
from .type_rules import Casts

CastRule = Callable[[str, Sequence[Type]], Casts]


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a NumPy function of several steps in float32 for the 2-byte floats, so that it rounds once, at the end.

    The function gets arrays, also for operands that are Python numbers.
    """

    def run(*operands: Any, **parameters: Any) -> Any:
        dtype = np.result_type(*operands)
        is_half = dtype.itemsize == 2 and dtype.kind not in "iu"
        arrays = [np.asarray(operand, np.float32 if is_half else dtype) for operand in operands]
        result = function(*arrays, **parameters)
        return result.astype(dtype) if is_half else result

    return run


def refusing(
    casts: CastRule,
    *categories: int,
    message: str = "\"{name}_cpu\" not implemented for '{dtype}'",
    error: type[Exception] = NotImplementedError,
) -> CastRule:
    """Return `casts`, but raising for operands whose promoted dtype is of these categories."""

    def checked(name: str, types: Sequence[Type]) -> Casts:
        dtype = type_rules.result_dtype(types)
        if dtype.category in categories:
            raise error(message.format(name=name, dtype=dtype.title))
        return casts(name, types)

    return checked


def type_rule_of(name: str, casts: CastRule) -> Callable[..., Any]:
    """Return the type rule of an elementwise primitive that `declare.other` or `Primitive` declares."""

    def type_rule(*types: Type, **_parameters: Any) -> Any:
        return casts(name, types)[1], *type_rules.broadcast(name, types)

    return type_rule


def of_first(casts: CastRule) -> CastRule:
    """Return what `casts` gives for the first operand alone; the others are numbers, or tensors cast to its dtype."""
    return lambda name, types: casts(name, types[:1])


real = refusing(type_rules.promoted, COMPLEX)
number = refusing(type_rules.promoted, BOOL, COMPLEX)
floating = refusing(type_rules.promoted, BOOL, INTEGER, COMPLEX)
first_floating = of_first(floating)
floating_or_complex = refusing(type_rules.promoted, BOOL, INTEGER)
real_to_float = refusing(type_rules.promoted_to_float, COMPLEX)
vector_real_to_float = refusing(type_rules.promoted_to_float, COMPLEX, message="\"{name}_vml_cpu\" not implemented for '{dtype}'")


def missing(message: str, error: type[Exception] = RuntimeError) -> Callable[[Any], Any]:
    """Return the rule of a derivative that PyTorch does not have either: it raises when it is asked for."""

    def rule(g: Any) -> Any:
        raise error(message)

    rule.is_missing = True  # type: ignore[attr-defined]  # for the tests that go over the table
    return rule


def from_scipy(name: str) -> Callable[..., Any]:
    """Return the function of scipy.special with this name; SciPy is imported when it is first called."""

    def function(*operands: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*operands)

    return in_single(function)
