"""Elementwise primitives where they are special: zeros and their signs, infinities, NaN, ties and kinks, and all dtypes.

The table's own tests (test_table.py) stay away from all of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives import (
    arithmetic,
    bessel,
    casting,
    comparison,
    division,
    polynomials,
    rounding,
    selection,
    signs,
    special,
    transcendental,
)
from tapegrad.primitives.declare import Primitive

NAN = float("nan")
INF = float("inf")
FAMILIES = (arithmetic, division, signs, transcendental, special, bessel, rounding, comparison, selection)
POLYNOMIALS = [row for row in vars(polynomials).values() if isinstance(row, Primitive)]
ROWS = {
    row.name: row
    for family in FAMILIES
    for row in vars(family).values()
    if isinstance(row, Primitive) and row not in POLYNOMIALS and row is not casting.cast
}
ONE_OPERAND = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.0, 2.5, 3.0, -7.25, 88.0, -88.0, 1e30, -1e30, INF, -INF, NAN)
TWO_OPERANDS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 2.5, 3.0, -7.25, INF, -INF, NAN)
TOLERANCES = {"float32": 3e-6, "float64": 1e-12}

# Where PyTorch is not the model: at these operands, for the reason given.
EXCEPTIONS: dict[str, Iterable[tuple[float, ...]]] = {
    "igamma": [*[(NAN, b) for b in TWO_OPERANDS], (INF, NAN)],  # PyTorch ignores the NaN
    "igammac": [*[(NAN, b) for b in TWO_OPERANDS], (INF, NAN)],
    "airy_ai": [(-1e30,), (INF,)],  # SciPy has no digits left and says so; 0, PyTorch gives NaN
    "relu": [(-0.0,)],  # the sign of the zero depends on the length in PyTorch
    "fmax": [(0.0, -0.0), (-0.0, 0.0)],
    "fmin": [(0.0, -0.0), (-0.0, 0.0)],
    "logaddexp2": [(-1.0, -1.0)],  # 0, which PyTorch misses by 1e-8 (float32)
    "ndtr": [(-7.25,)],  # PyTorch loses the lower tail
    "zeta": [(a, INF) for a in TWO_OPERANDS],  # 0 for orders above 1, PyTorch gives NaN
}
# At whole numbers below 1 trigamma is infinite; PyTorch gives large numbers. log_ndtr is off by 1e-4 at -88 in float32.
DERIVATIVE_EXCEPTIONS: dict[str, Iterable[tuple[float, ...]]] = {
    "digamma": [(-1.0,), (-2.0,), (-88.0,), (-1e30,)],
    "polygamma": [(-1.0,), (-2.0,), (-88.0,), (-1e30,), (INF,)],
    "log_ndtr": [(-88.0,), (-1e30,), (-INF,)],
    "i1": [(88.0,)],  # PyTorch overflows on the way in float32
    "logit": [(-0.0,)],
}
# What PyTorch's own are accurate to, in float64.
LOOSER = {"bessel_j0": 1e-8, "bessel_j1": 1e-6, "bessel_y0": 1e-9, "bessel_y1": 1e-9, "digamma": 1e-8, "polygamma": 1e-8}


def edge_operands(row: Primitive, dtype: str) -> list[Any]:
    """Return arrays of edges for a row (every pair of them for two operands), and the numbers it takes."""
    assert row.samples is not None
    given = row.samples()[0].operands
    count = sum(isinstance(operand, np.ndarray) for operand in given)
    if count > 2:
        return []
    edges = np.array(ONE_OPERAND if count == 1 else TWO_OPERANDS, dtype)
    arrays = [edges] if count == 1 else [array.ravel() for array in np.meshgrid(edges, edges, indexing="ij")]
    return [*arrays, *[operand for operand in given if not isinstance(operand, np.ndarray)]]


def parameters_of(row: Primitive) -> dict[str, Any]:
    assert row.samples is not None
    parameters: dict[str, Any] = row.samples()[0].parameters
    return parameters


def tensors(operands: Sequence[Any], requires_grad: bool = False) -> list[Any]:
    return [tapegrad.tensor(o).requires_grad_(requires_grad) if isinstance(o, np.ndarray) else o for o in operands]


def torch_tensors(torch: Any, operands: Sequence[Any], requires_grad: bool = False) -> list[Any]:
    return [torch.tensor(o).requires_grad_(requires_grad) if isinstance(o, np.ndarray) else o for o in operands]


def first_of(results: Any) -> Any:
    return results[0] if isinstance(results, tuple) else results


def array_of(tensor: Any) -> Any:
    return np.asarray(tensor.detach().numpy())


def torch_array_of(tensor: Any) -> Any:
    return tensor.resolve_conj().numpy(force=True)


def excepted(row: Primitive, arrays: Sequence[Any], *tables: dict[str, Iterable[tuple[float, ...]]]) -> Any:
    """Return where the operands are among the row's exceptions; the sign of zero counts."""
    result = np.zeros(arrays[0].shape, bool)
    for table in tables:
        for operands in table.get(row.name, ()):
            result |= np.all([is_same(a, np.asarray(o, a.dtype)) for a, o in zip(arrays, operands, strict=True)], axis=0)
    return result


