"""Special functions of statistics and analysis, on SciPy's, which is imported when one is computed.

Bessel functions and orthogonal polynomials are in files of their own, and are part of this module's names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import COMPLEX
from .bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from .declare import Primitive, Sample, elementwise
from .polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from .precision import floating, from_scipy, in_single, missing, real_to_float, refusing, vector_real_to_float
from .selection import where
from .transcendental import cos, exp, log, sin
from .type_rules import promoted_to_float

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "igamma",
    "igammac",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "lgamma",
    "log_ndtr",
    "logit",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "ndtr",
    "ndtri",
    "polygamma",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "spherical_bessel_j0",
    "zeta",
]

PI = math.pi
ROOT_2 = math.sqrt(2)
ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)
INFINITY = float("inf")
NAN = float("nan")

# The error function and the normal distribution

erf = elementwise(
    "erf",
    from_scipy("erf"),
    (lambda g, a: 2 / ROOT_PI * exp(-(a * a)) * g,),
    casts=vector_real_to_float,
    torch=lambda torch, a: torch.erf(a),
    kernel="erf(a)",
)

erfc = elementwise(
    "erfc",
    from_scipy("erfc"),
    (lambda g, a: -2 / ROOT_PI * exp(-(a * a)) * g,),
    casts=vector_real_to_float,
    torch=lambda torch, a: torch.erfc(a),
    kernel="erfc(a)",
)

erfcx = elementwise(
    "erfcx",
    from_scipy("erfcx"),
    (lambda g, a, r: g * (2 * a * r - 2 / ROOT_PI),),
    casts=real_to_float,
    torch=lambda torch, a: torch.special.erfcx(a),
    grad_name="SpecialErfcxBackward0",
)


def _erfinv(a: Any) -> Any:
    """SciPy's loses the sign of zero."""
    from scipy import special

    return np.copysign(special.erfinv(a), a)


erfinv = elementwise(
    "erfinv",
    in_single(_erfinv),
    (lambda g, r: ROOT_PI / 2 * exp(r * r) * g,),
    casts=vector_real_to_float,
    domain=(-0.9, 0.9),
    torch=lambda torch, a: torch.erfinv(a),
    kernel="erfinv(a)",
)

ndtr = elementwise(
    "ndtr",
    from_scipy("ndtr"),
    (lambda g, a: g * exp(a * a * -0.5) / ROOT_2PI,),
    casts=real_to_float,
    domain=(-0.9, 2.0),
    torch=lambda torch, a: torch.special.ndtr(a),
    grad_name="MulBackward1",
    kernel=f"erfc(a * T({-1 / ROOT_2})) * T(0.5)",
)

ndtri = elementwise(
    "ndtri",
    from_scipy("ndtri"),
    (lambda g, r: g * ROOT_2PI * exp(r * r * 0.5),),
    casts=real_to_float,
    domain=(0.1, 0.9),
    torch=lambda torch, a: torch.special.ndtri(a),
    grad_name="SpecialNdtriBackward0",
)

log_ndtr = elementwise(
    "log_ndtr",
    from_scipy("log_ndtr"),
    (lambda g, a: g / erfcx(a / -ROOT_2) * (2 / ROOT_2PI),),
    casts=real_to_float,
    torch=lambda torch, a: torch.special.log_ndtr(a),
    grad_name="SpecialLogNdtrBackward0",
)

# The gamma function. The samples are large: only there is PyTorch's trigamma accurate to 1e-10.


def _lgamma(a: Any) -> Any:
    """SciPy's is minus infinity at minus infinity."""
    from scipy import special

    return np.where(a == -np.inf, np.inf, special.gammaln(a))


lgamma = elementwise(
    "lgamma",
    in_single(_lgamma),
    (lambda g, a: g * digamma(a),),
    casts=vector_real_to_float,
    domain=(9.0, 20.0),
    torch=lambda torch, a: torch.lgamma(a),
    kernel="lgamma(a)",
)

_digamma_casts = refusing(promoted_to_float, COMPLEX, message="\"digamma\" not implemented for '{dtype}'")

digamma: Primitive = elementwise(
    "digamma",
    from_scipy("digamma"),
    (lambda g, a: g * polygamma(a, n=1),),
    casts=_digamma_casts,
    domain=(9.0, 20.0),
    torch=lambda torch, a: torch.digamma(a),
    kernel="digamma(a)",
)


