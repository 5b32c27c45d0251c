"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from .instructions import vectorisable

_ONE4 = np.float32(1)


@vectorisable
def sqrt_f4(x: Any) -> Any:
    """Return the square root: the processor's own, rounded correctly."""
    return np.sqrt(x)


@vectorisable
def sqrt_f8(x: Any) -> Any:
    """Return the square root: the processor's own, rounded correctly."""
    return np.sqrt(x)


@vectorisable
def rsqrt_f4(x: Any) -> Any:
    """Return 1/sqrt(x), by a correctly rounded root and a correctly rounded quotient."""
    return _ONE4 / np.sqrt(x)


@vectorisable
def rsqrt_f8(x: Any) -> Any:
    """Return 1/sqrt(x), by a correctly rounded root and a correctly rounded quotient."""
    return 1.0 / np.sqrt(x)
