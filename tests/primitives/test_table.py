"""Every row of the primitive table: values, derivatives and batching, against PyTorch and finite differences.

One test for each primitive, aspect and mode, so that a failure names the row. A row needs nothing of its own here: its
samples are all it takes. What needs PyTorch is marked so; the rest shows as much as can be shown without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives.declare import TABLE, Primitive
from tapegrad.tape.modes import NAMES
from tests.primitives.cases import OTHER_DTYPES, Case, all_cases, is_array, is_inexact, sample_cases, to_complex, to_dtype
from tests.primitives.driver import (
    Tapegrad,
    Torch,
    assert_all_close,
    assert_close,
    batched_and_looped,
    check_each,
    check_slopes,
    derivatives,
    forward_mode,
    gradients,
    inner,
    random_like,
    running_in,
    tangents_of,
    to_arrays,
    torch_forward_mode,
    values,
)

OURS = Tapegrad()
DIFFERENTIABLE = {name: row for name, row in TABLE.items() if row.differentiable}

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


def accepted_by(torch: Any, case: Case) -> bool:
    """Whether PyTorch takes these operands; it must take those that the row's author wrote."""
    try:
        values(Torch(torch), case)
    except (RuntimeError, IndexError, ValueError, TypeError):
        if not case.changed:
            raise
        return False
    return True


@pytest.mark.peer
@every_row
def test_values(primitive: Primitive, torch: Any, mode: str) -> None:
    def check(case: Case) -> None:
        if accepted_by(torch, case):
            assert_all_close(values(OURS, case), values(Torch(torch), case), case.tolerance, "result", least=case.least)

    check_each(primitive, all_cases(primitive), check)


@pytest.mark.peer
@every_differentiable_row
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives(primitive: Primitive, order: int, torch: Any, mode: str) -> None:
    def check(case: Case) -> None:
        if accepted_by(torch, case):
            expected = derivatives(Torch(torch), case, order)
            assert_all_close(derivatives(OURS, case, order), expected, case.tolerance, f"derivative {order}, part", least=1.0)

    check_each(primitive, all_cases(primitive), check)


@pytest.mark.peer
@every_differentiable_row
def test_forward_mode(primitive: Primitive, torch: Any, mode: str) -> None:
    def check(case: Case) -> None:
        if accepted_by(torch, case):
            expected = torch_forward_mode(torch, case)
            actual = to_arrays(OURS, forward_mode(case, OURS.operands(case)))
            assert_all_close(actual, expected, case.tolerance, "tangent of result", least=1.0)

    check_each(primitive, all_cases(primitive), check)


@pytest.mark.peer
@every_row
def test_complex(primitive: Primitive, torch: Any, mode: str) -> None:
    """Values, derivatives and tangents for complex operands, where PyTorch takes them."""

    def check(case: Case) -> None:
        library = Torch(torch)
        if not accepted_by(torch, case):
            return
        assert_all_close(values(OURS, case), values(library, case), case.tolerance, "result", least=1.0)
        if primitive.differentiable:
            expected = derivatives(library, case, order=1)
            assert_all_close(derivatives(OURS, case, order=1), expected, case.tolerance, "derivative 1, part", least=1.0)
            actual = to_arrays(OURS, forward_mode(case, OURS.operands(case)))
            assert_all_close(actual, torch_forward_mode(torch, case), case.tolerance, "tangent of result", least=1.0)

    check_each(primitive, [to_complex(case) for case in sample_cases(primitive) if any(map(is_inexact, case.operands))], check)


@pytest.mark.peer
@every_row
def test_other_dtypes(primitive: Primitive, torch: Any) -> None:
    """Values for integer, bool and half precision operands, where PyTorch takes them."""

    def check(case: Case) -> None:
        if accepted_by(torch, case):
            assert_all_close(values(OURS, case), values(Torch(torch), case), case.tolerance, "result", least=case.least)

    samples = [case for case in sample_cases(primitive) if any(is_inexact(operand) and operand.size for operand in case.operands)]
    check_each(primitive, [to_dtype(case, dtype) for dtype in OTHER_DTYPES for case in samples], check)


# Without PyTorch


@every_differentiable_row
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_match_finite_differences(primitive: Primitive, order: int, mode: str) -> None:
    check_each(primitive, sample_cases(primitive), lambda case: check_slopes(case, order))


@every_differentiable_row
def test_forward_mode_matches_reverse_mode(primitive: Primitive, mode: str) -> None:
    """The JVP contracted with a cotangent is the VJP contracted with the tangent; so are their derivatives."""

    def check(case: Case) -> None:
        operands = OURS.operands(case, requires_grad=True)
        inputs = [operand for operand in operands if getattr(operand, "requires_grad", False)]
        results = [r for r in OURS.call(case, operands) if r.dtype.is_floating_point or r.dtype.is_complex]
        cotangents = [random_like(OURS, case, index, result) for index, result in enumerate(results)]
        tangents = [tapegrad.tensor(tangent) for tangent in tangents_of(case) if tangent is not None]
        forward = pair(forward_mode(case, operands), cotangents)
        outputs = [(r, c) for r, c in zip(results, cotangents, strict=True) if r.requires_grad]
        reverse = pair(gradients(OURS, outputs, inputs), tangents)
        assert_close(contraction(forward), contraction(reverse), 1e-10, "JVP", other="the VJP gives", least=1.0)
        actual, expected = [
            to_arrays(OURS, gradients(OURS, [(t, other) for t, other in pairs if t.requires_grad], inputs))
            for pairs in (forward, reverse)
        ]
        assert_all_close(actual, expected, 1e-10, "derivative of the JVP, part", other="that of the VJP is", least=1.0)

    check_each(primitive, sample_cases(primitive), check)


def pair(tensors: list[Any], others: list[Any]) -> list[tuple[Any, Any]]:
    """Return the tensors that are there, each with its counterpart."""
    return [(tensor, other) for tensor, other in zip(tensors, others, strict=True) if tensor is not None]


def contraction(pairs: list[tuple[Any, Any]]) -> Any:
    """Return the sum of the pairs' inner products."""
    return np.float64(sum(inner(OURS.array(other), OURS.array(tensor)) for tensor, other in pairs))


@every_row
def test_the_modes_agree(primitive: Primitive) -> None:
    """Bit for bit."""

    def check(case: Case) -> None:
        outcomes = []
        for name in NAMES:
            with running_in(name):
                outcomes.append([*values(OURS, case), *(derivatives(OURS, case, order=2) if primitive.differentiable else [])])
        for outcome in outcomes[1:]:
            assert_all_close(outcome, outcomes[0], 0.0, f"in mode {NAMES[0]}, value", other="in another mode")

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
