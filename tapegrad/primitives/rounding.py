"""Rounding to whole numbers. The derivative is zero everywhere, as in PyTorch, but for frac."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, COMPLEX, INTEGER
from ..tape.constants import zeros_of
from ..tape.types import Type
from . import batching, type_rules
from .declare import Primitive, Sample, elementwise
from .precision import floating, in_single, refusing
from .type_rules import promoted

_roundable = refusing(
    refusing(promoted, COMPLEX, message="{name} is not supported for complex inputs"),
    BOOL,
    message="\"{name}_vml_cpu\" not implemented for '{dtype}'",
)

_rounds = refusing(promoted, BOOL, COMPLEX, message="\"{name}_vml_cpu\" not implemented for '{dtype}'")


def _zero(g: Any, rtype: Type) -> Any:
    return zeros_of(rtype)


def _of_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function for floats; integers are whole already."""
    return lambda a: a if a.dtype.kind in "iu" else function(a)


def _kernel_of(function: str) -> Callable[[Sequence[Type]], str]:
    return lambda types: "a" if types[0].dtype.category == INTEGER else f"{function}(a)"


floor = elementwise(
    "floor",
    _of_floats(np.floor),
    (_zero,),
    casts=_roundable,
    torch=lambda torch, a: torch.floor(a),
    kernel=_kernel_of("floor"),
    kernel_on="number",
)

ceil = elementwise(
    "ceil",
    _of_floats(np.ceil),
    (_zero,),
    casts=_roundable,
    torch=lambda torch, a: torch.ceil(a),
    kernel=_kernel_of("ceil"),
    kernel_on="number",
)

trunc = elementwise(
    "trunc",
    _of_floats(np.trunc),
    (_zero,),
    casts=_roundable,
    torch=lambda torch, a: torch.trunc(a),
    kernel=_kernel_of("trunc"),
    kernel_on="number",
)


def _round(a: Any, decimals: int) -> Any:
    """Round half to even; at decimals by scaling, as PyTorch does."""
    if decimals == 0:
        return a if a.dtype.kind in "iu" else np.rint(a)
    scale = a.dtype.type(10.0 ** abs(decimals))
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _round_kernel(types: Sequence[Type], decimals: int) -> str:
    scale = f"T({10.0 ** abs(decimals)})"
    if decimals == 0:
        return _kernel_of("rint")(types)
    return f"rint(a * {scale}) / {scale}" if decimals > 0 else f"rint(a / {scale}) * {scale}"


def _round_type(a: Type, decimals: int) -> Any:
    if decimals != 0 and a.dtype.category == INTEGER:
        raise NotImplementedError(f"\"round_cpu\" not implemented for '{a.dtype.title}'")
    return _rounds("round", (a,))[1], *type_rules.broadcast("round", (a,))


def _round_samples() -> list[Sample]:
    """Operands a little beyond one decimal, away from the edges of rounding to any of these decimals."""
    a = np.random.default_rng(0).integers(-2000, 2000, (4, 6)) / 10 + 0.02
    return [Sample(a, decimals=d) for d in (0, 1, 3, -2)] + [Sample(part, decimals=0) for part in (a.T[::2], a[0, 0], a[:0])]


round = Primitive(  # noqa: A001 - PyTorch's name for it
    "round",
    in_single(_round),
    _round_type,
    parameters=("decimals",),
    derivatives=(_zero,),
    casts=promoted,
    batch=batching.elementwise,
    samples=_round_samples,
    torch=lambda torch, a, decimals: torch.round(a, decimals=decimals),
    kernel=_round_kernel,
    kernel_on="number",
)

frac = elementwise(
    "frac",
    in_single(lambda a: a - np.trunc(a)),
    (lambda g: g,),
    casts=floating,
    torch=lambda torch, a: torch.frac(a),
    kernel="a - trunc(a)",
)
