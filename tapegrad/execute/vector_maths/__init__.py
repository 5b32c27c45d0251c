"""Elementary functions for kernels: written so that LLVM vectorises the loop they are inlined into.

``exp_f4`` in the module ``exponentials`` is exp from a float32 to a float32, ``exp_f8`` from a float64 to a float64, and so
on. Results are within 2 units in the last place; infinities, NaN, signed zeros and subnormals are as in C. The modules
import numba, so only the process that compiles kernels imports them; this file only says what there is.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

# The functions: their module here, and the number of their arguments.
FUNCTIONS: dict[str, tuple[str, int]] = {
    "acos": ("inverse_trigonometric", 1),
    "acosh": ("hyperbolic", 1),
    "asin": ("inverse_trigonometric", 1),
    "asinh": ("hyperbolic", 1),
    "atan": ("inverse_trigonometric", 1),
    "atan2": ("inverse_trigonometric", 2),
    "atanh": ("hyperbolic", 1),
    "cbrt": ("powers", 1),
    "cos": ("trigonometric", 1),
    "cosh": ("hyperbolic", 1),
    "erf": ("error_functions", 1),
    "erfc": ("error_functions", 1),
    "exp": ("exponentials", 1),
    "exp2": ("exponentials", 1),
    "expm1": ("exponentials", 1),
    "log": ("logarithms", 1),
    "log10": ("logarithms", 1),
    "log1p": ("logarithms", 1),
    "log2": ("logarithms", 1),
    "log_sigmoid": ("logistic", 1),
    "ndtr": ("error_functions", 1),
    "pow": ("powers", 2),
    "rsqrt": ("powers", 1),
    "sigmoid": ("logistic", 1),
    "sin": ("trigonometric", 1),
    "sinh": ("hyperbolic", 1),
    "softplus": ("logistic", 1),
    "sqrt": ("powers", 1),
    "tan": ("trigonometric", 1),
    "tanh": ("hyperbolic", 1),
}
SUFFIXES = {"float32": "f4", "float64": "f8"}


def load(name: str, dtype: str) -> Any:
    """Return the numba function for a name in :data:`FUNCTIONS` and a dtype in :data:`SUFFIXES`. This imports numba."""
    module, _ = FUNCTIONS[name]
    return getattr(import_module(f"{__name__}.{module}"), f"{name}_{SUFFIXES[dtype]}")


@cache
def source_hash() -> str:
    """Return a hash of the sources of this package, for the keys of caches of what was compiled with it."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