def _trigamma(a: Any) -> Any:
    """The derivative of digamma, by its series for large operands and reflected for small ones."""
    from scipy.special import zeta as hurwitz

    is_small = a < 0.5
    sine = np.sin(PI * (a - np.floor(a)))
    positive = hurwitz(2.0, np.where(is_small, 1 - a, a))
    return np.where(is_small, (PI / sine) ** 2 - positive, positive)


def _polygamma(a: Any, n: int) -> Any:
    from scipy import special

    if n == 0:
        return special.digamma(a)
    if n == 1:
        return _trigamma(a)
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * special.zeta(n + 1.0, a)


def _polygamma_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    large, small = random.uniform(9.0, 20.0, (4, 6)), random.uniform(0.5, 3.0, (4, 6))
    orders = [Sample(large, n=0), Sample(large, n=1), Sample(small, n=2), Sample(small, n=3), Sample(small, n=4)]
    return orders + [Sample(part, n=1) for part in (large.T[::2], large[0, 0], large[:0])]


# The derivative of digamma of order n.
polygamma: Primitive = elementwise(
    "polygamma",
    in_single(_polygamma),
    (lambda g, a, n: g * polygamma(a, n=n + 1),),
    casts=_digamma_casts,
    parameters=("n",),
    samples=_polygamma_samples,
    torch=lambda torch, a, n: torch.polygamma(n, a),
    kernel=lambda n: "digamma(a)" if n == 0 else None,
)

igamma = elementwise(
    "igamma",
    from_scipy("gammainc"),
    (
        missing("the derivative for 'igamma: input' is not implemented.", NotImplementedError),
        lambda g, a, b: g * exp((a - 1) * log(b) - b - lgamma(a)),
    ),
    casts=floating,
    domain=(0.5, 3.0),
    torch=lambda torch, a, b: torch.igamma(a, b),
)

igammac = elementwise(
    "igammac",
    from_scipy("gammaincc"),
    (
        missing("the derivative for 'igammac: input' is not implemented.", NotImplementedError),
        lambda g, a, b: -g * exp((a - 1) * log(b) - b - lgamma(a)),
    ),
    casts=floating,
    domain=(0.5, 3.0),
    torch=lambda torch, a, b: torch.igammac(a, b),
)

# Hurwitz's zeta function
zeta: Primitive = elementwise(
    "zeta",
    from_scipy("zeta"),
    (
        missing("the derivative for 'zeta' is not implemented.", NotImplementedError),
        lambda g, a, b: g * -a * zeta(a + 1, b),
    ),
    casts=real_to_float,
    domain=((1.5, 4.0), (0.5, 3.0)),
    torch=lambda torch, a, b: torch.special.zeta(a, b),
    grad_name="SpecialZetaBackward0",
)

# Others


def _sinc(a: Any) -> Any:
    angle = PI * a
    return np.where(angle == 0, 1, np.sin(angle) / angle)


def _sinc_rule(g: Any, a: Any) -> Any:
    angle = a * PI
    divisor = angle * a
    return where(divisor == 0, 0, g * ((angle * cos(angle) - sin(angle)) / divisor))


sinc = elementwise(
    "sinc",
    in_single(_sinc),
    (_sinc_rule,),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.sinc(a),
    kernel=f"where(a * T({PI}) == T(0), T(1), sin(a * T({PI})) / (a * T({PI})))",
)

logit = elementwise(
    "logit",
    in_single(lambda a: np.log(a / (1 - a))),
    (lambda g, a: where((a < 0) | (a > 1), NAN, g / (a * (1 - a))),),
    casts=real_to_float,
    domain=(0.1, 0.4),
    torch=lambda torch, a: torch.logit(a),
    kernel="log(a / (T(1) - a))",
)


def _entr(a: Any) -> Any:
    inside = np.where(a == 0, 0, -a * np.log(a))
    return np.where(a < 0, -np.inf, inside)


entr = elementwise(
    "entr",
    in_single(_entr),
    (lambda g, a: g * where(a > 0, -log(a) - 1, where(a == 0, INFINITY, NAN)),),
    casts=real_to_float,
    domain=(0.2, 3.0),
    torch=lambda torch, a: torch.special.entr(a),
    grad_name="SpecialEntrBackward0",
    kernel="where(a < T(0), T(-inf), where(a == T(0), T(0), -a * log(a)))",
)
