"""Rows of a table, and one-hot vectors: what stands for an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...functions.options import concrete
from ...primitives.casting import cast
from ...primitives.gathering import scatter_add
from ...primitives.movement import reshape
from ...primitives.row_indexing import index_select
from ...primitives.selection import where
from ...tape import constants
from ...tape.aliases import in_place
from ...tape.buffers import is_concrete
from ...tape.record import here, look_at, read, record
from ...tape.segment import in_grad_mode
from .composition import show

__all__ = ["embedding", "one_hot"]


@checked
def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return the rows of `weight` at the indices `input`.

    Args:
        input: int64 or int32 indices of any shape.
        weight: the table, a row for each index.
        padding_idx: a row that gets no gradient; negative ones count from the end.
        max_norm: rows that are used and have a larger norm are first scaled to this norm, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: whether gradients are divided by how often their index occurs.
        sparse: accepted for PyTorch's sake; gradients are dense.

    >>> import tapegrad
    >>> embedding(tapegrad.tensor([1, 0]), tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    type_ = require_tensor("embedding", input, "indices", 2)._node.type
    table = require_tensor("embedding", weight, "weight", 1)._node.type
    if table.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows, width = table.shape
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if type_.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_.dtype.title}Tensor instead (while checking arguments for embedding)"
        )
    if is_concrete(input):
        _check_indices(look_at(input), rows)
    index = input if type_.ndim == 1 else record(reshape, (input,), ((type_.numel,),))
    if max_norm is not None:
        in_grad_mode(False, None, _limit_norms, weight, index, max_norm, norm_type)
    start = here()
    result = record(index_select, (weight, index), (0,), "EmbeddingBackward0")
    if scale_grad_by_freq:
        result = _scale_gradient(result, _frequencies(index, rows, result.dtype))
    if padding_idx is not None:
        result = where(reshape(index == padding_idx, shape=(type_.numel, 1)), result.detach(), result)
    if type_.ndim != 1:
        result = record(reshape, (result,), ((*type_.shape, width),))
    return result if type_.ndim == 1 and padding_idx is None else show("EmbeddingBackward0", result, start)


def _check_indices(indices: Any, rows: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        raise IndexError("index out of range in self")


def _frequencies(index: Any, rows: int, dtype: dtypes.dtype) -> Any:
    """Return for each index one divided by how often it occurs, as a column."""
    count = index._node.type.numel
    index = cast(index, dtype=dtypes.int64)
    occurrences = scatter_add(constants.zeros((rows,), dtype), index, constants.ones((count,), dtype), axis=0)
    return 1 / reshape(index_select(occurrences, index, axis=0), shape=(count, 1))


def _scale_gradient(result: Any, factors: Any) -> Any:
    """Return the same values, towards which gradients are multiplied by the factors."""
    value = result.detach()
    return value + (result - value) * factors


def _limit_norms(weight: Any, index: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are used and whose norm is too large, in place."""
    rows = weight._node.type.shape[0]
    count = index._node.type.numel
    norms = weight.norm(norm_type, 1, keepdim=True)
    uses = scatter_add(
        constants.zeros((rows,), dtypes.int64), cast(index, dtype=dtypes.int64), constants.ones((count,), dtypes.int64), axis=0
    )
    too_large = (norms > max_norm) & (reshape(uses, shape=(rows, 1)) > 0)
    in_place(weight, where(too_large, weight * (max_norm / (norms + 1e-7)), weight))


@checked
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Return int64 vectors with a one at each index and zeros elsewhere, along a new last dimension.

    With `num_classes` -1, there are as many classes as the largest index needs.

    >>> import tapegrad
    >>> one_hot(tapegrad.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    if require_tensor("one_hot", tensor)._node.type.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._node.type.numel:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return concrete(np.zeros((*tensor.shape, num_classes), np.int64), dtypes.int64)
    indices = read(tensor)
    if indices.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(indices.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return concrete((indices[..., np.newaxis] == np.arange(num_classes)).astype(np.int64), dtypes.int64)
