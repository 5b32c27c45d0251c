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
from typing import Any, NamedTuple

SUFFIXES = {"float32": "f4", "float64": "f8"}


class Function(NamedTuple):
    """Where a function is: its module here, the number of its arguments, and the dtypes that it is there for."""

    module: str
    arguments: int = 1
    dtypes: tuple[str, ...] = tuple(SUFFIXES)


FUNCTIONS: dict[str, Function] = {
    "acos": Function("inverse_trigonometric"),
    "acosh": Function("hyperbolic"),
    "asin": Function("inverse_trigonometric"),
    "asinh": Function("hyperbolic"),
    "atan": Function("inverse_trigonometric"),
    "atan2": Function("inverse_trigonometric", arguments=2),
    "atanh": Function("hyperbolic"),
    "cbrt": Function("powers"),
    "cos": Function("trigonometric"),
    "cosh": Function("hyperbolic"),
    "digamma": Function("gamma"),
    "erf": Function("error_functions"),
    "erfc": Function("error_functions"),
    "erfinv": Function("error_functions"),
    "exp": Function("exponentials"),
    "exp2": Function("exponentials"),
    "expm1": Function("exponentials"),
    "lgamma": Function("gamma"),
    "log": Function("logarithms"),
    "log10": Function("logarithms"),
    "log1p": Function("logarithms"),
    "log2": Function("logarithms"),
    "log_sigmoid": Function("logistic"),
    "ndtr": Function("error_functions"),
    "pow": Function("powers", arguments=2),
    "rsqrt": Function("powers"),
    "sigmoid": Function("logistic"),
    "sin": Function("trigonometric"),
    "sinh": Function("hyperbolic"),
    "softplus": Function("logistic"),
    "sqrt": Function("powers"),
    "tan": Function("trigonometric"),
    "tanh": Function("hyperbolic"),
}


def load(name: str, dtype: str) -> Any:
    """Return the numba function for a name in :data:`FUNCTIONS` and one of its dtypes. This imports numba."""
    return getattr(import_module(f"{__name__}.{FUNCTIONS[name].module}"), f"{name}_{SUFFIXES[dtype]}")


@cache
def source_hash() -> str:
    """Return a hash of the sources of this package, for the keys of caches of what was compiled with it."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