def is_same(first: Any, second: Any) -> Any:
    return np.isnan(first) & np.isnan(second) | (first == second) & (np.signbit(first) == np.signbit(second))


def differs(ours: Any, theirs: Any, tolerance: float, least: float = 0.0) -> Any:
    """Return where floats differ by more than the tolerance times theirs (at least `least`), or in what is not finite."""
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if ours.dtype.kind not in "fc":
        return ours != theirs
    same = (ours == theirs) | np.isnan(ours) & np.isnan(theirs)
    with np.errstate(all="ignore"):
        near = np.abs(ours - theirs) <= tolerance * np.maximum(np.abs(theirs), least)
    return ~(same | near & np.isfinite(theirs))


def report(arrays: Sequence[Any], ours: Any, theirs: Any, wrong: Any) -> str:
    lines = [f"at {[a[i].item() for a in arrays]}: {ours[i]}, PyTorch gives {theirs[i]}" for i in np.flatnonzero(wrong)]
    return "\n".join(lines)


# Values and derivatives at the edges


@pytest.mark.peer
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_values_at_edges(row: Primitive, dtype: str, torch: Any) -> None:
    operands = edge_operands(row, dtype)
    if not operands:
        pytest.skip("three operands: see the tables below")
    assert row.torch is not None
    try:
        expected = first_of(row.torch(torch, *torch_tensors(torch, operands), **parameters_of(row)))
    except RuntimeError:
        pytest.skip("not for real floats: see the tests of dtypes")
    theirs = torch_array_of(expected)
    ours = array_of(first_of(row(*tensors(operands), **parameters_of(row))))
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    tolerance = max(TOLERANCES[dtype], LOOSER.get(row.name, 0.0))
    wrong = differs(ours, theirs, tolerance)
    if ours.dtype.kind == "f":
        wrong |= (ours == 0) & (theirs == 0) & (np.signbit(ours) != np.signbit(theirs))
    wrong &= ~excepted(row, arrays, EXCEPTIONS)
    assert not wrong.any(), report(arrays, ours, theirs, wrong)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.differentiable], ids=lambda row: row.name)
def test_derivatives_at_edges(row: Primitive, dtype: str, torch: Any) -> None:
    operands = edge_operands(row, dtype)
    if not operands:
        pytest.skip("three operands: see the tables below")
    assert row.torch is not None
    try:
        inputs = torch_tensors(torch, operands, requires_grad=True)
        result = first_of(row.torch(torch, *inputs, **parameters_of(row)))
        wanted = [tensor for tensor in inputs if isinstance(tensor, torch.Tensor)]
        theirs = [torch_array_of(part) for part in torch.autograd.grad(result, wanted, torch.ones_like(result))]
    except RuntimeError:
        pytest.skip("PyTorch has no derivative, or takes no real floats")
    ours = derivatives_of(row, operands)
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    tolerance = max(TOLERANCES[dtype], LOOSER.get(row.name, 0.0))
    for actual, expected in zip(ours, theirs, strict=True):
        wrong = differs(actual, expected, tolerance, least=1.0) & ~excepted(row, arrays, EXCEPTIONS, DERIVATIVE_EXCEPTIONS)
        assert not wrong.any(), report(arrays, actual, expected, wrong)


