"""What declares a primitive: one call, in one place, is one row of the table.

A rule is a small function that names what it needs, and the names tell the tape what to keep for the reverse sweep:

======================  ====================================================================================
``g``                   the cotangent of the result (a tuple, with None where there is none, for several results);
                        in forward mode the same rule gets the tangent of its operand
``a``, ``b``, ``c``,    the operands' values (kept as residuals); ``operands`` for all of a variadic primitive
``d``, ``e``
``constants``           the values of the operands that never have a cotangent (``Type.is_constant``: Python numbers,
                        integer and bool tensors), in order: for a variadic primitive that need not keep the others
``r``                   the result's value (kept as a residual); a tuple for several results, of which
``r0``, ``r1``, ``r2``  are one each: a rule names those it reads, since the others need not be kept
``types``, ``rtype``    the operands' types and the result's (shape, dtype, ...: nothing is kept)
``needs``               which operands want a cotangent, a tuple of bools (``vjp`` rules only)
any static parameter    by its name
======================  ====================================================================================

Rules are written in tensor operations, so they can be recorded and differentiated again. They never mention
broadcasting or promotion: the replay sums and casts a cotangent to its operand's type.

A row's *kernel* is its function of one element, for loops that many rows are fused into: a Python expression, such as
``where(a < T(0), T(0), a)`` for relu. Where it depends on the static parameters or the operands' types, it is a function
that names them (``types``) and returns the expression, or None where there is none. It gives what the row's NumPy function
gives, to rounding, for NaN, infinities and integers that wrap too. An expression holds nothing but

======================  ====================================================================================
``a``, ``b``, ``c``,    the operands' elements, in the dtype that the row computes in (``casts``); in a row without
``d``, ``e``            ``casts`` in their own dtypes, but a Python number in the result's
``T(...)``              a number in the dtype that the row computes in (without ``casts``: that of the result), or an
                        operand converted to it; ``inf`` and ``nan`` are numbers. No number stands alone: NumPy and
                        compilers promote it differently
``where(x, y, z)``      y where the bool x is true, else z; both are computed
other functions         those of `KERNEL_FUNCTIONS`, of the dtype that the row computes in
operators               Python's, with ``&``, ``|``, ``^`` and ``~`` for logic; ``a != a`` says whether it is NaN
======================  ====================================================================================

and its value is converted to the result's dtype (to bool: whether it is not zero). ``kernel_on`` names the dtypes to compute
in that the kernel is for: a key of `KERNEL_DTYPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..tape.record import record
from ..tape.types import Type
from . import batching, type_rules

Rule = Callable[..., Any]
OPERAND_NAMES = ("a", "b", "c", "d", "e")
RESULT_NAMES = ("r0", "r1", "r2")  # of one with several
TABLE: dict[str, Primitive] = {}

Kernel = str | Callable[..., str | None]
_FLOATS = (dtypes.float32, dtypes.float64)
_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
KERNEL_DTYPES = {
    "bool": (dtypes.bool,),
    "float": _FLOATS,
    "number": (*_FLOATS, *_INTEGERS),
    "integer": _INTEGERS,
    "bool and integer": (dtypes.bool, *_INTEGERS),
    "any": (dtypes.bool, *_FLOATS, *_INTEGERS),
}
KERNEL_FUNCTIONS = frozenset(
    "abs floor ceil trunc rint sqrt exp expm1 exp2 log log1p log2 log10 tanh sigmoid sin cos tan asin acos atan atan2 sinh cosh"
    " asinh acosh atanh erf erfc erfinv pow lgamma digamma copysign isinf isfinite fmod".split()
)


class Sample:
    """Operands (arrays or Python numbers) and static parameters to test a primitive on."""

    def __init__(self, *operands: Any, **parameters: Any) -> None:
        self.operands = operands
        self.parameters = parameters

    def __repr__(self) -> str:
        shapes = [getattr(operand, "shape", operand) for operand in self.operands]
        return f"Sample({shapes}, {self.parameters})"


class BoundRule:
    """A rule and the places its arguments come from."""

    __slots__ = ("function", "names", "saved_operands", "saves_result", "saved_results", "saves_all", "saves_constants")

    def __init__(self, function: Rule) -> None:
        code = function.__code__  # every rule is a plain function or lambda
        self.function = function
        self.names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.saved_operands = tuple(OPERAND_NAMES.index(name) for name in self.names if name in OPERAND_NAMES)
        self.saves_result = "r" in self.names
        self.saved_results = tuple(RESULT_NAMES.index(name) for name in self.names if name in RESULT_NAMES)
        self.saves_all = "operands" in self.names
        self.saves_constants = "constants" in self.names


class Primitive:
    """An operation that the tape can record.

    Calling it with tensors (and Python numbers, which are run-time inputs) and its static parameters by name records it
    and returns the result tensor, or a tuple of them.
    """

    def __init__(
        self,
        name: str,
        numpy: Callable[..., Any],
        type_rule: Callable[..., Any],
        *,
        parameters: Sequence[str] = (),
        results: int = 1,
        derivatives: Sequence[Rule | None] | None = None,
        vjp: Rule | None = None,
        jvp: Rule | None = None,
        linear_in: tuple[int, ...] = (),
        jointly: bool = False,
        casts: Callable[..., Any] | None = None,
        batch: Callable[..., Any] | None = None,
        samples: Callable[[], list[Sample]] | None = None,
        torch: Callable[..., Any] | None = None,
        grad_name: str | None = None,
        differentiable: bool = True,
        kernel: Kernel | None = None,
        kernel_on: str = "float",
    ) -> None:
        if name in TABLE:
            raise ValueError(f"primitive {name!r} is declared twice")
        self.name = name
        self.numpy = numpy
        self.type_rule = type_rule
        self.parameters = tuple(parameters)
        self.results = results
        self.derivatives = None if derivatives is None else tuple(None if d is None else BoundRule(d) for d in derivatives)
        self.vjp = None if vjp is None else BoundRule(vjp)
        self.jvp = None if jvp is None else BoundRule(jvp)
        self.linear_in = linear_in
        self.jointly = jointly
        self.casts = casts
        self.batch = batch
        self.samples = samples
        self.torch = torch
        self.grad_name = grad_name or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        self.differentiable = differentiable and (derivatives is not None or vjp is not None)
        self.makes_leaf = False
        # From the operands' types and the parameters to a NumPy function for just these (or None), where one is faster.
        self.specialise: Callable[..., Any] | None = None
        self.transparent = False  # the marks that ``grad_fn`` looks through set it
        self.kernel = kernel
        self.kernel_on = kernel_on
        # From the operands' types and values: raises for a Python number that the NumPy function refuses. Kernels do not.
        self.check_numbers: Callable[[Sequence[Type], Sequence[Any]], None] | None = None
        TABLE[name] = self

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __call__(self, *operands: Any, name: str | None = None, **parameters: Any) -> Any:
        """Record the primitive; `name` is the name that ``grad_fn`` shows instead of the primitive's own."""
        if self.parameters:
            return record(self, operands, tuple([parameters[key] for key in self.parameters]), name)
        return record(self, operands, (), name)

    def kernel_for(self, types: Sequence[Type], parameters: dict[str, Any]) -> str | None:
        """Return the kernel for operands of these types and these static parameters, or None if it has none for them.

        Arithmetic of Python numbers alone is Python's.
        """
        if self.kernel is None or not all([t.dtype in KERNEL_DTYPES["any"] for t in types]) or all([t.is_number for t in types]):
            return None
        dtype = self.type_rule(*types, **parameters)[0] if self.casts is None else self.casts(self.name, types)[0]
        if dtype not in KERNEL_DTYPES[self.kernel_on]:
            return None
        if isinstance(self.kernel, str):
            return self.kernel
        available = {"types": types, **parameters}
        names = self.kernel.__code__.co_varnames[: self.kernel.__code__.co_argcount]
        return self.kernel(**{name: available[name] for name in names})


