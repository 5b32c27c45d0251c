"""The kernels of the primitive table: each expression gives what the row's NumPy function gives, on every dtype it claims.

Here an expression is evaluated with NumPy's functions, on samples and at the edges of each dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad import dtypes
from tapegrad.execute.prepare import prepare
from tapegrad.primitives.declare import KERNEL_DTYPES, KERNEL_FUNCTIONS, OPERAND_NAMES, TABLE, Primitive, Sample
from tapegrad.tape.types import Type, make_type

ROWS = {row.name: row for row in TABLE.values() if row.kernel is not None}
NAMES = [dtype.name for dtype in KERNEL_DTYPES["any"]]
INF, NAN = float("inf"), float("nan")
NUMBERS = {"inf": INF, "nan": NAN}
TOLERANCE = 4  # units in the last place
# Of zeros, which are equal, NumPy itself gives the one or the other.
ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "clamp", "clamp_min", "clamp_max", "hardtanh", "relu"}
# Sums that cancel: what is left is exact to one's last place.
CANCELLING = {"logaddexp", "logaddexp2"}
# Steep where it is small: as exact as a rounded operand lets it be.
STEEP = {"ndtr"}


# Operands


def edges_of(dtype: np.dtype[Any]) -> Any:
    """Return the values of a dtype at which functions are special."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [limits.min, limits.min + 1, 0, 1, 2, 3, 5, limits.max - 1, limits.max]
        return np.array(values + ([] if dtype.kind == "u" else [-1, -2, -3]), dtype)
    limits = np.finfo(dtype)
    positive = [0.0, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 20.5, 88.0, 95.0, 1e30, INF]
    positive += [limits.smallest_subnormal, limits.smallest_normal, limits.eps, limits.max]
    return np.array([sign * value for value in positive for sign in (1, -1)] + [NAN], dtype)


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand in another dtype, if the row's author wrote it as floats, or integers where integers are asked for."""
    array = np.asarray(array)
    if array.dtype.kind in "bc" or (array.dtype.kind == "i" and dtype.kind == "f"):
        return array
    if dtype.kind == "f":
        return array.astype(dtype)
    whole = np.asarray(np.trunc(2 * np.nan_to_num(array, posinf=0.0, neginf=0.0)))
    return (np.abs(whole) if dtype.kind == "u" else whole).astype(dtype)


def samples_of(row: Primitive) -> list[Sample]:
    """Return the row's own samples; those of casts are to every dtype."""
    assert row.samples is not None
    if row.parameters == ("dtype",):
        return [Sample(*sample.operands, dtype=dtype) for sample in row.samples() for dtype in KERNEL_DTYPES["any"]]
    return row.samples()


