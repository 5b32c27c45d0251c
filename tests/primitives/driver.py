"""Runs one case in tapegrad or in PyTorch, differentiates it, and compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import tapegrad
from tapegrad.dtypes import array_type
from tapegrad.primitives.declare import Primitive
from tapegrad.tape.forward import push_batch, push_forward
from tests.primitives.cases import Case, is_array, is_inexact, tapegrad_operands, to_torch, torch_operands

SHOWN_FAILURES = 6


class Tapegrad:
    """tapegrad, behind the interface that the tests share."""

    module: Any = tapegrad
    operands = staticmethod(tapegrad_operands)

    def call(self, case: Case, operands: Sequence[Any]) -> tuple[Any, ...]:
        return as_tuple(case.primitive(*operands, **case.parameters))

    def tensor(self, array: Any) -> Any:
        return tapegrad.tensor(array)

    def array(self, tensor: Any) -> Any:
        return np.asarray(tensor.detach().numpy())

    def forward_mode(self, case: Case, operands: Sequence[Any]) -> list[Any]:
        """Return the tangents of the floating point results, None for zeros."""
        directions = [None if tangent is None else tapegrad.tensor(tangent) for tangent in tangents_of(case)]
        results, pushed = push_forward(case.primitive, operands, directions, case.parameters)
        results = as_tuple(results)
        pushed = [None] * len(results) if pushed is None else as_tuple(pushed)
        return [tangent for result, tangent in zip(results, pushed, strict=True) if can_have_tangent(result)]


class Torch:
    """PyTorch, behind the same."""

    def __init__(self, torch: Any) -> None:
        self.module = torch

    def operands(self, case: Case, requires_grad: bool = False) -> list[Any]:
        return torch_operands(self.module, case, requires_grad)

    def call(self, case: Case, operands: Sequence[Any]) -> tuple[Any, ...]:
        assert case.primitive.torch is not None, f"{case.primitive.name} has no counterpart in PyTorch"
        return as_tuple(case.primitive.torch(self.module, *operands, **case.parameters))

    def tensor(self, array: Any) -> Any:
        return to_torch(self.module, array)

    def array(self, tensor: Any) -> Any:
        if tensor.dtype == self.module.bfloat16:  # which PyTorch does not hand to NumPy
            return tensor.float().numpy(force=True).astype(array_type(tapegrad.bfloat16))
        return tensor.numpy(force=True)

    def forward_mode(self, case: Case, operands: Sequence[Any]) -> list[Any]:
        """Return the same, by PyTorch's forward mode, or by its reverse mode twice where it has none.

        The VJP is linear in the cotangent, and the VJP of that is the JVP.
        """

        def function(*active: Any) -> tuple[Any, ...]:
            given = list(operands)
            for place, operand in zip(case.active, active, strict=True):
                given[place] = operand
            return tuple([result for result in self.call(case, given) if can_have_tangent(result)])

        # A copy, since PyTorch's forward mode refuses expanded operands.
        primals = tuple([operands[place].clone(memory_format=self.module.contiguous_format) for place in case.active])
        directions = tuple([self.tensor(tangent) for tangent in tangents_of(case) if tangent is not None])
        results = function(*primals)
        if not results:
            return []
        try:
            _, pushed = self.module.func.jvp(function, primals, directions)
        except NotImplementedError:
            _, pushed = self.module.autograd.functional.jvp(function, primals, directions)
        # PyTorch gives some tangents of 0-d tensors in another precision than that of the result.
        return [tangent.to(result.dtype) for tangent, result in zip(as_tuple(pushed), results, strict=True)]


def can_have_tangent(result: Any) -> bool:
    """Whether the result, of either library, is floating point or complex."""
    return bool(result.dtype.is_floating_point or result.dtype.is_complex)


def as_tuple(results: Any) -> tuple[Any, ...]:
    """Return one result or several as a tuple."""
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


@contextmanager
def running_in(mode: str) -> Iterator[None]:
    """Run a block in one mode."""
    before = tapegrad.get_mode()
    tapegrad.set_mode(mode)
    try:
        yield
    finally:
        tapegrad.set_mode(before)


# Forward and derivatives


def values(library: Any, case: Case) -> list[Any]:
    """Return the results as arrays."""
    return [library.array(result) for result in library.call(case, library.operands(case))]


def derivatives(library: Any, case: Case, order: int = 1) -> list[Any]:
    """Return the first or second derivatives of the results, contracted with random arrays that both libraries share.

    The first: the cotangents of all operands that can have one. The second: of those, contracted again, the cotangents
    of the operands and of the first cotangents. None stands for zeros.
    """
    operands = library.operands(case, requires_grad=True)
    inputs = [operand for operand in operands if getattr(operand, "requires_grad", False)]
    results = library.call(case, operands)
    outputs = [(result, random_like(library, case, i, result)) for i, result in enumerate(results) if result.requires_grad]
    cotangents = [cotangent.requires_grad_() for _, cotangent in outputs]
    first = gradients(library, outputs, inputs)
    if order == 1:
        return to_arrays(library, first)
    contracted = [
        (derivative, random_like(library, case, 100 + index, derivative))
        for index, derivative in enumerate(first)
        if derivative is not None and derivative.requires_grad
    ]
    return to_arrays(library, gradients(library, contracted, [*inputs, *cotangents]))


def gradients(library: Any, outputs: Sequence[tuple[Any, Any]], inputs: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the inputs, given outputs paired with theirs."""
    if not outputs or not inputs:
        return [None] * len(inputs)
    tensors, cotangents = zip(*outputs, strict=True)
    return list(library.module.autograd.grad(tensors, inputs, cotangents, create_graph=True, allow_unused=True))


