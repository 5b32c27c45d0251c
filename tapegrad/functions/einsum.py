"""Sums of products in Einstein's notation."""

from __future__ import annotations

from typing import Any

from ..primitives.contraction import matmul
from ..primitives.diagonals import diagonal
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_sum
from ..tape.record import here, record
from ..tensor import Tensor
from .declare import require_tensor
from .reductions import product_of, show

# A label names a dimension: a letter, or for the dimensions of an ellipsis their number, counted from the last (-1, -2, ...).
Label = str | int
Labels = list[Label]


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
    inputs, output = _parse(equation, operands)
    start = here()
    lined_up = [_diagonals(operand, labels) for operand, labels in zip(operands, inputs, strict=True)]
    summed = [label for label in dict.fromkeys(label for _, labels in lined_up for label in labels) if label not in output]
    order = [*output, *summed]
    tensors = [_aligned(tensor, labels, order) for tensor, labels in lined_up]
    _check_sizes(tensors, order, inputs)
    result = _contract(tensors, len(output))
    shape = tuple(result.shape[: len(output)])
    if len(tensors) == 1 and not summed:
        return result
    name = "SumBackward1" if len(tensors) == 1 else "ViewBackward0" if summed else "MulBackward0"
    return show(name, result if not summed else reshape(result, shape=shape), start)


def _equation_and_operands(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if len(arguments) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(arguments[0], Tensor):
        return _from_lists(arguments)
    equation, *operands = arguments
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    for place, operand in enumerate(operands):
        require_tensor("einsum", operand, "operands", place + 2)
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


def _parse(equation: str, operands: list[Any]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand's dimensions, and those of the result."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    inputs = [_labels(term, operand.ndim, place, equation) for place, (term, operand) in enumerate(zip(terms, operands, strict=True))]
    counts: dict[Label, int] = {}
    for labels in inputs:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    ellipsis = sorted([label for label in counts if isinstance(label, int)])
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


# The operands, brought into one order of dimensions


def _diagonals(tensor: Any, labels: Labels) -> tuple[Any, Labels]:
    """Return the tensor with one dimension for each label: the diagonal of those that have the same."""
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


def _aligned(tensor: Any, labels: Labels, order: Labels) -> Any:
    """Return the tensor with its dimensions in this order, and dimensions of length 1 for the labels that it does not have."""
    axes = tuple([labels.index(label) for label in order if label in labels])
    tensor = record(permute, (tensor,), (axes,))
    lengths = iter(tensor.shape)
    shape = tuple([next(lengths) if label in labels else 1 for label in order])
    return tensor if tensor.shape == shape else reshape(tensor, shape=shape)


def _check_sizes(tensors: list[Any], order: Labels, inputs: list[Labels]) -> None:
    for axis, label in enumerate(order):
        seen = 1
        for place, tensor in enumerate(tensors):
            size = tensor.shape[axis]
            if size != 1 and seen not in (1, size):
                raise RuntimeError(
                    f"einsum(): subscript {label if isinstance(label, str) else '...'} has size {size} for operand {place} which does "
                    f"not broadcast with previously seen size {seen}"
                )
            if size != 1:
                seen = size


# Products, pair by pair


def _contract(tensors: list[Any], kept: int) -> Any:
    """Return the product of the tensors, from left to right, summed over the dimensions from number `kept` on."""
    ndim = tensors[0].ndim
    result = tensors[0]
    for place, tensor in enumerate(tensors[1:], 1):
        rest = tensors[place + 1 :]
        summed = [axis for axis in range(kept, ndim) if all(other.shape[axis] == 1 for other in rest)]
        result = _product(result, tensor, summed)
    remaining = tuple([axis for axis in range(kept, ndim) if result.shape[axis] != 1])
    if len(tensors) == 1 and kept < ndim:
        remaining = tuple(range(kept, ndim))
    return reduce_sum(result, axes=remaining, keepdims=True) if remaining else result


def _product(left: Any, right: Any, summed: list[int]) -> Any:
    """Return the product of two tensors of as many dimensions, summed over some: as a product of matrices."""
    left = _summed_alone(left, right, summed)
    right = _summed_alone(right, left, summed)
    inside = [axis for axis in summed if left.shape[axis] != 1]
    if not inside:
        return left * right
    outside = [axis for axis in range(left.ndim) if axis not in inside]
    batch = [axis for axis in outside if left.shape[axis] != 1 and right.shape[axis] != 1]
    rows = [axis for axis in outside if axis not in batch and left.shape[axis] != 1]
    columns = [axis for axis in outside if axis not in batch and axis not in rows]
    sizes = [product_of([tensor.shape[axis] for axis in axes]) for tensor, axes in ((left, batch), (left, rows), (left, inside))]
    width = product_of([right.shape[axis] for axis in columns])
    first = reshape(permute(left, axes=(*batch, *rows, *columns, *inside)), shape=(sizes[0], sizes[1], sizes[2]))
    second = reshape(permute(right, axes=(*batch, *rows, *inside, *columns)), shape=(sizes[0], sizes[2], width))
    product = matmul(first, second)
    lengths = [left.shape[axis] if axis not in columns else right.shape[axis] for axis in (*batch, *rows, *columns)]
    shaped = reshape(product, shape=(*lengths, *[1] * len(inside)))
    order = [*batch, *rows, *columns, *inside]
    return permute(shaped, axes=tuple([order.index(axis) for axis in range(left.ndim)]))


def _summed_alone(tensor: Any, other: Any, summed: list[int]) -> Any:
    """Return the tensor summed over those dimensions that the other does not have."""
    axes = tuple([axis for axis in summed if tensor.shape[axis] != 1 and other.shape[axis] == 1])
    return reduce_sum(tensor, axes=axes, keepdims=True) if axes else tensor


__all__ = ["einsum"]
