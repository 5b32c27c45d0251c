"""Scalar code: what a kernel computes for one element, from the kernel expression in a primitive's row."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Any

from .. import dtypes
from .vector_maths import FUNCTIONS, SUFFIXES

KINDS = {
    dtypes.float32: "f4",
    dtypes.float64: "f8",
    dtypes.int8: "i1",
    dtypes.int16: "i2",
    dtypes.int32: "i4",
    dtypes.int64: "i8",
    dtypes.uint8: "u1",
    dtypes.bool: "b1",
}
_OPERANDS = ("a", "b", "c", "d", "e")
# What needs no code of its own; other functions are those of vector_maths, by kind of element.
_SCALARS = {
    "abs": "abs",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "trunc": "np.trunc",
    "rint": "np.rint",
    "sqrt": "np.sqrt",
    "isnan": "np.isnan",
    "isinf": "np.isinf",
    "isfinite": "np.isfinite",
    "copysign": "np.copysign",
    "where": "where",
}


def expression_for(node: Any) -> str | None:
    """Return the kernel expression of a record, or None if kernels cannot compute it."""
    if node.primitive.check_numbers is not None and any([operand.type.is_number for operand in node.operands]):
        return None
    if node.type.dtype not in KINDS or any([operand.type.dtype not in KINDS for operand in node.operands]):
        return None
    found: str | None = node.primitive.kernel_for(tuple([operand.type for operand in node.operands]), node.parameters)
    if found is None or not all([_exists(name, _kind_of(node)) for name in _functions(found)]):
        return None
    return found


def _exists(name: str, kind: str) -> bool:
    return name in _SCALARS or name == "T" or (name in FUNCTIONS and kind in [SUFFIXES[dtype] for dtype in FUNCTIONS[name].dtypes])


@lru_cache(maxsize=4096)
def _functions(expression: str) -> frozenset[str]:
    """Return the names of the functions that an expression calls."""
    tree = ast.parse(expression, mode="eval")
    return frozenset([node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)])


def _kind_of(node: Any) -> str:
    """Return the kind of element that a record is computed in."""
    primitive = node.primitive
    if primitive.casts is None:
        return KINDS[node.type.dtype]
    return KINDS[primitive.casts(primitive.name, tuple([operand.type for operand in node.operands]))[0]]


def render(node: Any, expression: str, variables: list[str], kinds: list[str]) -> str:
    """Return the code of a record's value, of operands in these variables and of these kinds."""
    kind = _kind_of(node)
    own = node.primitive.casts is None
    names = {}
    for name, variable, given, operand in zip(_OPERANDS, variables, kinds, node.operands, strict=False):
        names[name] = variable if given == kind or (own and operand.node is not None) else cast(variable, kind, given)
    others = tuple(zip(_OPERANDS, kinds, strict=False)) if own else ()
    read = [(name, value) for name, value in node.parameters.items() if re.search(rf"\b{name}\b", expression)]
    literals = tuple([(name, ast.unparse(ast.Constant(value))) for name, value in read])
    text, is_condition = _renamed(expression, tuple(names.items()), others, literals, kind)
    result = KINDS[node.type.dtype]
    is_bool = is_condition or (kind == "b1" and result != "b1")
    return text if is_bool and result == "b1" else cast(text, result, "b1" if is_bool else kind)


def cast(text: str, kind: str, given: str = "") -> str:
    """Return the code of a value in another kind of element."""
    if kind == "b1":
        return f"({text}) != 0"
    return f"({kind}(1) if {text} else {kind}(0))" if given == "b1" else f"{kind}({text})"


def _is_condition(tree: ast.expr) -> bool:
    """Whether an expression is a comparison."""
    return isinstance(tree, ast.Compare)


Pairs = tuple[tuple[str, str], ...]


@lru_cache(10_000)  # a structure is met again with other shapes
def _renamed(expression: str, variables: Pairs, kinds: Pairs, literals: Pairs, kind: str) -> tuple[str, bool]:
    """Return an expression with what its names stand for, and whether it is a comparison."""
    tree = _Renamed(dict(variables), dict(kinds), dict(literals), kind).visit(ast.parse(expression, mode="eval"))
    return ast.unparse(ast.fix_missing_locations(tree)), _is_condition(tree.body)


class _Renamed(ast.NodeTransformer):
    """Puts variables for operands, literals for parameters, and functions of the kind of element."""

    def __init__(self, variables: dict[str, str], kinds: dict[str, str], literals: dict[str, str], kind: str) -> None:
        self.variables = variables
        self.kinds = kinds  # of those variables that are not of the kind to compute in
        self.literals = literals
        self.kind = kind

    def visit_Name(self, name: ast.Name) -> ast.AST:  # noqa: N802 - ast calls it by this name
        if name.id in self.variables:
            return _parsed(self.variables[name.id])
        if name.id in ("inf", "nan"):
            return _parsed(f"np.{name.id}")
        if name.id in self.literals:
            return _parsed(self.literals[name.id])
        return name

    def visit_UnaryOp(self, operation: ast.UnaryOp) -> ast.AST:  # noqa: N802 - as above
        operand = self.visit(operation.operand)
        if isinstance(operation.op, ast.Invert) and self.kind == "b1":
            return ast.UnaryOp(ast.Not(), operand)  # of a Python bool, ~ is an integer
        return ast.UnaryOp(operation.op, operand)

    def visit_Call(self, call: ast.Call) -> ast.AST:  # noqa: N802 - as above
        arguments = [self.visit(argument) for argument in call.args]
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        if name == "T" and self.kind == "b1":
            return ast.Compare(arguments[0], [ast.NotEq()], [ast.Constant(0)])
        if name == "T" and isinstance(call.args[0], ast.Name) and self.kinds.get(call.args[0].id) == "b1":
            return _parsed(cast(ast.unparse(arguments[0]), self.kind, "b1"))
        function = self.kind if name == "T" else _SCALARS.get(name) or f"{name}_{self.kind}"
        return ast.Call(_parsed(function), arguments, [])


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
