"""Sums of products in Einstein's notation."""

from __future__ import annotations

import functools
from typing import Any

from ..primitives.contraction import matmul
from ..primitives.diagonals import diagonal
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_sum
from ..tape.record import here, record
from ..tensor import Tensor
from .declare import type_name, wrong_type
from .reductions import product_of, show

# A label names a dimension: a letter, or for the dimensions of an ellipsis their number, counted from the last (-1, -2, ...).
Label = str | int
Labels = list[Label]
Factor = tuple[Any, Labels]


def einsum(*arguments: Any) -> Any:
    """Return the sum of products that an equation describes: ``einsum("ij,jk->ik", a, b)``.

    Letters name dimensions: those of one name are multiplied element by element, and those not in the result are summed over.
    An ellipsis stands for dimensions without a name. The operands may also be given each followed by a list of numbers.

    >>> import tapegrad
    >>> a = tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tapegrad.einsum("ij,ij->i", a, a)
    tensor([ 5., 25.])
    """
    equation, operands = _equation_and_operands(arguments)
    inputs, output = _parse(equation, tuple([operand.ndim for operand in operands]))
    start = here()
    factors = [_diagonals(operand, labels) for operand, labels in zip(operands, inputs, strict=True)]
    _check_sizes(factors)
    summed = any(label not in output for labels in inputs for label in labels)
    result = _in_order(_contract(factors, output), output)
    if len(operands) == 1 and not summed:
        return record(permute, (result,), (tuple(range(result.ndim)),)) if result is operands[0] else result
    return show("SumBackward1" if len(operands) == 1 else "ViewBackward0" if summed else "MulBackward0", result, start)


