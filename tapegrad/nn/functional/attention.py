"""Scaled dot product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...functions.contraction import matmul
from ...functions.declare import c_name, require_tensor
from ...functions.options import concrete
from ...primitives.comparison import equal
from ...primitives.movement import expand, permute, reshape
from ...primitives.reductions import reduce_all
from ...primitives.rows import softmax
from ...primitives.selection import where
from ...tape.record import here, record
from .composition import show
from .dropping import dropout

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return ``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: queries (..., L, E).
        key: keys (..., S, E).
        value: what each key stands for (..., S, Ev).
        attn_mask: which keys each query may look at: bool, or numbers that are added; broadcasts against (..., L, S).
        dropout_p: the probability with which each weight is dropped.
        is_causal: whether each query looks at the keys up to its own place only.
        scale: by default one over the root of E.
        enable_gqa: whether key and value may have fewer heads (dimension -3), each of which then serves several queries.

    A query that may look at no key gets zeros.
    """
    types = [require_tensor("scaled_dot_product_attention", tensor)._node.type for tensor in (query, key, value)]
    _check(types, None if attn_mask is None else attn_mask._node.type, is_causal)
    start = here()
    if enable_gqa:
        key, value = (_repeated(tensor, types[0].shape[-3]) for tensor in (key, value))
    factor = 1 / math.sqrt(types[0].shape[-1]) if scale is None else scale
    ndim = key._node.type.ndim
    transposed = record(permute, (key,), ((*range(ndim - 2), ndim - 1, ndim - 2),))
    scores = matmul(query * factor, transposed)
    weights = _weights(scores, attn_mask, is_causal)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return show(_shown(types, attn_mask, dropout_p), matmul(weights, value), start)


def _check(types: list[Any], mask: Any, is_causal: bool) -> None:
    query, key, value = types
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {c_name(query.dtype)} key.dtype: "
            f"{c_name(key.dtype)} and value.dtype: {c_name(value.dtype)} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.ndim} key.dim: "
            f"{key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is not None and mask.dtype not in (dtypes.bool, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_name(mask.dtype)} and  query.dtype: {c_name(query.dtype)} instead."
        )
    if mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not query.dtype.is_floating_point:
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.title}")


def _repeated(tensor: Any, heads: int) -> Any:
    """Return keys or values with each head as often as it serves."""
    *lead, own, length, width = tensor._node.type.shape
    if heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    wide = expand(reshape(tensor, shape=(*lead, own, 1, length, width)), shape=(*lead, own, heads // own, length, width))
    return reshape(wide, shape=(*lead, heads, length, width))


def _weights(scores: Any, mask: Any, is_causal: bool) -> Any:
    """Return the softmax of the scores that are not masked; a row of which all are is zero."""
    type_ = scores._node.type
    last = (type_.ndim - 1,)
    if is_causal:
        queries, keys = type_.shape[-2:]
        mask = concrete(np.tri(queries, keys, dtype=np.bool_), dtypes.bool)
        return record(softmax, (where(mask, scores, -math.inf),), (last,))
    if mask is None:
        return record(softmax, (scores,), (last,))
    scores = where(mask, scores, -math.inf) if mask._node.type.dtype is dtypes.bool else scores + mask
    last = (scores._node.type.ndim - 1,)
    is_empty = record(reduce_all, (equal(scores, -math.inf),), (last, True))
    return where(is_empty, 0, record(softmax, (where(is_empty, 0, scores),), (last,)))


def _shown(types: list[Any], mask: Any, dropout_p: float) -> str:
    """Return the name of PyTorch's fused function, where it would take that, else of the last of its functions."""
    query, key, value = types
    is_fused = query.ndim == key.ndim == value.ndim == 4 and query.shape[-1] == value.shape[-1] and dropout_p == 0.0
    if is_fused and (mask is None or not mask.requires_grad):
        return "ScaledDotProductFlashAttentionForCpuBackward0"
    return "UnsafeViewBackward0"
