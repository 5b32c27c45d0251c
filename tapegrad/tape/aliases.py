"""Views and in-place operations, on a tape whose values never change.

A view knows the root tensor it was made from and the chain of movement primitives that leads to it. An in-place
operation gives the root a new slot (through a view: the root with that part replaced), and makes its views stale; a
stale view is regenerated along its chain when it is next used. Old slots keep the old value, so no gradient is ever
silently wrong. Only a buffer that an outside NumPy array shares is really written to.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives.marks import assign, detach
from ..primitives.movement import apply_chain, apply_chain_to_array, update
from . import checks
from .buffers import buffer_is_seen, is_concrete, live_views, own_buffer
from .materialise import materialise
from .record import here, history_address, mark_composed, read, record, settle
from .segment import in_grad_mode, state
from .trace import COPY_SLICES, LEAF, SEALED, grow

# One step from a tensor to a view of it: the primitive's name, its static parameters, how many numbers it takes.
Link = tuple[str, tuple[Any, ...], int]


def make_view(base: Any, primitive: Any, numbers: tuple[Any, ...] = (), parameters: tuple[Any, ...] = (), name: str | None = None) -> Any:
    """Record a movement primitive whose result is a view of `base`, and remember the alias."""
    view = _record_view(base, primitive, (base, *numbers), parameters, name)
    if base.requires_grad and (not state.grad_enabled or state.inference):
        become_leaf(view, True)  # a view made without grad of what requires it says that it does
        view._takes_no_gradient = True
    register_view(base, view, (primitive.name, parameters, len(numbers)), numbers)
    if checks.inplace_checks:
        checks.note_view(view)
    return view


def _record_view(
    base: Any, primitive: Any, operands: tuple[Any, ...], parameters: tuple[Any, ...] = (), name: str | None = None
) -> Any:
    """Record a view, which is an inference tensor where its base is one."""
    inference = base._node.type.is_inference
    if inference is state.inference:
        return record(primitive, operands, parameters, name)
    return in_grad_mode(state.grad_enabled, inference, record, primitive, operands, parameters, name)


def register_view(base: Any, view: Any, link: Link, numbers: tuple[Any, ...] = ()) -> None:
    """Remember that `view` is what `link` makes of `base`."""
    root = base._root()
    view._alias_of = root
    view._chain = (*base._chain, link)
    view._chain_numbers = (*base._chain_numbers, *numbers)
    if base._is_detached:
        view._is_detached = True
        view._detached_base = base if base._detached_base is None else base._detached_base
        view._own_version = base._own_version
    if base._is_multiple_view is not None:
        view._is_multiple_view = base._is_multiple_view
    if not state.grad_enabled or base._made_without_grad:
        view._made_without_grad = True
    views = root._views
    if views is None:
        views = root._views = []
    elif len(views) >= 8 and len(views) & (len(views) - 1) == 0:  # at every power of two, forget the dead
        views[:] = [reference for reference in views if reference() is not None]
    views.append(weakref.ref(view))
    _share_buffer(root, view)


def _share_buffer(root: Any, view: Any) -> None:
    """Let a view of a buffer that is shared with the outside be of that very memory."""
    if root._is_shared and is_concrete(root) and buffer_is_seen(root):
        if not is_concrete(view):
            read(view)
        view._array = _part_of(root._array, view)


def _part_of(buffer: np.ndarray[Any, Any], view: Any) -> np.ndarray[Any, Any]:
    """Return the part of its root's buffer that a view is."""
    chain = tuple([link for link in view._chain if link[0] != "detach"])
    part: np.ndarray[Any, Any] = apply_chain_to_array(buffer, chain, view._chain_numbers)
    return part


def regenerate(view: Any) -> None:
    """Bring a stale view up to date with its base."""
    base = view._alias_of if view._base is None else view._base
    in_grad_mode(not view._made_without_grad, view._alias_of._node.type.is_inference, _bring_up_to_date, view, base)
    if view._is_leaf_view:
        make_leaf(view)
    elif view._made_without_grad and base.requires_grad and base is view._base:
        make_leaf(view)
        view._takes_no_gradient = True


def _bring_up_to_date(view: Any, base: Any) -> None:
    start = here()
    current = apply_chain(base, *_way_from(base, view))
    if current.requires_grad:
        mark_composed("AsStridedBackward0", current, start)
    take_place(view, current)
    view._is_stale = False
    _retain_still(view)
    _share_buffer(view._alias_of, view)


def as_it_is(view: Any) -> Any:
    """Return the present value of a stale view as another tensor, without history."""
    root = view._alias_of
    return in_grad_mode(False, root._node.type.is_inference, apply_chain, root, view._chain, view._chain_numbers)