def cases_of(row: Primitive, dtype: np.dtype[Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield operands (arrays and Python numbers) and static parameters: the samples, and edges in place of their arrays."""
    met = set()
    for sample in samples_of(row):
        operands = [o if is_number(o) else converted(o, dtype) for o in sample.operands]
        yield operands, sample.parameters
        kind = (*[type(o) if is_number(o) else o.dtype for o in operands], *sample.parameters.values())
        if kind not in met:
            met.add(kind)
            edges = [edges_of(operand.dtype) for operand in operands if not is_number(operand)]
            columns = zip(*product(*edges), strict=True)
            combined = iter([np.array(column, edge.dtype) for column, edge in zip(columns, edges, strict=True)])
            yield [o if is_number(o) else next(combined) for o in operands], sample.parameters


def is_number(operand: Any) -> bool:
    """Whether the operand is a Python number (NumPy's float64 passes for one)."""
    return not isinstance(operand, (np.ndarray, np.generic))


def type_of(operand: Any) -> Type:
    if is_number(operand):
        return make_type(dtypes.of_number(type(operand)), (), is_number=True)
    return make_type(dtypes.from_array_type(operand.dtype), operand.shape)


# Evaluating


def sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), small) / (1 + small)


def of_scipy(name: str) -> Callable[[Any], Any]:
    from scipy import special

    return getattr(special, name)  # type: ignore[no-any-return]


NUMPY_NAMES = {"atan2": "arctan2", "pow": "power"} | {
    name: name.replace("a", "arc", 1) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")
}
FUNCTIONS = {name: getattr(np, NUMPY_NAMES.get(name, name), None) for name in KERNEL_FUNCTIONS}
FUNCTIONS |= {"sigmoid": sigmoid, "where": np.where, "erfinv": TABLE["erfinv"].numpy, "lgamma": TABLE["lgamma"].numpy}
FUNCTIONS |= {name: of_scipy(name) for name in ("erf", "erfc", "digamma")}


def evaluate(expression: str, operands: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """Return the value of a kernel for arrays of operands, `dtype` being the one that it computes in."""
    names = dict(zip(OPERAND_NAMES, operands, strict=False)) | {"T": lambda value: np.asarray(value).astype(dtype)}
    return eval(expression, {"__builtins__": {}} | FUNCTIONS | NUMBERS, names)


@dataclass
class Kernel:
    """A row's kernel for operands of some types, with the dtype that it computes in and the result's type."""

    expression: str
    types: tuple[Type, ...]
    result: Type
    computed: dtypes.dtype
    has_casts: bool

    def convert(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands as the expression gets them."""
        computed = dtypes.array_type(self.computed)
        given = [np.asarray(operand) for operand in operands]
        return [o.astype(computed) if self.has_casts or t.is_number else o for o, t in zip(given, self.types, strict=True)]

    def run(self, operands: Sequence[Any]) -> Any:
        value = np.asarray(evaluate(self.expression, self.convert(operands), dtypes.array_type(self.computed)))
        return np.broadcast_to(value.astype(dtypes.array_type(self.result.dtype)), self.result.shape)


def kernel_of(row: Primitive, operands: Sequence[Any], parameters: dict[str, Any]) -> Kernel | None:
    """Return the row's kernel for these operands, or None for a dtype that it has none for, or refuses."""
    types = tuple(map(type_of, operands))
    try:
        result = make_type(*row.type_rule(*types, **parameters))
    except (RuntimeError, NotImplementedError):
        return None
    expression = row.kernel_for(types, parameters)
    if expression is None:
        return None
    computed = result.dtype if row.casts is None else row.casts(row.name, types)[0]
    return Kernel(expression, types, result, computed, row.casts is not None)


# Comparing


def differs(row: Primitive, ours: Any, theirs: Any, slack: Any = 0.0) -> Any:
    """Return where the kernel's value is not NumPy's, to rounding."""
    if theirs.dtype.kind != "f":
        return ours != theirs
    limits = np.finfo(theirs.dtype)
    same = (ours == theirs) | np.isnan(ours) & np.isnan(theirs)
    if row.name not in ANY_ZERO:
        same &= (ours != 0) | (np.signbit(ours) == np.signbit(theirs))
    least = 1.0 if row.name in CANCELLING else 0.0
    allowed = TOLERANCE * np.maximum(limits.eps * np.maximum(np.abs(theirs), least), limits.smallest_subnormal) + slack
    near = (np.abs(ours - theirs) <= allowed) & np.isfinite(theirs) & (ours != theirs)
    return ~(same | near)


def change(run: Callable[..., Any], operand: Any) -> Any:
    """Return how much a function's value changes when its operand is rounded."""
    if operand.dtype.kind != "f":
        return 0.0
    return np.nan_to_num(np.abs(run(np.nextafter(operand, operand.dtype.type(INF))) - run(operand)))


def compare(row: Primitive, operands: Sequence[Any], parameters: dict[str, Any]) -> dtypes.dtype | None:
    """Compare kernel and NumPy function; return the dtype that the row computes in, or None where there is no kernel."""
    kernel = kernel_of(row, operands, parameters)
    if kernel is None:
        return None
    with np.errstate(all="ignore"):
        run = prepare(row, kernel.types, (kernel.result,), parameters)
        theirs = np.asarray(run(*operands))
        ours = kernel.run(operands)
        wrong = differs(row, ours, theirs, change(run, operands[0]) if row.name in STEEP else 0.0)
    assert not wrong.any(), report(kernel, operands, ours, theirs, wrong)
    return kernel.computed


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_gives_what_numpy_gives(row: Primitive) -> None:
    """On just the dtypes that the row claims to compute in."""
    compared = {compare(row, *case) for dtype in NAMES for case in cases_of(row, np.dtype(dtype))}
    assert compared - {None} == set(KERNEL_DTYPES[row.kernel_on])


def report(kernel: Kernel, operands: Sequence[Any], ours: Any, theirs: Any, wrong: Any) -> str:
    shown = [np.broadcast_to(o, theirs.shape) for o in operands]
    places = [tuple(place) for place in np.argwhere(wrong)]
    lines = [f"at {[o[place].item() for o in shown]}: {ours[place]}, NumPy gives {theirs[place]}" for place in places[:12]]
    return "\n".join([f"{kernel.expression} ({[o.dtype.name for o in shown]}): {len(places)} differ", *lines])


# What an expression consists of

OPERATORS = (ast.operator, ast.unaryop, ast.cmpop, ast.expr_context, ast.BinOp, ast.UnaryOp, ast.Compare)


def expressions_of(row: Primitive) -> set[str]:
    """Return the row's kernels for its samples, in every dtype."""
    cases = [case for dtype in NAMES for case in cases_of(row, np.dtype(dtype))]
    return {kernel.expression for kernel in [kernel_of(row, *case) for case in cases] if kernel is not None}


def check(node: ast.AST, arity: int) -> None:
    """Check that an expression holds nothing but operands, operators, known functions, and numbers in ``T``."""
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name) and not node.keywords, ast.unparse(node)
        name = node.func.id
        if name == "T":
            number = node.args[0].operand if isinstance(node.args[0], ast.UnaryOp) else node.args[0]
            is_operand = isinstance(number, ast.Name) and number.id in OPERAND_NAMES[:arity]
            assert len(node.args) == 1
            assert isinstance(number, ast.Constant) or is_operand or ast.unparse(number) in NUMBERS, ast.unparse(node)
            return
        assert name in KERNEL_FUNCTIONS or name == "where", ast.unparse(node)
        for argument in node.args:
            check(argument, arity)
    elif isinstance(node, ast.Name):
        assert node.id in OPERAND_NAMES[:arity], node.id
    else:
        assert isinstance(node, OPERATORS), ast.unparse(node)
        assert not isinstance(node, ast.Compare) or len(node.ops) == 1, ast.unparse(node)
        for child in ast.iter_child_nodes(node):
            check(child, arity)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_keeps_to_the_format(row: Primitive) -> None:
    assert row.samples is not None
    expressions = expressions_of(row)
    assert expressions
    for expression in expressions:
        check(ast.parse(expression, mode="eval").body, len(row.samples()[0].operands))


def test_every_function_is_used() -> None:
    trees = [ast.parse(expression) for row in ROWS.values() for expression in expressions_of(row)]
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used - {"T", "where", *OPERAND_NAMES, *NUMBERS} == KERNEL_FUNCTIONS


# What kernels do not do


@pytest.mark.parametrize("value", [1e39, -1e39, 0.5, INF])
def test_numbers_are_checked_before_a_kernel_runs(value: float) -> None:
    """A number that float32 cannot hold is PyTorch's error."""
    masked_fill = TABLE["masked_fill"]
    operands = (np.zeros(3, np.float32), np.array([True, False, True]), value)
    assert masked_fill.check_numbers is not None
    assert outcome(masked_fill.check_numbers, list(map(type_of, operands)), operands) == outcome(masked_fill.numpy, *operands)


def outcome(function: Callable[..., Any], *arguments: Any) -> str | None:
    """Return the message of the error that a function raises, or None."""
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    return None


def test_arithmetic_of_numbers_is_pythons() -> None:
    assert TABLE["add"].kernel_for([type_of(1), type_of(0.5)], {}) is None
    assert TABLE["add"].kernel_for([type_of(np.float32(1)), type_of(0.5)], {}) == "a + b"


# Compiled


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
@pytest.mark.parametrize("name", ["add_multiple", "clamp", "equal", "heaviside", "maximum", "where"])
def test_compiles_to_the_same(name: str, dtype: str) -> None:
    """The compiler promotes numbers by rules of its own: float32 stays float32, and integers wrap when they are stored."""
    import numba

    row = TABLE[name]
    operands, parameters = list(cases_of(row, np.dtype(dtype)))[1]  # the edges
    kernel = kernel_of(row, operands, parameters)
    assert kernel is not None
    given = np.broadcast_arrays(*kernel.convert(operands))
    arguments = ", ".join(OPERAND_NAMES[: len(given)])
    select = numba.njit(lambda condition, x, y: x if condition else y)
    names: dict[str, Any] = {"T": numba.from_dtype(dtypes.array_type(kernel.computed)), "where": select}
    exec(f"def function({arguments}): return {kernel.expression}", names)
    function = numba.njit(names["function"], error_model="numpy")
    values = [function(*elements) for elements in zip(*given, strict=True)]
    if dtype == "float32":
        assert [str(signature.return_type) for signature in function.nopython_signatures] == [kernel.result.dtype.name]
    with np.errstate(all="ignore"):
        theirs = np.asarray(prepare(row, kernel.types, (kernel.result,), parameters)(*operands))
    ours = np.array(values).astype(theirs.dtype)
    np.testing.assert_array_equal(ours, theirs)
