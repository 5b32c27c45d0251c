"""The vector maths of kernels: accurate over the whole range, right at the edges, and vectorised."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")
numba = pytest.importorskip("numba")
llvmlite = pytest.importorskip("llvmlite.binding")

from tapegrad.execute import vector_maths  # noqa: E402

FORMATS = ("float32", "float64")
CASES = [(name, dtype) for name, function in vector_maths.FUNCTIONS.items() for dtype in function.dtypes]

# What mpmath calls it, or how it is computed there.
REFERENCES: dict[str, Callable[..., Any]] = {
    **{name: getattr(mpmath, name) for name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh")},
    **{name: getattr(mpmath, name) for name in ("digamma", "erf", "erfinv", "exp", "expm1", "log", "log10", "log1p", "sin", "sinh")},
    **{name: getattr(mpmath, name) for name in ("sqrt", "tan", "tanh")},
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erfc": lambda x: mpmath.erfc(min(x, 100)),
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))) if abs(x) < 1e6 else mpmath.loggamma(x).real,
    "log2": lambda x: mpmath.log(x, 2),
    "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "ndtr": lambda x: mpmath.erfc(min(-x / mpmath.sqrt(2), 100)) / 2,
    "pow": lambda x, y: x**y,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}
# In float64, next to the zeros below 0, results are exact to 2**-54 of these terms that cancel there (or of 1).
CANCELLING: dict[str, Callable[..., Any]] = {
    "digamma": lambda x: mpmath.digamma(1 - x),
    "lgamma": lambda x: mpmath.loggamma(1 - x).real,
}
# What the functions are at infinities and signed zeros, and outside their domain: pairs of argument and result, as in C.
nan, inf = np.nan, np.inf
ODD = [(0.0, 0.0), (-0.0, -0.0)]
LOGARITHM = [(inf, inf), (-inf, nan), (0.0, -inf), (-0.0, -inf), (-1.0, nan), (1.0, 0.0)]
EDGES: dict[str, list[tuple[float, float]]] = {
    "acos": [(1.0, 0.0), (2.0, nan), (inf, nan), (-inf, nan)],
    "acosh": [(1.0, 0.0), (0.5, nan), (-2.0, nan), (inf, inf), (-inf, nan)],
    "asin": [*ODD, (2.0, nan), (-2.0, nan), (inf, nan), (-inf, nan)],
    "asinh": [*ODD, (inf, inf), (-inf, -inf)],
    "atan": ODD,
    "atanh": [*ODD, (1.0, inf), (-1.0, -inf), (2.0, nan), (inf, nan), (-inf, nan)],
    "cbrt": [*ODD, (inf, inf), (-inf, -inf), (-8.0, -2.0)],
    "cos": [(inf, nan), (-inf, nan), (0.0, 1.0), (-0.0, 1.0)],
    "cosh": [(inf, inf), (-inf, inf), (0.0, 1.0), (-0.0, 1.0)],
    "digamma": [(0.0, -inf), (-0.0, inf), (-1.0, nan), (-2.0, nan), (inf, inf), (-inf, nan)],
    "erf": [*ODD, (inf, 1.0), (-inf, -1.0)],
    "erfc": [(inf, 0.0), (-inf, 2.0), (0.0, 1.0), (-0.0, 1.0)],
    "erfinv": [*ODD, (1.0, inf), (-1.0, -inf), (2.0, nan), (inf, nan), (-inf, nan)],
    "exp": [(inf, inf), (-inf, 0.0), (0.0, 1.0), (-0.0, 1.0)],
    "exp2": [(inf, inf), (-inf, 0.0), (0.0, 1.0), (-0.0, 1.0)],
    "expm1": [*ODD, (inf, inf), (-inf, -1.0)],
    "lgamma": [(0.0, inf), (-0.0, inf), (1.0, 0.0), (2.0, 0.0), (-1.0, inf), (inf, inf), (-inf, inf)],
    "log": LOGARITHM,
    "log10": LOGARITHM,
    "log1p": [*ODD, (inf, inf), (-inf, nan), (-1.0, -inf), (-2.0, nan)],
    "log2": LOGARITHM,
    "log_sigmoid": [(inf, 0.0), (-inf, -inf)],
    "ndtr": [(inf, 1.0), (-inf, 0.0), (0.0, 0.5), (-0.0, 0.5)],
    "rsqrt": [(inf, 0.0), (-inf, nan), (0.0, inf), (-0.0, -inf), (-1.0, nan)],
    "sigmoid": [(inf, 1.0), (-inf, 0.0), (0.0, 0.5), (-0.0, 0.5)],
    "sin": [*ODD, (inf, nan), (-inf, nan)],
    "sinh": [*ODD, (inf, inf), (-inf, -inf)],
    "softplus": [(inf, inf), (-inf, 0.0)],
    "sqrt": [*ODD, (inf, inf), (-inf, nan), (-1.0, nan)],
    "tan": [*ODD, (inf, nan), (-inf, nan)],
    "tanh": [*ODD, (inf, 1.0), (-inf, -1.0)],
}


@cache
def loop(name: str, dtype: str) -> Any:
    """Return a loop that calls the function, as a kernel does."""
    function = vector_maths.load(name, dtype)
    if vector_maths.FUNCTIONS[name].arguments == 1:

        @numba.njit(error_model="numpy")
        def run(x: Any, result: Any) -> None:
            for i in range(result.size):
                result[i] = function(x[i])

    else:

        @numba.njit(error_model="numpy")
        def run(x: Any, y: Any, result: Any) -> None:
            for i in range(result.size):
                result[i] = function(x[i], y[i])

    return run


def evaluate(name: str, dtype: str, *arguments: Any) -> Any:
    arrays = [np.array(argument, dtype) for argument in arguments]
    result = np.empty_like(arrays[0])
    loop(name, dtype)(*arrays, result)
    return result


def samples(dtype: str) -> Any:
    """Numbers of every size, many of moderate size, and the ends of the range."""
    information, random = np.finfo(dtype), np.random.default_rng(0)
    integer = {"float32": np.uint32, "float64": np.uint64}[dtype]
    ends = np.array([1, information.smallest_subnormal, information.smallest_normal, information.max], dtype)
    parts = [
        random.integers(0, np.iinfo(integer).max, 300, dtype=integer).view(dtype),
        random.normal(size=600) * 2.0 ** random.integers(-12, 8, 600),
        1 + random.normal(size=200) * 2.0 ** random.integers(-12, 0, 200),
        *(sign * np.nextafter(ends, np.array(to, dtype)) for sign in (1, -1) for to in (0.0, 1.0, 4.0)),
    ]
    with np.errstate(invalid="ignore"):  # signalling NaN are among the random bits
        numbers = np.concatenate(parts).astype(dtype)
    return numbers[np.isfinite(numbers) & (numbers != 0)]


def exact(name: str, *arguments: Any) -> Any:
    """Return the function's value, to 60 digits; None where it is not a finite real number."""
    try:
        with mpmath.workdps(60):
            value = REFERENCES[name](*(mpmath.mpf(float(argument)) for argument in arguments))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None


