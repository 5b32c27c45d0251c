"""Hyperbolic functions."""

from __future__ import annotations

from typing import Any

from .exponentials import exp_moderate_f4, exp_moderate_f8
from .instructions import F4, F8, Format, copy_sign, polynomial, select, vectorisable

# tanh(x) = x + x z p(z), z = x**2, for |x| <= 0.625, to a relative 4e-9 and 4e-19; Remez fits of our own.
_TANH4 = polynomial(F4, -0.0057026176, 0.02063705, -0.05373912, 0.13331436, -0.3333328)
_TANH8 = polynomial(
    F8,
    6.036921599271727e-06,
    -3.01748008210453e-05,
    9.154627923087384e-05,
    -0.00023700494397910452,
    0.0005894494013432652,
    -0.0014557253913082644,
    0.0035921139141756,
    -0.008863234303969438,
    0.02186948846817404,
    -0.053968253966039235,
    0.13333333333329708,
    -0.33333333333333315,
)


def _tanh(form: Format, p: Any, exp: Any, saturated: float) -> Any:
    """Return tanh: the polynomial near 0, else 1 - 2/(exp(2|x|) + 1); after Cephes' tanh.

    Above ``saturated`` the result is 1.
    """
    number = form.number
    one, two, border, high = number(1), number(2), number(0.625), number(saturated)

    @vectorisable
    def tanh(x: Any) -> Any:
        size, z = abs(x), x * x
        near = x + x * (z * p(z))
        far = one - two / (exp(two * min(size, high)) + one)
        # A comparison with NaN is false: it comes back through `near`.
        return copy_sign(select(size > border, far, near), x)

    return tanh


tanh_f4, tanh_f8 = _tanh(F4, _TANH4, exp_moderate_f4, 10.0), _tanh(F8, _TANH8, exp_moderate_f8, 20.0)