def elementwise(
    name: str,
    numpy: Callable[..., Any],
    derivatives: Sequence[Rule | None] | None,
    *,
    casts: Callable[[str, tuple[Type, ...]], Any] = type_rules.promoted,
    parameters: Sequence[str] = (),
    domain: Any = (-2.0, 2.0),
    torch: Callable[..., Any],
    grad_name: str | None = None,
    samples: Callable[[], list[Sample]] | None = None,
    arity: int | None = None,
    kernel: Kernel | None = None,
    kernel_on: str = "float",
) -> Primitive:
    """Declare an elementwise primitive.

    Each derivative (one per operand, None where there is none) maps the tangent of its operand to its share of the
    result's tangent, such as ``lambda g, r: g * (1 - r * r)`` for tanh; being linear in ``g``, the same line is the VJP.
    `derivatives` None: not differentiable. `casts(name, types)` gives the dtype to compute in and that of the result
    (see type_rules); the NumPy function gets its operands in the former. `domain` is an interval to draw test operands
    from, or one an operand. `torch(torch, a, b, ..., **parameters)` is the same function in PyTorch, for the tests.
    `kernel` is the same function of one element, on the dtypes that `kernel_on` names.
    """
    operands = arity if arity is not None else len(derivatives or (None,))

    def type_rule(*types: Type, **_parameters: Any) -> Any:
        _, result = casts(name, types)
        return result, *type_rules.broadcast(name, types)

    return Primitive(
        name,
        numpy,
        type_rule,
        parameters=parameters,
        derivatives=derivatives,
        casts=casts,
        batch=batching.elementwise,
        samples=samples or (lambda: batching.elementwise_samples(Sample, operands, domain)),
        torch=torch,
        grad_name=grad_name,
        kernel=kernel,
        kernel_on=kernel_on,
    )