def units(got: Any, value: Any, dtype: str) -> float:
    """Return how many units in the last place ``got`` is from the exact value."""
    information = np.finfo(dtype)
    with mpmath.workdps(60):
        beyond = mpmath.mpf(2) ** information.maxexp  # what an infinite result stands for
        reached = mpmath.sign(float(got)) * beyond if np.isinf(got) else mpmath.mpf(float(got))
        value = max(min(value, beyond), -beyond)
        exponent = int(mpmath.floor(mpmath.log(abs(value), 2))) if value else information.minexp
        unit = mpmath.mpf(2) ** (max(min(exponent, information.maxexp - 1), information.minexp) - information.nmant)
        return float(abs(reached - value) / unit)


def is_exact_enough(name: str, got: Any, value: Any, dtype: str, *arguments: Any) -> bool:
    """Whether a result is within 2 units in the last place, or what is to be had next to zeros that no number is."""
    if units(got, value, dtype) <= 2:
        return True
    if name not in CANCELLING or dtype != "float64" or arguments[0] > 0:
        return False
    with mpmath.workdps(60):
        term = max(1, abs(CANCELLING[name](mpmath.mpf(float(arguments[0])))))
        return bool(abs(mpmath.mpf(float(got)) - value) <= term * mpmath.mpf(2) ** -54)


@pytest.mark.parametrize("name, dtype", CASES)
def test_within_two_units_in_the_last_place(name: str, dtype: str) -> None:
    x = samples(dtype)
    arguments = (x,) if vector_maths.FUNCTIONS[name].arguments == 1 else (x, np.random.default_rng(1).permutation(x))
    for got, *point in zip(evaluate(name, dtype, *arguments), *arguments, strict=True):
        value = exact(name, *point)
        assert not np.isfinite(got) if value is None else is_exact_enough(name, got, value, dtype, *point), (point, got, value)


def near(point: float, dtype: str) -> Any:
    """Return a number, its neighbours, and others at all distances up to 1/8."""
    random = np.random.default_rng(2)
    distances = random.normal(size=60) * 2.0 ** random.integers(-50, -3, 60)
    middle = np.array(point, dtype)
    steps = np.arange(-2, 3).astype(dtype) * np.spacing(middle)
    return np.concatenate([middle + steps, middle + distances]).astype(dtype)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name, zeros", [("lgamma", (1.0, 2.0)), ("digamma", (1.4616321449683623,))])
