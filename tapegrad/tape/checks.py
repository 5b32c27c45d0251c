"""What in-place operations are checked for before anything is mutated, and PyTorch's version check on request."""

from __future__ import annotations

import weakref
from typing import Any

from .buffers import is_concrete
from .segment import state

inplace_checks = False


def set_inplace_checks(enabled: bool) -> None:
    """Choose whether a saved tensor that was modified in place raises PyTorch's error in backward().

    tapegrad keeps the old value, so by default the gradient is right and nothing is raised.

    >>> set_inplace_checks(False)
    """
    global inplace_checks
    inplace_checks = bool(enabled)


def check_writable(tensor: Any) -> None:
    """Raise PyTorch's RuntimeError if the tensor must not be modified in place here."""
    if state.grad_enabled:
        _check_history(tensor)
    type_ = tensor._node.type
    if type_.overlaps:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if type_.is_inference and not state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def _check_history(tensor: Any) -> None:
    """Raise for a leaf, or a view of one, whose gradient the change would make meaningless."""
    base = tensor._base
    if base is None:
        if tensor.requires_grad and tensor.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if base.requires_grad:
        check_view(tensor, "is being modified inplace")
    if (tensor.requires_grad or base.requires_grad) and base.is_leaf:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def check_view(view: Any, change: str) -> None:
    """Raise for a view that PyTorch cannot give a history after this change."""
    if view._made_without_grad:
        raise RuntimeError(
            f"A view was created in no_grad mode and {change} with grad mode enabled. Given that this use case is "
            "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
            "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "
            "to be tracked)."
        )
    if view._is_multiple_view is not None:
        origin = "Output {} of {} is a view and {}".format(*view._is_multiple_view, change)
        if not view._node.type.requires_grad:
            origin = f"A view was created in no_grad mode and {change} with grad mode enabled"  # for want of a grad_fn
        raise RuntimeError(
            f"{origin}. This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )


def is_cut_off(view: Any) -> bool:
    """Whether a stale view cannot have the new history of its root, as in PyTorch: its value can be read, no more."""
    return view._is_outdated and view._base is not None and bool(view._base.requires_grad)


def check_cut_off(view: Any) -> None:
    """Raise PyTorch's RuntimeError for the use, with grad, of a stale view that cannot have the history of its root."""
    if is_cut_off(view):
        check_view(view, "its base or another view of its base has been modified inplace")


def note_version(tensor: Any, result: Any = None) -> None:
    """Remember, where the check is on, which version of a tensor is at its slot: before it is overwritten, or on import.

    With `result`, which was written to a view: that it is this version of the view.
    """
    for segment, slot in _places_of(tensor if result is None else result):
        if result is not None and segment.versions is not None:
            segment.versions.pop(slot, None)
        note_version_at(segment, slot, tensor)


def note_view(view: Any) -> None:
    """Remember that what was a tensor of its own when it was computed is a view."""
    if not view._is_detached:
        view._own_version = None
    note_version(view, view)


def note_version_at(segment: Any, slot: int, tensor: Any) -> None:
    """Remember that this version of a tensor is at a slot, unless it is known already what is."""
    if segment.versions is None:
        segment.versions = {}
    segment.versions.setdefault(slot, (weakref.ref(tensor), tensor._node.type, counter_of(tensor), tensor._version))


def counter_of(tensor: Any) -> list[int]:
    """Return what counts the versions of a tensor's storage, which outlives the tensor where the check holds it."""
    if tensor._own_version is not None:
        own: list[int] = tensor._own_version
        return own
    root = tensor._root()
    if root._own_version is None:
        root._own_version = [root._version_count]
    counter: list[int] = root._own_version
    return counter


def _places_of(tensor: Any) -> list[tuple[Any, int]]:
    """Return the segments and slots that have a tensor's value: the open one's, and those of its history."""
    places = []
    if tensor._segment is not None:
        places.append((tensor._segment, tensor._node.slot))
    if is_concrete(tensor) and tensor._home is not None:
        places.append((tensor._home, tensor._home_slot))
    return places


def check_versions(segment: Any, node: Any) -> None:
    """Raise PyTorch's error if a value saved by this record was modified in place since, and the check is on."""
    if not inplace_checks or not segment.versions:
        return
    made = {output.slot: place for place, output in enumerate(node.outputs)}
    for slot in node.saved:
        if slot in segment.versions:
            reference, type_, counter, expected = segment.versions[slot]
            if counter[0] != expected:
                raise RuntimeError(_version_error(type_, _source(node, made.get(slot), reference()), counter[0], expected))


def _source(node: Any, place: int | None, tensor: Any) -> str:
    """Return what the error says of where a saved value came from; `place`: which result of this record it is."""
    if place is None:
        operation = _origin(tensor)
        return "" if operation is None else f", which is output 0 of {_short(operation)},"
    if not node.outputs[place].type.requires_grad:
        return ""
    return f", which is output {place} of {_short(node.name or node.primitive.grad_name)},"


def _origin(tensor: Any) -> str | None:
    """Return what made a tensor's present value, if it is still there to ask."""
    if tensor is None or tensor.is_leaf:
        return None
    name: str = tensor.grad_fn.name()
    return name


def _version_error(type_: Any, source: str, version: int, expected: int) -> str:
    """Return PyTorch's text about a value of this type that comes from there."""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{type_.dtype.title}Tensor {list(type_.shape)}]{source} is at version {version}; expected version "
        f"{expected} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _short(operation: str) -> str:
    """Return the name of an operation as this error shows it: Exp for ExpBackward0, Max1 for MaxBackward1."""
    return operation.removesuffix("Backward0").replace("Backward", "") if "::" not in operation else operation
