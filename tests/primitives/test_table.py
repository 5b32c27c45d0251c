"""Every row of the primitive table: values, derivatives and batching, against PyTorch and finite differences.

One test for each primitive, aspect and mode, so that a failure names the row. A row needs nothing of its own here: its
samples are all it takes. What needs PyTorch is marked so; the rest shows as much as can be shown without it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import tiering
from tapegrad.primitives.declare import TABLE, Primitive
from tapegrad.tape.modes import NAMES
from tests.primitives.cases import (
    OTHER_DTYPES,
    Case,
    all_cases,
    is_array,
    is_emptied,
    is_inexact,
    one_by_one,
    sample_cases,
    to_complex,
    to_dtype,
)
from tests.primitives.driver import (
    Tapegrad,
    Torch,
    assert_all_close,
    assert_close,
    assert_raises_the_same,
    batched_and_looped,
    can_have_tangent,
    check_each,
    check_slopes,
    derivatives,
    gradients,
    has_derivative,
    inner,
    random_like,
    running_in,
    tangents,
    tangents_of,
    to_arrays,
    values,
)

OURS = Tapegrad()
# A transparent mark gives one value the history of another: no function has that derivative.
DIFFERENTIABLE = {name: row for name, row in TABLE.items() if row.differentiable and not row.transparent}

every_row = pytest.mark.parametrize("primitive", TABLE.values(), ids=TABLE)
every_differentiable_row = pytest.mark.parametrize("primitive", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)


@every_row
def test_the_row_is_complete(primitive: Primitive) -> None:
    cases = sample_cases(primitive)
    assert cases
    assert primitive.torch is not None
    assert primitive.batch is not None
    if primitive.differentiable:
        assert primitive.derivatives is not None or (primitive.vjp is not None and primitive.jvp is not None)
        assert any(is_inexact(operand) and operand.size for case in cases for operand in case.operands)


# Against PyTorch


def compare(torch: Any, case: Case, aspect: Callable[[Any, Case], list[Any]], what: str, least: float = 1.0) -> None:
    """Compare an aspect of the case in the two libraries. Where PyTorch raises, tapegrad must raise the same.

    But PyTorch may refuse what the row's author did not write: the driver changes samples without knowing what fits.
    """
    try:
        expected = aspect(Torch(torch), case)
    except (RuntimeError, IndexError, ValueError, TypeError, UserWarning) as error:
        if not case.changed:
            assert_raises_the_same(error, lambda: aspect(OURS, case))
    else:
        assert_all_close(aspect(OURS, case), expected, case.tolerance, what, least=least)


@pytest.mark.peer
@every_row
def test_values(primitive: Primitive, torch: Any, mode: str) -> None:
    check_each(primitive, all_cases(primitive), lambda case: compare(torch, case, values, "result", least=case.least))


def active_cases(primitive: Primitive) -> list[Case]:
    """Return the cases that have an operand to differentiate with respect to."""
    return [case for case in all_cases(primitive) if case.active]


def filled_cases(primitive: Primitive) -> list[Case]:
    """Return those that reduce over something: PyTorch's tangents of what is reduced over nothing are 0 here, NaN there."""
    return [case for case in active_cases(primitive) if not is_emptied(case)]


@pytest.mark.peer
@every_differentiable_row
def test_first_derivatives(primitive: Primitive, torch: Any, mode: str) -> None:
    check_each(primitive, active_cases(primitive), lambda case: compare(torch, case, derivatives, "first derivative"))


@pytest.mark.peer
@every_differentiable_row
def test_second_derivatives(primitive: Primitive, torch: Any, mode: str) -> None:
    aspect = partial(derivatives, order=2)
    check_each(primitive, filled_cases(primitive), lambda case: compare(torch, case, aspect, "second derivative"))


@pytest.mark.peer
@every_differentiable_row
def test_forward_mode(primitive: Primitive, torch: Any, mode: str) -> None:
    check_each(primitive, filled_cases(primitive), lambda case: compare(torch, case, tangents, "tangent of result"))


@pytest.mark.peer
@every_row
def test_complex(primitive: Primitive, torch: Any, mode: str) -> None:
    """Values, derivatives and tangents for complex operands, where PyTorch takes them."""

    def check(case: Case) -> None:
        compare(torch, case, values, "result")
        if primitive.name in DIFFERENTIABLE:
            compare(torch, case, derivatives, "first derivative")
            compare(torch, case, tangents, "tangent of result")

    check_each(primitive, [to_complex(case) for case in sized_samples(primitive)], check)


def sized_samples(primitive: Primitive) -> list[Case]:
    """Return the samples that have an element to compute with: PyTorch takes empty tensors of any dtype."""
    return [case for case in sample_cases(primitive) if any(case.operands[place].size for place in case.active)]