def _equation_and_operands(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if len(arguments) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(arguments[0], Tensor):
        return _from_lists(arguments)
    equation, *operands = arguments
    if not isinstance(equation, str):
        raise wrong_type("einsum", "equation", 1, "str", equation)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    for place, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 1, but got {type_name(operand)}")
    return equation, operands


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation for operands that are each followed by a list of numbers, and maybe one for the result."""

    def letters(numbers: Any) -> str:
        return "".join(["..." if number is Ellipsis else _letter(number) for number in numbers])

    pairs = len(arguments) // 2
    parts = [letters(numbers) for numbers in arguments[1 : 2 * pairs : 2]]
    equation = ",".join(parts)
    if len(arguments) % 2:
        equation += "->" + letters(arguments[-1])
    return equation, list(arguments[: 2 * pairs : 2])


def _letter(number: int) -> str:
    if 0 <= number < 26:
        return chr(ord("A") + number)
    if 26 <= number < 52:
        return chr(ord("a") + number - 26)
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


# The equation


@functools.lru_cache(1024)
def _parse(equation: str, dimensions: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand's dimensions, given how many it has, and those of the result."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) > len(dimensions):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(dimensions):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    inputs = [_labels(term, ndim, place, equation) for place, (term, ndim) in enumerate(zip(terms, dimensions, strict=True))]
    counts: dict[Label, int] = {}
    for labels in inputs:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    ellipsis: Labels = sorted([label for label in counts if isinstance(label, int)])
    if arrow:
        return inputs, _output_labels(right, ellipsis, counts)
    once = sorted([label for label in counts if isinstance(label, str) and counts[label] == 1])
    return inputs, [*ellipsis, *once]


def _labels(term: str, ndim: int, place: int, equation: str) -> Labels:
    before, dots, after = term.replace(" ", "").partition("...")
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(letter)} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
    named = len(before) + len(after)
    if dots and named > ndim or not dots and named != ndim:
        wanted = "number of subscripts in the equation ({}) {} the number of dimensions ({}) for operand {}"
        how = "is more than" if dots else "does not match"
        end = "" if dots else " and no ellipsis was given"
        raise RuntimeError(f"einsum(): the {wanted.format(named, how, ndim, place)}{end}")
    unnamed: Labels = list(range(named - ndim, 0)) if dots else []
    return [*before, *unnamed, *after]


def _output_labels(term: str, ellipsis: Labels, counts: dict[Label, int]) -> Labels:
    before, dots, after = term.replace(" ", "").partition("...")
    for letter in before + after:
        if letter not in counts:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
        if (before + after).count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
    return [*before, *(ellipsis if dots else []), *after]


# Factors: tensors, and the labels of their dimensions, each of which is there once


def _diagonals(tensor: Any, labels: Labels) -> Factor:
    """Return the tensor with one dimension for each label: the diagonal of those that have the same."""
    if len(set(labels)) == len(labels):
        return tensor, labels
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = tensor.shape[first], tensor.shape[second]
            if sizes[0] != sizes[1]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand 0 but the sizes don't match, {sizes[1]} != {sizes[0]}"
                )
            tensor = diagonal(tensor, offset=0, axis1=first, axis2=second)
            del labels[second], labels[first]
            labels.append(label)
    return tensor, labels


def _check_sizes(factors: list[Factor]) -> None:
    seen: dict[Label, int] = {}
    for place, (tensor, labels) in enumerate(factors):
        for label, size in zip(labels, tensor._node.type.shape, strict=True):
            known = seen.get(label, 1)
            if size != 1 and known not in (1, size):
                raise RuntimeError(
                    f"einsum(): subscript {label if isinstance(label, str) else '...'} has size {size} for operand {place} which does "
                    f"not broadcast with previously seen size {known}"
                )
            seen[label] = known if size == 1 else size


def _permuted(tensor: Any, axes: tuple[int, ...]) -> Any:
    return tensor if axes == tuple(range(len(axes))) else record(permute, (tensor,), (axes,))


def _reshaped(tensor: Any, shape: tuple[int, ...]) -> Any:
    return tensor if tensor._node.type.shape == shape else record(reshape, (tensor,), (shape,))


def _in_order(factor: Factor, order: Labels) -> Any:
    """Return the tensor with its dimensions in this order, of length 1 for the labels that it does not have."""
    tensor, labels = factor
    tensor = _permuted(tensor, tuple([labels.index(label) for label in order if label in labels]))
    lengths = iter(tensor._node.type.shape)
    return _reshaped(tensor, tuple([next(lengths) if label in labels else 1 for label in order]))


def _summed(factor: Factor, kept: set[Label]) -> Factor:
    """Return the factor summed over the labels that are not to be kept."""
    tensor, labels = factor
    axes = tuple([axis for axis, label in enumerate(labels) if label not in kept])
    if not axes:
        return factor
    return reduce_sum(tensor, axes=axes, keepdims=False), [label for label in labels if label in kept]


# Products, pair by pair, from left to right


def _contract(factors: list[Factor], output: Labels) -> Factor:
    """Return the product of the factors, summed over all labels that are not in the output."""
    result = factors[0]
    for place, factor in enumerate(factors[1:], 1):
        later = set(output).union(*[labels for _, labels in factors[place + 1 :]])
        result = _product(result, factor, later)
    return _summed(result, set(output))


def _product(left: Factor, right: Factor, later: set[Label]) -> Factor:
    """Return the product of two factors, summed over the labels that are not needed later: as a product of matrices."""
    left, right = _without_repeats(left, right), _without_repeats(right, left)
    left, right = _summed(left, later.union(right[1])), _summed(right, later.union(left[1]))
    shared = [label for label in left[1] if label in right[1]]
    inside = [label for label in shared if label not in later]
    batch = [label for label in shared if label in later]
    rows = [label for label in left[1] if label not in shared]
    columns = [label for label in right[1] if label not in shared]
    if not inside:
        order = [*batch, *rows, *columns]
        return _in_order(left, order) * _in_order(right, order), order
    if left[0].dtype is not right[0].dtype:
        raise RuntimeError(f"expected scalar type {left[0].dtype.title} but found {right[0].dtype.title}")
    sizes = dict(zip(left[1] + right[1], left[0]._node.type.shape + right[0]._node.type.shape, strict=True))

    def length(labels: Labels) -> int:
        return product_of([sizes[label] for label in labels])

    lead = (length(batch),) if batch else ()
    first = _reshaped(_in_order(left, [*batch, *rows, *inside]), (*lead, length(rows), length(inside)))
    second = _reshaped(_in_order(right, [*batch, *inside, *columns]), (*lead, length(inside), length(columns)))
    labels = [*batch, *rows, *columns]
    return _reshaped(record(matmul, (first, second)), tuple([sizes[label] for label in labels])), labels


def _without_repeats(factor: Factor, other: Factor) -> Factor:
    """Return the factor without dimensions of length 1 that the other stretches."""
    tensor, labels = factor
    shape = tensor._node.type.shape
    if 1 not in shape:
        return factor
    longer = {label for label, size in zip(other[1], other[0]._node.type.shape, strict=True) if size != 1}
    kept = [axis for axis, label in enumerate(labels) if shape[axis] != 1 or label not in longer]
    return _reshaped(tensor, tuple([shape[axis] for axis in kept])), [labels[axis] for axis in kept]


__all__ = ["einsum"]
