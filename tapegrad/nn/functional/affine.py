"""Affine maps of vectors."""

from __future__ import annotations

import math
from typing import Any

from ...functions.declare import c_name, require_tensor, type_name, write_out
from ...primitives.arithmetic import add
from ...primitives.contraction import matmul, matmul_nt
from ...primitives.movement import permute, reshape
from ...tape.record import here, mark_composed, record
from .composition import show

__all__ = ["bilinear", "linear"]


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """Return ``input @ weight.T + bias``; `weight` has a row for each output feature.

    >>> import tapegrad
    >>> linear(tapegrad.tensor([[1.0, 2.0]]), tapegrad.tensor([[3.0, 4.0]]), tapegrad.tensor([5.0]))
    tensor([[16.]])
    """
    if out is not None:
        return write_out("linear", out, linear(input, weight, bias), input, weight, bias)
    try:
        type_, weight_type = input._node.type, weight._node.type
        bias_type = weight_type if bias is None else bias._node.type
    except AttributeError:
        raise _not_a_tensor(input, weight, bias) from None
    if not (type_.ndim == weight_type.ndim == 2 and type_.dtype is weight_type.dtype is bias_type.dtype):
        return _linear(input, weight, bias)
    start = here()
    product = record(matmul_nt, (input, weight))
    if bias is None:
        return product
    if bias_type.shape != weight_type.shape[:1]:
        _check_expands(bias_type, product._node.type.shape)
    result = record(add, (product, bias))
    if result._node.type.requires_grad:
        mark_composed("AddmmBackward0", result, start)
    return result


def _not_a_tensor(input: Any, weight: Any, bias: Any) -> TypeError:
    for position, (argument, value) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not hasattr(value, "_node"):
            return TypeError(f"linear(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}")
    raise AssertionError("one of them is no tensor")


def _check_expands(bias: Any, shape: tuple[int, ...]) -> None:
    """Raise PyTorch's RuntimeError for a bias that does not expand to the shape of the product."""
    if bias.ndim > len(shape):
        raise RuntimeError(
            f"expand(torch.{bias.dtype.title}Tensor{{{list(bias.shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({bias.ndim})"
        )
    for axis in range(-1, -bias.ndim - 1, -1):
        if bias.shape[axis] not in (1, shape[axis]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[axis]}) must match the existing size ({bias.shape[axis]}) at non-singleton "
                f"dimension {len(shape) + axis}.  Target sizes: {list(shape)}.  Tensor sizes: {list(bias.shape)}"
            )


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    """Apply to any number of dimensions but two, or raise PyTorch's error for what does not fit together."""
    type_, weight_type = input._node.type, weight._node.type
    _check_linear(type_, weight_type, None if bias is None else bias._node.type)
    if weight_type.ndim == 1:
        return input @ weight.t()
    if type_.ndim == 2:
        return linear(input, weight, bias)
    start = here()
    lead, features = type_.shape[:-1], type_.shape[-1]
    rows = record(reshape, (input,), ((math.prod(lead), features),))
    result = record(reshape, (linear(rows, weight, bias),), ((*lead, weight_type.shape[0]),), _shown(type_, bias is not None))
    return show(_shown(type_, bias is not None), result, start) if bias is not None and not type_.is_contiguous else result


def _shown(type_: Any, has_bias: bool) -> str:
    """Return what ``grad_fn`` shows for inputs that have not two dimensions."""
    if has_bias:
        return "ViewBackward0" if type_.is_contiguous else "AddBackward0"
    return "SqueezeBackward4" if type_.ndim == 1 else "UnsafeViewBackward0"


def _check_linear(input: Any, weight: Any, bias: Any) -> None:
    if input.ndim == 0 or weight.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D")
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if weight.ndim == 1 and bias is not None:
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    if bias is None and input.dtype is not weight.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(input.dtype)} != {c_name(weight.dtype)}"
        )
    if bias is not None and not input.dtype is weight.dtype is bias.dtype:
        name, first = ("self", bias) if bias.dtype is not weight.dtype else ("mat1", input)
        raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {first.dtype.title} and {weight.dtype.title}")


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k, over the last dimensions."""
    first, second, third = (require_tensor("bilinear", tensor)._node.type.shape for tensor in (input1, input2, weight))
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    for axis, (length, other) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if length != other:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {axis}: got {length} and {other}")
    for number, (shape, expected) in enumerate(((first, third[1]), (second, third[2])), 1):
        if shape[-1] != expected:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {shape[-1]} but expected {expected}"
            )
    rows = math.prod(first[:-1])
    outputs, size1, size2 = third
    start = here()
    left = record(matmul, (reshape(input1, shape=(rows, size1)), _first_axis_last(weight, (size1, outputs * size2))))
    pairs = record(matmul, (reshape(left, shape=(rows, outputs, size2)), reshape(input2, shape=(rows, size2, 1))))
    result = show("ViewBackward0", reshape(pairs, shape=(*first[:-1], outputs)), start)
    return result if bias is None else result + bias


def _first_axis_last(weight: Any, shape: tuple[int, int]) -> Any:
    """Return a weight (outputs, first, second) as a matrix that maps the first to all pairs of the others."""
    return reshape(permute(weight, axes=(1, 0, 2)), shape=shape)