def to_arrays(library: Any, tensors: Iterable[Any]) -> list[Any]:
    """Return the tensors' arrays, None for None."""
    return [None if tensor is None else library.array(tensor) for tensor in tensors]


def random_like(library: Any, case: Case, key: int, tensor: Any) -> Any:
    """Return a random tensor of the same shape and dtype: the same in both libraries for the same case and key."""
    return library.tensor(random_array(case, key, library.array(tensor)))


def random_array(case: Case, key: int, like: Any) -> Any:
    """Return a random array of the same shape and dtype."""
    random = np.random.default_rng([case.sample, key])
    array = random.uniform(0.5, 1.5, like.shape) * random.choice([-1.0, 1.0], like.shape)
    if like.dtype.kind == "c":
        array = array + 1j * random.uniform(-1.0, 1.0, like.shape)
    return np.asarray(array, like.dtype)


def tangents(library: Any, case: Case) -> list[Any]:
    """Return the tangents of the floating point results, for random tangents of the operands."""
    return to_arrays(library, library.forward_mode(case, library.operands(case)))


def tangents_of(case: Case) -> list[Any]:
    """Return random tangents for the operands as arrays, None for those that have none."""
    return [random_array(case, 200 + i, o) if i in case.active else None for i, o in enumerate(case.operands)]


def batched_and_looped(case: Case, axes: Sequence[int | None]) -> tuple[list[Any], list[Any]]:
    """Return the results of the batching rule and those of one call an element, stacked.

    `axes` says for each operand where its batch axis is to be, None for none.
    """
    library = Tapegrad()
    elements = [case, case.with_arrays([another_of(array) for array in case.arrays])]
    stacks = [
        operand if axis is None else np.stack([element.operands[place] for element in elements], axis=axis)
        for place, (operand, axis) in enumerate(zip(case.operands, axes, strict=True))
    ]
    tensors = [tapegrad.tensor(stack) if is_array(stack) else stack for stack in stacks]
    batched = as_tuple(push_batch(case.primitive, tensors, tuple(axes), case.parameters))
    rows = []
    for element in elements:
        chosen = zip(case.operands, element.operands, axes, strict=True)
        operands = tuple([shared if axis is None else own for shared, own, axis in chosen])
        rows.append(values(library, replace(case, operands=operands)))
    return to_arrays(library, batched), [np.stack(parts) for parts in zip(*rows, strict=True)]


def another_of(array: Any) -> Any:
    """Return a different array in the same domain: numbers a little smaller; masks and indices in another order."""
    return array * array.dtype.type(0.97) if is_inexact(array) else np.flip(array)


# Finite differences


def slope(function: Callable[[Any], float], at: Any, direction: Any, step: float = 1e-4) -> float:
    """Return the derivative of the function along a direction, by a five-point central difference."""
    near = function(at + step * direction) - function(at - step * direction)
    far = function(at + 2 * step * direction) - function(at - 2 * step * direction)
    return (8 * near - far) / (12 * step)


def direction_for(case: Case, key: int, array: Any) -> Any:
    """Return a random direction to move an array in. A symmetric matrix stays symmetric: its other half may be unread."""
    direction = random_array(case, key, array)
    if array.ndim >= 2 and array.shape[-1] == array.shape[-2] and np.array_equal(array, array.swapaxes(-1, -2)):
        direction = (direction + direction.swapaxes(-1, -2)) / 2
    return direction


def contracted_results(case: Case) -> float:
    """Return the sum of the floating point results times the cotangents that `derivatives` uses."""
    return contract(case, 0, [array if is_inexact(array) else None for array in values(Tapegrad(), case)])


def contracted_derivatives(case: Case) -> float:
    """Return the sum of the first derivatives times the arrays that `derivatives` contracts them with."""
    return contract(case, 100, derivatives(Tapegrad(), case, order=1))


def contract(case: Case, key: int, arrays: Sequence[Any]) -> float:
    """Return the sum of the arrays times random ones."""
    return sum(inner(random_array(case, key + i, a), a) for i, a in enumerate(arrays) if a is not None)