def in_place(tensor: Any, result: Any, name: str | None = None) -> Any:
    """Give `tensor` the value of `result` (of its shape and dtype), as an in-place operation does; return `tensor`.

    Call `checks.check_writable` before computing `result`, so that an error leaves everything as it was.
    """
    if _is_plain(tensor):
        if tensor._node.type.requires_grad:
            make_leaf(result, tensor)
        if not _take_slot(tensor, result):
            take_place(tensor, result)
        count_version(tensor)
        return tensor
    root = tensor._root()
    if state.inference and not root._node.type.is_inference and result._node.type.is_inference:
        result = in_grad_mode(False, False, record, detach, (result,))  # a normal tensor stays one
    base = tensor
    if tensor._base is not None:
        base = tensor._base
        if result._node.type.requires_grad:
            checks.check_view(tensor, "is being modified inplace")
    if base is root:
        _write(root, _with_part(root, result, tensor._chain, tensor._chain_numbers), tensor)
    else:
        _write_detached(root, base, result, tensor)
    if checks.inplace_checks and base is not tensor:
        checks.note_version(tensor, result)
    return tensor


def _is_plain(tensor: Any) -> bool:
    """Whether nothing but its value is to be thought of when the tensor is written: no alias, no history that stays."""
    if tensor._alias_of is not None or tensor._is_shared or state.inference or checks.inplace_checks:
        return False
    if tensor._views:
        if live_views(tensor):
            return False
        tensor._views = []
    if not tensor._node.type.requires_grad or (tensor._home is None and is_concrete(tensor)):
        return True
    return bool(tensor.is_leaf)


def count_version(root: Any) -> None:
    """Count a version of a tensor that is no alias."""
    if root._own_version is None:
        root._version_count += 1
    else:
        root._own_version[0] += 1


def _way_from(base: Any, view: Any) -> tuple[tuple[Link, ...], tuple[Any, ...]]:
    """Return the chain, and its numbers, that leads from a base (a root, or what `detach` made of one) to a view of it."""
    return view._chain[len(base._chain) :], view._chain_numbers[len(base._chain_numbers) :]


def _with_part(base: Any, part: Any, chain: tuple[Link, ...], numbers: tuple[Any, ...]) -> Any:
    chain = tuple([link for link in chain if link[0] != "detach"])
    if not chain:
        return part
    return record(update, (base, part, *numbers), (chain,), COPY_SLICES)


def _write_detached(root: Any, base: Any, part: Any, written: Any) -> None:
    """Write to a detached tensor, by way of `written` (it, or a view of it): the root gets the data, and no history."""
    has_history = part.requires_grad or (base.requires_grad and not base.is_leaf)
    if has_history:
        result = _with_old_history(base, _with_part(base, part, *_way_from(base, written)))
    in_grad_mode(False, None, _write_data, root, part, written, base if has_history else None)
    if has_history:
        take_place(base, result)
        base._is_stale = False
        _retain_still(base)


def _write_data(root: Any, part: Any, written: Any, base: Any) -> None:
    data = record(detach, (part,)) if part.requires_grad else part
    _write(root, _with_part(root, data, written._chain, written._chain_numbers), written, base)


def _with_old_history(tensor: Any, result: Any) -> Any:
    """Return a new value with the history that the tensor has, where none is recorded."""
    if state.grad_enabled or not tensor.requires_grad or tensor.is_leaf:
        return result
    return in_grad_mode(True, False, record, assign, (tensor, result))


def _write(root: Any, result: Any, written: Any, base: Any = None) -> None:
    """Give a root tensor a new value, by way of `written` (it, or a view of it or of `base`); its views become stale.

    A leaf that requires grad stays one; a result of others keeps its history where none is recorded.
    """
    was_leaf = root._node.type.requires_grad and root.is_leaf
    result = _with_old_history(root, result)
    if checks.inplace_checks:
        checks.counter_of(written)
    version = _version_of(root, written)
    if checks.inplace_checks:
        for changed in (root, *live_views(root)):
            if _version_of(root, changed) is version:
                checks.note_version(changed)
    if was_leaf:
        make_leaf(result, root)
    buffer = root._array if root._is_shared and is_concrete(root) and buffer_is_seen(root) else None
    if buffer is not None and buffer.flags.writeable:
        np.copyto(buffer, read(result))
        take_place(root, result)
        root._array = buffer
    else:
        if root._is_shared:
            root._is_shared = False
        take_place(root, result)
    if version is None:
        root._version_count += 1
    else:
        version[0] += 1
    if root._views is not None:
        for view in live_views(root):
            is_tracked = _version_of(root, view) is version
            if view is not base and not view._is_stale and (view._base is None or not is_tracked) and _has_history(view):
                _assign(view)
            else:
                _make_stale(view, is_tracked)