def test_gamma_functions_near_positive_zeros_and_joins(name: str, zeros: tuple[float, ...], dtype: str) -> None:
    x = np.concatenate([near(point, dtype) for point in (*zeros, 1.0, 2.5)])
    for argument, got in zip(x, evaluate(name, dtype, x), strict=True):
        assert units(got, exact(name, argument), dtype) <= 2, (argument, got)


# Zeros, or numbers between them.
NEGATIVE_ZEROS = {
    "lgamma": (-2.4570247382208006, -2.7476826467274127, -3.1435808883499798, -3.9552942848585979, -10.000000275569),
    "digamma": (-0.5040830082644554, -1.5734984731623904, -2.6107208684441447, -13.723347, -40.8),
}


@pytest.mark.parametrize("name", NEGATIVE_ZEROS)
def test_gamma_functions_near_negative_zeros(name: str) -> None:
    x = np.concatenate([near(zero, "float64") for zero in NEGATIVE_ZEROS[name]])
    for argument, got in zip(x, evaluate(name, "float64", x), strict=True):
        assert is_exact_enough(name, got, exact(name, argument), "float64", argument), (argument, got)


@pytest.mark.parametrize("name, lowest", [("lgamma", -2.0), ("digamma", -0.4)])
def test_gamma_functions_below_0_above_their_first_zero_there(name: str, lowest: float) -> None:
    x = np.random.default_rng(3).uniform(lowest, 0, 400)
    for argument, got in zip(x, evaluate(name, "float64", x), strict=True):
        assert units(got, exact(name, argument), "float64") <= 2, (argument, got)


@pytest.mark.parametrize("name, dtype", [case for case in CASES if vector_maths.FUNCTIONS[case[0]].arguments == 1])
def test_edges(name: str, dtype: str) -> None:
    arguments, expected = zip(*EDGES[name], (nan, nan), strict=True)
    results = evaluate(name, dtype, arguments)
    np.testing.assert_array_equal(results, np.array(expected, dtype))
    numbers = ~np.isnan(results)
    np.testing.assert_array_equal(np.signbit(results[numbers]), np.signbit(expected)[numbers])


@pytest.mark.parametrize("name, function", [("pow", np.power), ("atan2", np.arctan2)])
@pytest.mark.parametrize("dtype", FORMATS)
def test_edges_of_two_arguments(name: str, function: Any, dtype: str) -> None:
    numbers = np.array([0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.0**60], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = function(x, y)
    results = evaluate(name, dtype, x, y)
    np.testing.assert_allclose(results, expected, rtol=4 * np.finfo(dtype).eps)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(results[known]), np.signbit(expected[known]))


LIBRARY = "(sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|exp|exp2|expm1|log|log2|log10|log1p|pow|erf|erfc|cbrt)f?"


@pytest.mark.parametrize("name, dtype", CASES)
def test_vectorised(name: str, dtype: str) -> None:
    evaluate(name, dtype, *[[1.0]] * vector_maths.FUNCTIONS[name].arguments)
    (code,) = loop(name, dtype).inspect_llvm().values()
    assert re.search(r"= (fdiv|fmul)( contract)? <\d+ x (float|double)>|call.* <\d+ x (float|double)> @llvm.sqrt", code)
    if "tapegrad_" in code and llvmlite.llvm_version_info >= (20, 0, 0):  # what is rarely needed is called for a vector
        assert re.search(r"call .*@tapegrad_\w+_\d+\(<", code)
    assert not re.search(rf"@(llvm\.)?{LIBRARY}[.(]", code)


def test_a_kernel_of_several_needs_no_other_library() -> None:
    sin, cos, tan, power = (vector_maths.load(name, "float32") for name in ("sin", "cos", "tan", "pow"))

    @numba.cfunc("void(CPointer(float32), CPointer(float32), intp)", error_model="numpy")
    def kernel(x: Any, result: Any, size: Any) -> None:
        for i in range(size):
            result[i] = sin(x[i]) + cos(x[i]) * power(x[i], tan(x[i]))

    x = np.array([0.5, 3e7, 2.0, 7e5] * 10, np.float32)
    result = np.empty_like(x)
    pointer = ctypes.POINTER(ctypes.c_float)
    kernel.ctypes(x.ctypes.data_as(pointer), result.ctypes.data_as(pointer), x.size)
    wide = x.astype(float)
    expected = np.sin(wide) + np.cos(wide) * wide ** np.tan(wide)
    np.testing.assert_allclose(result, expected, rtol=1e-4)
    outside = re.findall(r"^declare .*@([\w.]+)\(", kernel.inspect_llvm(), re.MULTILINE)
    assert [name for name in outside if not name.startswith("llvm.")] == []


def test_one_hash_of_the_sources() -> None:
    assert re.fullmatch("[0-9a-f]{64}", vector_maths.source_hash())


def test_the_table_needs_no_numba() -> None:
    program = "import sys; from tapegrad.execute import vector_maths; print(sorted({'numba', 'llvmlite'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