def linear(
    name: str,
    numpy: Callable[..., Any],
    type_rule: Callable[..., Any],
    *,
    transpose: Rule | Sequence[Rule | None],
    parameters: Sequence[str] = (),
    batch: Callable[..., Any],
    samples: Callable[[], list[Sample]],
    torch: Callable[..., Any],
    jointly: bool = False,
    grad_name: str | None = None,
    casts: Callable[..., Any] | None = None,
    kernel: Kernel | None = None,
    kernel_on: str = "float",
) -> Primitive:
    """Declare a primitive that is linear in some operands, each separately (matmul) or all jointly (update).

    `transpose` has one rule an operand (None where it is not linear, such as an index), from the result's cotangent to
    the operand's. In forward mode the primitive itself is applied to the tangents.
    """
    rules = (transpose,) if callable(transpose) else tuple(transpose)
    return Primitive(
        name,
        numpy,
        type_rule,
        parameters=parameters,
        derivatives=rules,
        linear_in=tuple(i for i, rule in enumerate(rules) if rule is not None),
        jointly=jointly,
        batch=batch,
        samples=samples,
        torch=torch,
        grad_name=grad_name,
        casts=casts,
        kernel=kernel,
        kernel_on=kernel_on,
    )


def other(
    name: str,
    numpy: Callable[..., Any],
    type_rule: Callable[..., Any],
    *,
    vjp: Rule | None,
    jvp: Rule | None,
    parameters: Sequence[str] = (),
    results: int = 1,
    batch: Callable[..., Any],
    samples: Callable[[], list[Sample]],
    torch: Callable[..., Any],
    grad_name: str | None = None,
    casts: Callable[..., Any] | None = None,
    kernel: Kernel | None = None,
    kernel_on: str = "float",
) -> Primitive:
    """Declare any other primitive.

    ``vjp`` returns the cotangents of the operands (one value, or a tuple with None for those without); ``jvp`` gets in
    ``g`` the tuple of the operands' tangents (zeros where there is none, None for operands that cannot have one) and
    returns the tangent of the result (a tuple for several). Both None: not differentiable (sort indices, argmax).
    """
    return Primitive(
        name,
        numpy,
        type_rule,
        parameters=parameters,
        results=results,
        vjp=vjp,
        jvp=jvp,
        batch=batch,
        samples=samples,
        torch=torch,
        grad_name=grad_name,
        casts=casts,
        kernel=kernel,
        kernel_on=kernel_on,
    )
