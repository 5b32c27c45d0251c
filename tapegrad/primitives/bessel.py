"""Bessel and Airy functions. They are part of the names of special.

The exponentially scaled and modified ones that PyTorch differentiates (i0, i1, i0e, i1e) have derivatives; the others
have none there, and their results do not require grad.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from .arithmetic import sgn
from .declare import Primitive, elementwise
from .precision import from_scipy, in_single, real_to_float, vector_real_to_float
from .selection import where

_EPSILON = {dtypes.float32: 2.0**-23, dtypes.float64: 2.0**-52, dtypes.float16: 2.0**-10, dtypes.bfloat16: 2.0**-7}

# Modified Bessel functions of the first kind, with derivatives


def _i1_rule(g: Any, a: Any, r: Any, rtype: Type) -> Any:
    is_large, divisor = _apart_from_zero(a, rtype)
    return g * where(is_large, i0(divisor) - r / divisor, 0.5)


def _i1e_rule(g: Any, a: Any, r: Any, rtype: Type) -> Any:
    is_large, divisor = _apart_from_zero(a, rtype)
    return g * where(is_large, i0e(divisor) - r * (sgn(divisor) + 1 / divisor), 0.5)


def _apart_from_zero(a: Any, rtype: Type) -> tuple[Any, Any]:
    """Return where a is not next to zero, and a with something harmless to divide by elsewhere."""
    epsilon = _EPSILON[rtype.dtype]
    is_large = (a > epsilon) | (a < -epsilon)
    return is_large, where(is_large, a, epsilon)


i0 = elementwise(
    "i0",
    from_scipy("i0"),
    (lambda g, a: g * i1(a),),
    casts=vector_real_to_float,
    torch=lambda torch, a: torch.special.i0(a),
)

i0e = elementwise(
    "i0e",
    from_scipy("i0e"),
    (lambda g, a, r: g * (i1e(a) - sgn(a) * r),),
    casts=real_to_float,
    torch=lambda torch, a: torch.special.i0e(a),
    grad_name="SpecialI0EBackward0",
)

i1: Primitive = elementwise(
    "i1",
    from_scipy("i1"),
    (_i1_rule,),
    casts=real_to_float,
    torch=lambda torch, a: torch.special.i1(a),
    grad_name="SpecialI1Backward0",
)

i1e: Primitive = elementwise(
    "i1e",
    from_scipy("i1e"),
    (_i1e_rule,),
    casts=real_to_float,
    torch=lambda torch, a: torch.special.i1e(a),
    grad_name="SpecialI1EBackward0",
)

# Without derivatives


def _airy_ai(a: Any) -> Any:
    """Ai, which is too small for a float64 above 104; SciPy gives NaN somewhere above that."""
    from scipy import special

    return np.where(np.greater(a, 104), 0, special.airy(a)[0])


def _spherical_bessel_j0(a: Any) -> Any:
    return np.where(a == 0, 1, np.where(np.isinf(a), 0, np.sin(a) / a))


bessel_j0 = elementwise(
    "bessel_j0",
    from_scipy("j0"),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.bessel_j0(a),
)

bessel_j1 = elementwise(
    "bessel_j1",
    from_scipy("j1"),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.bessel_j1(a),
)

bessel_y0 = elementwise(
    "bessel_y0",
    from_scipy("y0"),
    None,
    casts=real_to_float,
    domain=(1.0, 1.4),
    torch=lambda torch, a: torch.special.bessel_y0(a),
)

bessel_y1 = elementwise(
    "bessel_y1",
    from_scipy("y1"),
    None,
    casts=real_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.special.bessel_y1(a),
)

modified_bessel_i0 = elementwise(
    "modified_bessel_i0",
    from_scipy("i0"),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.modified_bessel_i0(a),
)

modified_bessel_i1 = elementwise(
    "modified_bessel_i1",
    from_scipy("i1"),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.modified_bessel_i1(a),
)

modified_bessel_k0 = elementwise(
    "modified_bessel_k0",
    from_scipy("k0"),
    None,
    casts=real_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.special.modified_bessel_k0(a),
)

modified_bessel_k1 = elementwise(
    "modified_bessel_k1",
    from_scipy("k1"),
    None,
    casts=real_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.special.modified_bessel_k1(a),
)

scaled_modified_bessel_k0 = elementwise(
    "scaled_modified_bessel_k0",
    from_scipy("k0e"),
    None,
    casts=real_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.special.scaled_modified_bessel_k0(a),
)

scaled_modified_bessel_k1 = elementwise(
    "scaled_modified_bessel_k1",
    from_scipy("k1e"),
    None,
    casts=real_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.special.scaled_modified_bessel_k1(a),
)

spherical_bessel_j0 = elementwise(
    "spherical_bessel_j0",
    in_single(_spherical_bessel_j0),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.spherical_bessel_j0(a),
    kernel="where(a == T(0), T(1), where(isinf(a), T(0), sin(a) / a))",
)

airy_ai = elementwise(
    "airy_ai",
    in_single(_airy_ai),
    None,
    casts=real_to_float,
    torch=lambda torch, a: torch.special.airy_ai(a),
)