@pytest.mark.peer
@every_row
def test_other_dtypes(primitive: Primitive, torch: Any) -> None:
    """Values for integer, bool and half precision operands, where PyTorch takes them."""
    cases = [to_dtype(case, dtype) for dtype in OTHER_DTYPES for case in sized_samples(primitive)]
    check_each(primitive, cases, lambda case: compare(torch, case, values, "result", least=case.least))


# Without PyTorch


@every_differentiable_row
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_match_finite_differences(primitive: Primitive, order: int, mode: str) -> None:
    def check(case: Case) -> None:
        for part in parts_with_derivatives(case):
            check_slopes(part, order)

    check_each(primitive, sample_cases(primitive), check)


def parts_with_derivatives(case: Case) -> list[Case]:
    """Return the case or, where an operand has no derivative, the case with each of the others alone."""
    return [case] if has_derivative(case) else list(filter(has_derivative, one_by_one(case)))


@every_differentiable_row
def test_forward_mode_matches_reverse_mode(primitive: Primitive, mode: str) -> None:
    """The JVP contracted with a cotangent is the VJP contracted with the tangent; so are their derivatives."""

    def check(case: Case) -> None:
        for part in parts_with_derivatives(case):
            check_forward_against_reverse(part)

    check_each(primitive, sample_cases(primitive), check)


def check_forward_against_reverse(case: Case) -> None:
    operands = OURS.operands(case, requires_grad=True)
    inputs = [operands[place] for place in case.active]
    results = [result for result in OURS.call(case, operands) if can_have_tangent(result)]
    cotangents = [random_like(OURS, case, index, result) for index, result in enumerate(results)]
    directions = [tapegrad.tensor(tangent) for tangent in tangents_of(case) if tangent is not None]
    forward = pair(OURS.forward_mode(case, operands), cotangents)
    outputs = [(r, c) for r, c in zip(results, cotangents, strict=True) if r.requires_grad]
    reverse = pair(gradients(OURS, outputs, inputs), directions)
    assert_close(contraction(forward), contraction(reverse), 1e-10, "JVP", other="the VJP gives", least=1.0)
    actual, expected = [
        to_arrays(OURS, gradients(OURS, [(t, other) for t, other in pairs if t.requires_grad], inputs))
        for pairs in (forward, reverse)
    ]
    assert_all_close(actual, expected, 1e-10, "derivative of the JVP, part", other="that of the VJP is", least=1.0)


def pair(tensors: list[Any], others: list[Any]) -> list[tuple[Any, Any]]:
    """Return the tensors that are there, each with its counterpart."""
    return [(tensor, other) for tensor, other in zip(tensors, others, strict=True) if tensor is not None]


def contraction(pairs: list[tuple[Any, Any]]) -> Any:
    """Return the sum of the pairs' inner products."""
    return np.float64(sum(inner(OURS.array(other), OURS.array(tensor)) for tensor, other in pairs))


@every_row
def test_the_modes_agree(primitive: Primitive) -> None:
    """Bit for bit, as far as nothing is compiled; what is compiled at once, up to the rounding of vector maths and fused sums."""
    is_compiled = tiering.threshold == 0

    def check(case: Case) -> None:
        outcomes = []
        for name in NAMES:
            with running_in(name):
                is_differentiable = primitive.differentiable and has_derivative(case)
                outcomes.append([*values(OURS, case), *(derivatives(OURS, case, order=2) if is_differentiable else [])])
        for name, outcome in zip(NAMES[1:], outcomes[1:], strict=True):
            tolerance, least = (1e-13, 1.0) if name == "jit" and is_compiled else (0.0, 0.0)
            assert_all_close(outcome, outcomes[0], tolerance, f"in mode {NAMES[0]}, value", other=f"in mode {name}", least=least)

    check_each(primitive, sample_cases(primitive), check)


@every_row
def test_batching(primitive: Primitive, mode: str) -> None:
    def check(case: Case) -> None:
        for axes in batch_axes(case):
            batched, looped = batched_and_looped(case, axes)
            what = f"in_dims {axes}: batched result"
            assert_all_close(batched, looped, 1e-12, what, other="one call an element gives", least=1.0)

    check_each(primitive, [case for case in sample_cases(primitive) if case.arrays], check)


def batch_axes(case: Case) -> list[tuple[int | None, ...]]:
    """Return where to put batch axes: first in all arrays, last in all, and in each array alone."""
    arrays = [place for place, operand in enumerate(case.operands) if is_array(operand)]
    chosen: list[tuple[int | None, ...]] = [
        tuple([0 if is_array(operand) else None for operand in case.operands]),
        tuple([operand.ndim if is_array(operand) else None for operand in case.operands]),
    ]
    if len(arrays) > 1:
        chosen += [tuple([0 if place == alone else None for place in range(len(case.operands))]) for alone in arrays]
    return chosen
