"""Special functions, under the names of ``torch.special``.

>>> import tapegrad
>>> tapegrad.special.expit(tapegrad.tensor([0.0]))
tensor([0.5000])
>>> tapegrad.special.bessel_j0(tapegrad.tensor([0.0, 2.5]))
tensor([ 1.0000, -0.0484])
"""

from .functions.arithmetic import logit, polygamma, round, xlogy
from .functions.arithmetic import mvlgamma as multigammaln
from .functions.declare import binary, unary
from .functions.elementwise import digamma, erf, erfc, erfinv, exp2, expm1, i0, log1p, sinc
from .functions.elementwise import digamma as psi
from .functions.elementwise import igamma as gammainc
from .functions.elementwise import igammac as gammaincc
from .functions.elementwise import lgamma as gammaln
from .functions.elementwise import sigmoid as expit
from .functions.reductions import log_softmax, logsumexp, softmax

# Of the normal distribution, of entropies, of sums of powers

entr = unary("special_entr", "special.entr")
erfcx = unary("special_erfcx", "special.erfcx")
log_ndtr = unary("special_log_ndtr", "special.log_ndtr")
ndtr = unary("special_ndtr", "special.ndtr")
ndtri = unary("special_ndtri", "special.ndtri")
xlog1py = binary(
    "special_xlog1py", "transcendental.xlog1py", numbers="either", shown=("SpecialXlog1PyBackward2", "SpecialXlog1PyBackward0")
)
zeta = binary("special_zeta", "special.zeta", numbers="either")

# Bessel functions

airy_ai = unary("special_airy_ai", "bessel.airy_ai")
bessel_j0 = unary("special_bessel_j0", "bessel.bessel_j0")
bessel_j1 = unary("special_bessel_j1", "bessel.bessel_j1")
bessel_y0 = unary("special_bessel_y0", "bessel.bessel_y0")
bessel_y1 = unary("special_bessel_y1", "bessel.bessel_y1")
i0e = unary("special_i0e", "bessel.i0e")
i1 = unary("special_i1", "bessel.i1")
i1e = unary("special_i1e", "bessel.i1e")
modified_bessel_i0 = unary("special_modified_bessel_i0", "bessel.modified_bessel_i0")
modified_bessel_i1 = unary("special_modified_bessel_i1", "bessel.modified_bessel_i1")
modified_bessel_k0 = unary("special_modified_bessel_k0", "bessel.modified_bessel_k0")
modified_bessel_k1 = unary("special_modified_bessel_k1", "bessel.modified_bessel_k1")
scaled_modified_bessel_k0 = unary("special_scaled_modified_bessel_k0", "bessel.scaled_modified_bessel_k0")
scaled_modified_bessel_k1 = unary("special_scaled_modified_bessel_k1", "bessel.scaled_modified_bessel_k1")
spherical_bessel_j0 = unary("special_spherical_bessel_j0", "bessel.spherical_bessel_j0")

# Orthogonal polynomials of x and of degree n

chebyshev_polynomial_t = binary("special_chebyshev_polynomial_t", "polynomials.chebyshev_polynomial_t", numbers="either")
chebyshev_polynomial_u = binary("special_chebyshev_polynomial_u", "polynomials.chebyshev_polynomial_u", numbers="either")
chebyshev_polynomial_v = binary("special_chebyshev_polynomial_v", "polynomials.chebyshev_polynomial_v", numbers="either")
chebyshev_polynomial_w = binary("special_chebyshev_polynomial_w", "polynomials.chebyshev_polynomial_w", numbers="either")
hermite_polynomial_h = binary("special_hermite_polynomial_h", "polynomials.hermite_polynomial_h", numbers="either")
hermite_polynomial_he = binary("special_hermite_polynomial_he", "polynomials.hermite_polynomial_he", numbers="either")
laguerre_polynomial_l = binary("special_laguerre_polynomial_l", "polynomials.laguerre_polynomial_l", numbers="either")
legendre_polynomial_p = binary("special_legendre_polynomial_p", "polynomials.legendre_polynomial_p", numbers="either")
shifted_chebyshev_polynomial_t = binary(
    "special_shifted_chebyshev_polynomial_t", "polynomials.shifted_chebyshev_polynomial_t", numbers="either"
)
shifted_chebyshev_polynomial_u = binary(
    "special_shifted_chebyshev_polynomial_u", "polynomials.shifted_chebyshev_polynomial_u", numbers="either"
)
shifted_chebyshev_polynomial_v = binary(
    "special_shifted_chebyshev_polynomial_v", "polynomials.shifted_chebyshev_polynomial_v", numbers="either"
)
shifted_chebyshev_polynomial_w = binary(
    "special_shifted_chebyshev_polynomial_w", "polynomials.shifted_chebyshev_polynomial_w", numbers="either"
)

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit",
    "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]