def inner(first: Any, second: Any) -> float:
    """Return the inner product; of complex arrays, its real part."""
    return float(np.vdot(first, second).real)


def check_slopes(case: Case, order: int) -> None:
    """Compare the derivatives of that order with finite differences, for one operand after another."""
    function = contracted_results if order == 1 else contracted_derivatives
    for derivative, place in zip(derivatives(Tapegrad(), case, order), case.active, strict=False):
        array = case.operands[place]
        direction = direction_for(case, 300 + place, array)

        def along(array: Any, place: int = place) -> float:
            operands = (*case.operands[:place], np.asarray(array), *case.operands[place + 1 :])
            return function(replace(case, operands=operands))

        expected = slope(along, array, direction)
        actual = 0.0 if derivative is None else inner(derivative, direction)
        what = f"derivative {order} with respect to operand {place}, along a random direction"
        assert_close(np.float64(actual), np.float64(expected), 1e-7, what, other="finite differences give", least=1.0)


def has_derivative(case: Case) -> bool:
    """Whether there is a derivative; raising PyTorch's error for those that PyTorch does not have either is no failure."""
    try:
        derivatives(Tapegrad(), case, order=1)
    except RuntimeError as error:
        if "is not implemented" in str(error):
            return False
        raise
    return True


# Comparing


def assert_close(
    actual: Any, expected: Any, tolerance: float, what: str, other: str = "PyTorch gives", least: float = 0.0
) -> None:
    """Compare dtype, shape and values.

    The error may be `tolerance` times the expected value or, with `least`, times the largest expected value (at least
    `least`): derivatives are sums, in which what cancels leaves errors of the size of the terms.
    """
    if actual is None or expected is None:  # a derivative that is zero
        present = expected if actual is None else actual
        if present is None:
            return
        actual, expected = (np.zeros_like(present) if given is None else given for given in (actual, expected))
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, {other} {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {list(actual.shape)}, {other} {list(expected.shape)}"
    if actual.size == 0:
        return
    if expected.dtype.kind not in "fcV":
        wrong = actual != expected
    else:
        if expected.dtype.itemsize == 2:  # half precision
            actual, expected = actual.astype(np.float32), expected.astype(np.float32)
        finite = np.isfinite(expected)
        size = np.abs(np.where(finite, expected, 0))
        allowed = tolerance * (size if least == 0.0 else max(least, size.max()))
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.where(finite, np.abs(actual - expected) <= allowed, same_nonfinite(actual, expected))
        wrong = ~near
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        at = f" at {list(place)}" if place else ""
        count = f" ({int(wrong.sum())} of {wrong.size} elements differ)" if wrong.size > 1 else ""
        raise AssertionError(f"{what}: {actual[place]!r}{at}, {other} {expected[place]!r}{count}")


def same_nonfinite(actual: Any, expected: Any) -> Any:
    """Whether both are NaN or the same infinity; of a complex number, whether both are not finite."""
    if actual.dtype.kind == "c":
        return ~np.isfinite(actual)
    return (actual == expected) | (np.isnan(actual) & np.isnan(expected))


def assert_all_close(
    actual: Sequence[Any],
    expected: Sequence[Any],
    tolerance: float,
    what: str,
    other: str = "PyTorch gives",
    least: float = 0.0,
) -> None:
    """Compare lists of arrays; `what` is followed by the number in the list."""
    assert len(actual) == len(expected), f"{what}: {len(actual)} of them, {other} {len(expected)}"
    for number, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        assert_close(ours, theirs, tolerance, f"{what} {number}", other, least)


def assert_raises_the_same(expected: Exception, function: Callable[[], Any]) -> None:
    """Check that the function raises an error of that type and text."""
    try:
        function()
    except type(expected) as error:
        assert str(error) == str(expected), f"raises {str(error)!r}, PyTorch raises {str(expected)!r}"
    else:
        raise AssertionError(f"raises nothing, PyTorch raises {type(expected).__name__}: {expected}")


def check_each(primitive: Primitive, cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Run the check on each case; raise at the end, naming the cases that failed and why."""
    failures: list[tuple[Case, Exception]] = []
    count = 0
    for case in cases:
        count += 1
        try:
            check(case)
        except Exception as error:  # reported below, with the case that it belongs to
            failures.append((case, error))
    if failures:
        lines = [f"{case}\n    {type(error).__name__}: {str(error).strip()}" for case, error in failures[:SHOWN_FAILURES]]
        rest = [f"... and {len(failures) - SHOWN_FAILURES} more"] if len(failures) > SHOWN_FAILURES else []
        summary = f"{primitive.name}: {len(failures)} of {count} cases fail"
        raise AssertionError("\n  ".join([summary, *lines, *rest])) from failures[0][1]