def _version_of(root: Any, tensor: Any) -> list[int] | None:
    """Return the version that a root or an alias of it shares with others; None for the root's count."""
    own: list[int] | None = root._own_version if tensor._own_version is None else tensor._own_version
    return own


def _has_history(tensor: Any) -> bool:
    return bool(tensor.requires_grad and not tensor.is_leaf)


def _assign(view: Any) -> None:
    """Give a detached tensor that has a history of its own, or after an edit of data a view, the new data of its root."""
    take_place(view, in_grad_mode(True, False, record, assign, (view, as_it_is(view))))


def make_leaf(tensor: Any, owner: Any = None) -> None:
    """Let the tensor's value be a leaf that requires grad: by a mark on the tape while pending, else by its type.

    `owner` is whom the gradient is for, if not the tensor itself: one that is about to take its place. Marked before
    it does, it never loses its mark to an interrupt.
    """
    while not is_concrete(tensor):
        segment = tensor._segment
        node = segment.node
        if node is SEALED:
            settle(tensor)
            continue
        key = (LEAF, tensor._node)
        child = node.next
        if child is None or child.key != key:
            child = node.children.get(key) or grow(node, key)
        if segment.node is node:
            segment.node = tensor._node = child
            segment.leaves[child.slot] = tensor if owner is None else owner
            return
    tensor._segment = None
    tensor._node = tensor._node.type.replace(requires_grad=True)
    tensor._home = None


def _make_stale(view: Any, is_tracked: bool) -> None:
    """Let a view be made anew when it is next used; `is_tracked`: its base was modified in a way that versions count."""
    if is_tracked and (view._made_without_grad or view._is_multiple_view is not None):
        view._is_outdated = True
    if view._is_stale:
        return
    if view._node.type.requires_grad and view.is_leaf:
        view._is_leaf_view = True
    segment, node, has_array = view._segment, view._node, is_concrete(view)
    view._is_stale = True
    view._segment = None
    view._home = None
    view._node = node.type
    if has_array:
        del view._array
    elif segment is not None:
        _forget_pending(view, segment, node)


def _forget_pending(tensor: Any, segment: Any, node: Any) -> None:
    """Take the tensor out of a segment it was pending on, which need not compute its old value for it."""
    with segment.lock:
        values = segment.values if segment.detached is None else segment.detached[1]
        slot = node.slot
        if slot < len(values) and values[slot] is tensor and tensor._node is not node:
            values[slot] = None


def take_place(tensor: Any, result: Any) -> None:
    """Let `tensor` stand where `result` stands: the same slot or value, and history."""
    old_segment, old_node = (None, None) if is_concrete(tensor) else (tensor._segment, tensor._node)
    segment = result._segment
    if segment is None:
        _take_value(tensor, result)
    else:
        has_array = is_concrete(tensor)
        with segment.lock:
            if is_concrete(result):
                _take_value(tensor, result)
            else:
                values = segment.values if segment.detached is None else segment.detached[1]
                slot = result._node.slot
                if slot < len(values) and values[slot] is result:
                    values[slot] = tensor
                if has_array:
                    del tensor._array
                tensor._segment = segment
                tensor._node = result._node
                if tensor._home is not None:
                    tensor._home = None
    if old_segment is not None:
        _forget_pending(tensor, old_segment, old_node)
    if not tensor._is_stale:
        _retain_still(tensor)


def _take_slot(tensor: Any, result: Any) -> bool:
    """Do what `take_place` does, for a concrete tensor and a pending result of this thread's open segment; return whether it could.

    It is an optimiser's step. There is no call after the checks, at which another thread might seal the segment.
    """
    segment = result._segment
    if segment is not state.segment or tensor._retains_grad or segment.node is SEALED or not is_concrete(tensor):
        return False
    node = result._node
    slot, values = node.slot, segment.values
    if segment.detached is not None or slot >= len(values) or values[slot] is not result:
        return False
    values[slot] = tensor
    del tensor._array
    tensor._segment = segment
    tensor._node = node
    tensor._home = None
    return True


def _retain_still(tensor: Any) -> None:
    """Let a tensor that retains its gradient do so at its new slot."""
    if tensor._retains_grad and tensor._node.type.requires_grad:
        retain(tensor)


def _take_value(tensor: Any, result: Any) -> None:
    if state.capture is not None:
        state.capture.miss("it gives a tensor a value that is not computed on the tape")
    array, type_, home = result._array, result._node.type, result._home
    tensor._segment = None
    tensor._node = type_
    tensor._array = array
    tensor._home = home
    tensor._home_slot = 0 if home is None else result._home_slot