def derivatives_of(row: Primitive, operands: Sequence[Any]) -> list[Any]:
    """Return the derivatives with respect to the operands that are arrays, for a cotangent of ones."""
    inputs = tensors(operands, requires_grad=True)
    result = first_of(row(*inputs, **parameters_of(row)))
    cotangent = tapegrad.tensor(np.ones_like(array_of(result)))
    wanted = [tensor for tensor, operand in zip(inputs, operands, strict=True) if isinstance(operand, np.ndarray)]
    return [array_of(part) for part in tapegrad.autograd.grad(result, wanted, cotangent)]


# PyTorch's choices at ties and kinks, written out

KINKS: list[tuple[str, tuple[float, ...], tuple[float, ...]]] = [
    ("absolute", (0.0,), (0.0,)),
    ("sgn", (0.0,), (0.0,)),
    ("relu", (0.0,), (0.0,)),
    ("relu", (NAN,), (1.0,)),
    ("sqrt", (0.0,), (INF,)),
    ("rsqrt", (0.0,), (-INF,)),
    ("reciprocal", (0.0,), (-INF,)),
    ("log", (0.0,), (INF,)),
    ("asin", (1.0,), (INF,)),
    ("acos", (1.0,), (-INF,)),
    ("acosh", (1.0,), (INF,)),
    ("atanh", (1.0,), (INF,)),
    ("logit", (0.0,), (INF,)),
    ("logit", (1.0,), (INF,)),
    ("erfinv", (1.0,), (INF,)),
    ("sinc", (0.0,), (0.0,)),
    ("floor", (1.0,), (0.0,)),
    ("frac", (1.0,), (1.0,)),
    ("power", (0.0, 0.0), (0.0, 0.0)),
    ("power", (0.0, 2.0), (0.0, 0.0)),
    ("power", (-1.0, 2.0), (-2.0, NAN)),
    ("hypot", (0.0, 0.0), (NAN, NAN)),
    ("atan2", (0.0, 0.0), (0.0, -0.0)),
    ("xlogy", (0.0, 0.0), (0.0, NAN)),
    ("fmod", (5.0, 3.0), (1.0, -1.0)),
    ("remainder", (5.0, 3.0), (1.0, -1.0)),
    ("remainder", (-5.0, 3.0), (1.0, 2.0)),
    ("maximum", (2.0, 2.0), (0.5, 0.5)),
    ("maximum", (NAN, 1.0), (1.0, 1.0)),
    ("minimum", (2.0, 2.0), (0.5, 0.5)),
    ("fmax", (2.0, 2.0), (1.0, 0.0)),
    ("fmax", (NAN, 1.0), (0.0, 1.0)),
    ("fmin", (2.0, 2.0), (1.0, 0.0)),
    ("fmin", (NAN, NAN), (1.0, 0.0)),
    ("clamp_min", (1.0, 1.0), (1.0, 0.0)),
    ("clamp_max", (1.0, 1.0), (1.0, 0.0)),
    ("clamp", (1.0, 1.0, 2.0), (1.0, 0.0, 0.0)),
    ("clamp", (2.0, 1.0, 2.0), (1.0, 0.0, 0.0)),
    ("clamp", (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    ("clamp", (NAN, 1.0, 2.0), (0.0, 0.0, 0.0)),
    ("clamp", (1.5, NAN, 2.0), (0.0, 0.0, 0.0)),
    ("clamp", (1.5, 2.0, 1.0), (0.0, 0.0, 1.0)),
    ("clamp", (0.5, 1.0, 2.0), (0.0, 1.0, 0.0)),
    ("clamp", (2.5, 1.0, 2.0), (0.0, 0.0, 1.0)),
    ("copysign", (0.0, -1.0), (0.0, 0.0)),
    ("copysign", (3.0, -1.0), (-1.0, 0.0)),
    ("nextafter", (1.0, 1.0), (0.0, 0.0)),
    ("nextafter", (1.0, 2.0), (1.0, 0.0)),
    ("logaddexp", (-INF, -INF), (NAN, NAN)),
]


@pytest.mark.parametrize(("name", "at", "expected"), KINKS)
def test_derivatives_at_kinks(name: str, at: tuple[float, ...], expected: tuple[float, ...], mode: str) -> None:
    actual = derivatives_of(ROWS[name], [np.array([value]) for value in at])
    np.testing.assert_array_equal([part.item() for part in actual], expected)
    assert [bool(np.signbit(part.item())) for part in actual if part.item() == 0] == [
        bool(np.signbit(part)) for part in expected if part == 0
    ]


@pytest.mark.parametrize(("operand", "expected"), [(-1.0, 0.0), (1.0, 0.0), (0.5, 1.0), (NAN, 1.0), (2.0, 0.0)])
def test_hardtanh_has_derivative_0_at_its_edges(operand: float, expected: float) -> None:
    x = tapegrad.tensor(np.array([operand])).requires_grad_()
    (derivative,) = tapegrad.autograd.grad(selection.hardtanh(x, -1.0, 1.0), x, tapegrad.tensor(np.ones(1)))
    assert derivative.item() == expected


@pytest.mark.parametrize("operand", [-1.0, 0.0, 2.0])
def test_the_powers_0_and_1_have_exact_derivatives(operand: float) -> None:
    for n, expected in ((0, 0.0), (1, 1.0)):
        x = tapegrad.tensor(np.array([operand])).requires_grad_()
        result = arithmetic.integer_power(x, n=n)
        (derivative,) = tapegrad.autograd.grad(result, x, tapegrad.tensor(np.ones(1)))
        assert derivative.item() == expected


def test_what_is_not_selected_gets_an_exact_zero() -> None:
    """Even if the cotangent is not finite."""
    x = tapegrad.tensor(np.array([-1.0, 1.0])).requires_grad_()
    (derivative,) = tapegrad.autograd.grad(selection.relu(x), x, tapegrad.tensor(np.array([INF, NAN])))
    np.testing.assert_array_equal(array_of(derivative), [0.0, NAN])


@pytest.mark.peer
@pytest.mark.parametrize("name", ["absolute", "angle", "sgn", "conj", "real", "imag"])
def test_complex_edges(name: str, torch: Any) -> None:
    row = ROWS[name]
    z = np.array([0j, 3 - 4j, -1 + 0j, complex(-1.0, -0.0), complex(0.0, -2.0)])
    assert row.torch is not None
    x, y = tapegrad.tensor(z).requires_grad_(), torch.tensor(z, requires_grad=True)
    ours, theirs = row(x), row.torch(torch, y)
    assert not differs(array_of(ours), torch_array_of(theirs), 1e-14).any()
    (ours,) = tapegrad.autograd.grad(ours, x, tapegrad.tensor(np.ones_like(array_of(ours))))
    (theirs,) = torch.autograd.grad(theirs, y, torch.ones_like(theirs))
    assert not differs(array_of(ours), torch_array_of(theirs), 1e-14).any()


@pytest.mark.peer
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "power"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_derivatives_of_real_with_complex_operands(name: str, order: tuple[int, int], torch: Any) -> None:
    row = ROWS[name]
    operands = [np.array([[0.5, 1.5, 2.5]]), np.array([[1.5 - 0.5j], [0.25 + 2j]])]
    operands = [operands[place] for place in order]
    cotangent = np.array([[1 + 1j, 2 - 1j, 0.5j], [1.0, -1j, 3 + 2j]])
    assert row.torch is not None
    inputs = torch_tensors(torch, operands, requires_grad=True)
    expected = torch.autograd.grad(row.torch(torch, *inputs), inputs, torch.tensor(cotangent))
    inputs = tensors(operands, requires_grad=True)
    actual = tapegrad.autograd.grad(row(*inputs), inputs, tapegrad.tensor(cotangent))
    for ours, theirs in zip(map(array_of, actual), map(torch_array_of, expected), strict=True):
        assert not differs(ours, theirs, 1e-13, least=1.0).any()


# Dtypes: the result's, or the error

DTYPES = ("bool", "uint8", "int64", "float32", "float64", "complex64")
# For operands that PyTorch refuses and tapegrad does not: the integer overload of round is another in PyTorch, the
# message for ndtr names its parts, the exponent of ldexp may be bool, and the functions that record add_multiple check alpha.
DTYPE_EXCEPTIONS = {
    "round": ("uint8", "int64"),
    "ndtr": ("complex64",),
    "ldexp": ("bool",),
    "add_multiple": ("bool", "uint8", "int64"),
}


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore:where received a uint8 condition tensor")
@pytest.mark.parametrize("row", [*ROWS.values(), *POLYNOMIALS], ids=lambda row: row.name)
def test_dtypes(row: Primitive, torch: Any) -> None:
    """Every dtype, and every pair, gives the same result dtype, or the same error."""
    assert row.samples is not None
    given = row.samples()[0].operands
    count = sum(isinstance(operand, np.ndarray) for operand in given)
    rest = [operand for operand in given if not isinstance(operand, np.ndarray)]
    choices = [[dtype] * count for dtype in DTYPES] if count != 2 else [[d, e] for d in DTYPES for e in DTYPES]
    for dtypes in choices:
        if dtypes[-1] in DTYPE_EXCEPTIONS.get(row.name, ()):
            continue
        operands = [*[np.ones(2, dtype) for dtype in dtypes], *rest]
        assert row.torch is not None
        expected = dtype_or_error(row.torch, torch, *torch_tensors(torch, operands), **parameters_of(row))
        actual = dtype_or_error(row, *tensors(operands), **parameters_of(row))
        assert actual == expected, f"{row.name}({', '.join(dtypes)})"


def dtype_or_error(function: Any, *operands: Any, **parameters: Any) -> Any:
    """Return the name of the result's dtype, or the type and text of the error."""
    try:
        return str(first_of(function(*operands, **parameters)).dtype)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return type(error), str(error).strip().splitlines()[0].strip()


@pytest.mark.parametrize(
    ("name", "operands", "error", "message"),
    [
        ("sub", [True, True], RuntimeError, "with two bool tensors is not supported. Use the `^` or `logical_xor()`"),
        ("sub", [1, True], RuntimeError, "with a bool tensor is not supported. If you are trying to invert a mask"),
        ("neg", [True], RuntimeError, "Negation, the `-` operator, on a bool tensor is not supported."),
        ("sign", [1j], NotImplementedError, "Please use torch.sgn instead."),
        ("imag", [1.0], RuntimeError, "imag is not implemented for tensors with non-complex dtypes."),
        ("heaviside", [1.0, 1], RuntimeError, "heaviside is not yet implemented for tensors with different dtypes."),
        ("frexp", [1], RuntimeError, "torch.frexp() only supports floating-point dtypes"),
        (
            "where",
            [1.0, 1.0, 1.0],
            RuntimeError,
            "where expected condition to be a boolean tensor, but got a tensor with dtype Double",
        ),
    ],
)
def test_refused_dtypes(name: str, operands: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        ROWS[name](*tensors([np.array([operand]) for operand in operands]))
    assert message in str(caught.value)


@pytest.mark.parametrize("n", [-1, -3])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_integers_have_no_negative_integer_powers(n: int, dtype: str) -> None:
    with pytest.raises(RuntimeError, match=r"^Integers to negative integer powers are not allowed\.$"):
        arithmetic.integer_power(tapegrad.tensor(np.ones(2, dtype)), n=n)


@pytest.mark.parametrize(
    ("name", "message", "error"),
    [
        ("floor_divide", "derivative for aten::floor_divide is not implemented", RuntimeError),
        ("heaviside", "derivative for aten::heaviside is not implemented", RuntimeError),
        ("igamma", "the derivative for 'igamma: input' is not implemented.", NotImplementedError),
        ("igammac", "the derivative for 'igammac: input' is not implemented.", NotImplementedError),
        ("zeta", "the derivative for 'zeta' is not implemented.", NotImplementedError),
    ],
)
def test_missing_derivatives_raise_in_the_reverse_sweep(name: str, message: str, error: type[Exception]) -> None:
    a, b = tensors([np.array([2.0]), np.array([3.0])], requires_grad=True)
    result = ROWS[name](a, b)
    assert result.requires_grad
    with pytest.raises(error) as caught:
        tapegrad.autograd.grad(result, [a, b], tapegrad.tensor(np.ones(1)))
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["igamma", "igammac", "zeta"])
def test_the_other_derivative_is_there(name: str) -> None:
    """Of the second operand alone, against a finite difference."""
    a, b, step = 2.5, 1.25, 1e-5
    second = tapegrad.tensor(np.array([b])).requires_grad_()
    (derivative,) = tapegrad.autograd.grad(ROWS[name](a, second), second, tapegrad.tensor(np.ones(1)))
    above, below = [ROWS[name](a, tapegrad.tensor(np.array([value]))).item() for value in (b + step, b - step)]
    assert derivative.item() == pytest.approx((above - below) / (2 * step), rel=1e-8)


# Integers


@pytest.mark.peer
@pytest.mark.parametrize("name", ["floor_divide", "div_floor", "trunc_divide", "remainder", "fmod"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_division_of_integers(name: str, dtype: str, torch: Any) -> None:
    numbers = np.arange(0, 256, 7) if dtype == "uint8" else np.array([-128, -127, -9, -7, -2, -1, 0, 1, 2, 7, 9, 127])
    divisors = np.array([n for n in (-9, -7, -3, -2, 1, 2, 3, 7, 127) if n > 0 or dtype != "uint8"])
    a, b = [array.ravel().astype(dtype) for array in np.meshgrid(numbers, divisors)]
    row = ROWS[name]
    assert row.torch is not None
    expected = row.torch(torch, torch.tensor(a), torch.tensor(b))
    np.testing.assert_array_equal(array_of(row(*tensors([a, b]))), torch_array_of(expected))


@pytest.mark.parametrize("name", ["floor_divide", "div_floor", "trunc_divide", "remainder", "fmod"])
@pytest.mark.parametrize("divisor", [0, np.array([1, 0])])
def test_integers_are_not_divided_by_zero(name: str, divisor: Any, mode: str) -> None:
    with pytest.raises(RuntimeError, match="^ZeroDivisionError$"):
        array_of(ROWS[name](*tensors([np.array([1, 2]), divisor])))


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_powers_of_integers(dtype: str, torch: Any) -> None:
    """They wrap; a negative exponent in a tensor gives 0, or 1 or -1 for these bases."""
    bases = [0, 1, 2, 3, 7, 100] + [255] * (dtype == "uint8") + [-1, -2, -5] * (dtype != "uint8")
    exponents = [0, 1, 2, 3, 9] + [-1, -2, -7] * (dtype != "uint8")
    a, b = [array.ravel().astype(dtype) for array in np.meshgrid(bases, exponents)]
    expected = torch.pow(torch.tensor(a), torch.tensor(b))
    np.testing.assert_array_equal(array_of(arithmetic.power(*tensors([a, b]))), torch_array_of(expected))
    for n in (0, 1, 2, 3, 9):
        expected = torch.pow(torch.tensor(a), n)
        np.testing.assert_array_equal(array_of(arithmetic.integer_power(tapegrad.tensor(a), n=n)), torch_array_of(expected))


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", [127, 1], -128),
        ("sub", [-128, 1], 127),
        ("mul", [64, 4], 0),
        ("neg", [-128], -128),
        ("absolute", [-128], -128),
        ("left_shift", [1, 7], -128),
        ("left_shift", [1, 9], 0),
        ("right_shift", [-5, 9], -1),
    ],
)
def test_integers_wrap(name: str, operands: list[int], expected: int) -> None:
    result = ROWS[name](*tensors([np.array([operand], np.int8) for operand in operands]))
    assert array_of(result).dtype == np.int8
    assert result.item() == expected


def test_ldexp_with_integers() -> None:
    """A negative exponent too has its derivative, which is 0 in PyTorch."""
    a = tapegrad.tensor(np.array([1.5, -3.0, 0.5])).requires_grad_()
    result = arithmetic.ldexp(a, tapegrad.tensor(np.array([-1, 2, 40])))
    np.testing.assert_array_equal(array_of(result), [0.75, -12.0, 2.0**39])
    (derivative,) = tapegrad.autograd.grad(result, a, tapegrad.tensor(np.ones(3)))
    np.testing.assert_array_equal(array_of(derivative), [0.5, 4.0, 2.0**40])


# Casting


@pytest.mark.peer
@pytest.mark.parametrize("source", ["bool", "uint8", "int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("target", ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_casts(source: str, target: str, torch: Any) -> None:
    values = np.array([0, 1, 2, 100, -3] if source == "int64" else [0, 1, 2, 100]).astype(source)
    if source in ("float32", "float64", "complex64"):
        values = np.array([0.0, -0.0, 0.4, 1.6, -1.6, 100.9, 65519.0]).astype(source)
    if source == "complex64":
        values = values + np.complex64(2j)
    expected = torch.tensor(values).to(getattr(torch, target))
    actual = casting.cast(tapegrad.tensor(values), dtype=getattr(tapegrad, target))
    np.testing.assert_array_equal(array_of(actual), torch_array_of(expected), strict=True)


# Accuracy


def test_sigmoid_keeps_its_digits_in_the_tails() -> None:
    x = tapegrad.tensor(np.array([-700.0, -100.0, -40.0, 40.0]))
    expected = [9.859676543759770e-305, 3.720075976020836e-44, 4.248354255291589e-18, 1.0]
    np.testing.assert_allclose(array_of(transcendental.sigmoid(x)), expected, rtol=4e-16)


def test_log_sigmoid_keeps_its_digits_in_the_tails() -> None:
    x = tapegrad.tensor(np.array([-1000.0, -1e-3, 40.0]))
    expected = [-1000.0, -0.6936473055599401, -4.248354255291589e-18]
    np.testing.assert_allclose(array_of(transcendental.log_sigmoid(x)), expected, rtol=4e-16)


def test_trigamma_is_accurate_for_small_and_negative_operands() -> None:
    x = tapegrad.tensor(np.array([0.5, 1.0, 1.5, -0.5, -0.0, -3.0, 1e9]))
    expected = [np.pi**2 / 2, np.pi**2 / 6, np.pi**2 / 2 - 4, np.pi**2 / 2 + 4, INF, INF, 1.0000000005e-9]
    np.testing.assert_allclose(array_of(special.polygamma(x, n=1)), expected, rtol=1e-15)


@pytest.mark.parametrize("row", POLYNOMIALS, ids=lambda row: row.name)
def test_polynomials_of_low_degree(row: Primitive) -> None:
    """Their coefficients, lowest first, for degrees 2 and 3; a negative degree gives 0, and fractions are dropped."""
    x = np.linspace(-1.5, 1.5, 7)
    for degree, coefficients in COEFFICIENTS[row.name].items():
        expected = np.polynomial.polynomial.polyval(x, coefficients)
        actual = array_of(row(tapegrad.tensor(x), tapegrad.tensor(np.array(degree + 0.75))))
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-13)
    assert not array_of(row(tapegrad.tensor(x), tapegrad.tensor(np.array(-1.0)))).any()


COEFFICIENTS: dict[str, dict[int, list[float]]] = {
    "chebyshev_polynomial_t": {2: [-1, 0, 2], 3: [0, -3, 0, 4]},
    "chebyshev_polynomial_u": {2: [-1, 0, 4], 3: [0, -4, 0, 8]},
    "chebyshev_polynomial_v": {2: [-1, -2, 4], 3: [1, -4, -4, 8]},
    "chebyshev_polynomial_w": {2: [-1, 2, 4], 3: [-1, -4, 4, 8]},
    "shifted_chebyshev_polynomial_t": {2: [1, -8, 8], 3: [-1, 18, -48, 32]},
    "shifted_chebyshev_polynomial_u": {2: [3, -16, 16], 3: [-4, 40, -96, 64]},
    "shifted_chebyshev_polynomial_v": {2: [5, -20, 16], 3: [-7, 56, -112, 64]},
    "shifted_chebyshev_polynomial_w": {2: [1, -12, 16], 3: [-1, 24, -80, 64]},
    "hermite_polynomial_h": {2: [-2, 0, 4], 3: [0, -12, 0, 8]},
    "hermite_polynomial_he": {2: [-1, 0, 1], 3: [0, -3, 0, 1]},
    "laguerre_polynomial_l": {2: [1, -2, 0.5], 3: [1, -3, 1.5, -1 / 6]},
    "legendre_polynomial_p": {2: [-0.5, 0, 1.5], 3: [0, -1.5, 0, 2.5]},
}
