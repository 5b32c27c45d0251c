"""Buffers: which NumPy array holds a tensor's value, and who else can see it."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

from .trace import IMPORT, Node


def is_concrete(tensor: Any) -> bool:
    """Whether the tensor's value is there: it is outside the open segment, or was brought onto it as a value."""
    if tensor._segment is None:
        return not tensor._is_stale
    node = tensor._node
    return node.__class__ is Node and node.primitive is IMPORT


def live_views(root: Any) -> list[Any]:
    """Return the views of a root that are still alive."""
    if root._views is None:
        return []
    return [view for view in [reference() for reference in root._views] if view is not None and view._alias_of is root]


def own_buffer(root: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array if it is laid out as the type says and nobody else holds it, else a copy."""
    type_ = root._node.type
    itemsize = array.itemsize
    laid_out = array.size == 0 or all(
        stride == expected * itemsize or length == 1
        for stride, expected, length in zip(array.strides, type_.strides, array.shape, strict=True)
    )
    # Held by the root, its aliases, this function's and its caller's variables, and the call that counts.
    alone = sys.getrefcount(array) <= _references(root, array) + 3 and not _parts_are_held(root, array)
    if laid_out and alone and array.base is None and array.flags.writeable:
        return array
    order = sorted(range(array.ndim), key=lambda axis: (-type_.strides[axis], axis))
    copy = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order)) if array.ndim else array.copy()
    if copy is array or copy.base is not None and np.shares_memory(copy, array):
        copy = array.copy(order="K")
    return copy if copy.flags.writeable else copy.copy(order="K")


def _references(root: Any, buffer: Any) -> int:
    """Count the references to a buffer that a root and its aliases hold."""
    arrays = [view._array for view in live_views(root) if is_concrete(view)]
    parts = {id(array) for array in arrays if getattr(array, "base", None) is buffer}  # an array that two have is one
    return 1 + sum([array is buffer for array in arrays]) + len(parts)


def _parts_are_held(root: Any, buffer: Any) -> bool:
    """Whether others than the root's aliases hold the array of one of them, such as a sealed segment as a residual."""
    parts = [view._array for view in live_views(root) if is_concrete(view) and view._array is not buffer]
    holders = Counter([id(part) for part in parts])
    # Held by its aliases, this function's list and variable, and the call that counts.
    return any([sys.getrefcount(part) > holders[id(part)] * 2 + 2 for part in parts])


def buffer_is_seen(root: Any) -> bool:
    """Whether an array outside may still share this root's buffer."""
    buffer = root._array
    if getattr(buffer, "base", None) is not None:
        return True  # who else holds the memory it is a view of cannot be known
    return sys.getrefcount(buffer) > _references(root, buffer) + 2