def export(tensor: Any) -> np.ndarray[Any, Any]:
    """Return an array that shares memory with the tensor; from now on its operations do not wait (design rule 11)."""
    root = tensor._root()
    array = read(root)
    for reader in (root, *live_views(root)):
        if reader._segment is not None:
            materialise(reader._segment)  # what is pending reads the buffer now
    if not (root._is_shared and buffer_is_seen(root)):
        root._array = own_buffer(root, array)
        root._is_shared = True
        for view in live_views(root):
            if not view._is_stale:
                read(view)
                view._array = _part_of(root._array, view)
    buffer: np.ndarray[Any, Any] = root._array
    shown = buffer if tensor is root else _part_of(buffer, tensor)
    if buffer.flags.writeable and not shown.flags.writeable:  # a view through `expand`
        shown.flags.writeable = True
    return shown[...] if shown is buffer else shown


def detached(tensor: Any, own_version: bool = False) -> Any:
    """Return a tensor that shares the storage but has no history (`detach`, and `data` with a version of its own)."""
    if is_concrete(tensor) and not tensor._is_stale:
        view = tensor._like(tensor._array, tensor._node.type.replace(requires_grad=False))
    else:
        view = _record_view(tensor, detach, (as_it_is(tensor) if tensor._is_stale else tensor,))
    register_view(tensor, view, ("detach", (), 0))
    view._is_detached = True
    view._detached_base = None
    view._is_multiple_view = None
    view._made_without_grad = False
    view._own_version = [0] if own_version else tensor._own_version
    return view


def set_data(tensor: Any, value: Any) -> None:
    """Let the tensor have the storage of `value`; whether it requires grad, and its history, stay."""
    if not hasattr(value.__class__, "_node"):
        kind = value.__class__
        shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"Variable data has to be a tensor, but got {shown}")
    type_ = tensor._current_type()
    if type_.requires_grad and value.dtype.category < dtypes.FLOAT:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    read(tensor)
    array = read(value)
    root = value._root()
    if root is tensor and all([link[0] == "detach" for link in value._chain]):
        return
    for view in live_views(tensor):
        read(view)
        view._alias_of = None  # they keep the storage that the tensor had
    home, slot = tensor._home, tensor._home_slot
    tensor._segment = None
    tensor._array = array
    tensor._node = value._node.type.replace(requires_grad=type_.requires_grad)
    tensor._home, tensor._home_slot = home, slot
    own_version = [tensor._version]
    tensor._alias_of, tensor._chain, tensor._chain_numbers, tensor._is_detached = None, (), (), False
    tensor._views = []  # not None: the value was another before, which teach.history asks for
    if root is value and not value._is_shared and not value.requires_grad:
        _become_root_of(tensor, value)
    elif root is not tensor:
        register_view(value, tensor, ("detach", (), 0))
        tensor._is_detached = True
        tensor._detached_base = None
    tensor._own_version = own_version


def _become_root_of(tensor: Any, value: Any) -> None:
    """Let what was a root, and its views, be views of a tensor that took its storage (most often, none of them lives on)."""
    views = live_views(value)
    value._own_version = [value._version_count]
    value._views = None
    register_view(tensor, value, ("detach", (), 0))
    value._is_detached = True
    for view in views:
        chain, numbers = view._chain, view._chain_numbers
        register_view(value, view, chain[0] if chain else ("detach", (), 0))
        view._chain, view._chain_numbers = (("detach", (), 0), *chain), numbers


def become_leaf(tensor: Any, requires_grad: bool) -> None:
    """Make a pending tensor that has no history a leaf that requires grad, or no longer does."""
    if requires_grad:
        make_leaf(tensor)
    else:
        take_place(tensor, record(detach, (tensor,)))


def cut_history(tensor: Any) -> None:
    """Detach a pending tensor in place."""
    take_place(tensor, record(detach, (tensor,)))


def retain(tensor: Any) -> None:
    """Ask the reverse sweep for the gradient at the tensor's slot."""
    segment, slot = history_address(tensor)
    if segment is not None:
        if segment.retained is None:
            segment.retained = {}
        segment.retained[slot] = weakref.ref(tensor)


def take_place_of_new(tensor: Any, result: Any) -> None:
    """Fill a tensor object that is just being made (of a subclass) with another's value."""
    tensor._segment = None
    tensor._node = result._node.type
    take_place(tensor, result)


def check_dtype(tensor: Any, result_dtype: dtypes.dtype) -> None:
    """Raise where the result of an in-place operation cannot be cast to the tensor's dtype."""
    if result_dtype.category > tensor.dtype.category:
        raise RuntimeError(
            f"result type {result_dtype.title} can't be cast to the desired output type {tensor.dtype.title}"
        )
