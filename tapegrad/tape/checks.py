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
    if not state.grad_enabled:
        return
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
        position, operation = view._is_multiple_view
        raise RuntimeError(
            f"Output {position} of {operation} is a view and {change}. This view is the output of a function that "
            "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
            "inplace operation by an out-of-place one."
        )


def is_cut_off(view: Any) -> bool:
    """Whether a stale view cannot have the new history of its root, as in PyTorch: its value can be read, no more."""
    return view._is_outdated and view._base is not None and bool(view._base.requires_grad)


def check_cut_off(view: Any) -> None:
    """Raise PyTorch's RuntimeError for the use, with grad, of a stale view that cannot have the history of its root."""
    if is_cut_off(view):
        check_view(view, "its base or another view of its base has been modified inplace")


def note_version(tensor: Any) -> None:
    """Remember, where the check is on, which version of a tensor is at its slot: before it is overwritten, or on import."""
    segment, slot = _place_of(tensor)
    if segment is None:
        return
    if segment.versions is None:
        segment.versions = {}
    segment.versions.setdefault(slot, (weakref.ref(tensor), tensor._version))


def _place_of(tensor: Any) -> tuple[Any, int]:
    """Return the open segment and slot of a tensor, or those of its history."""
    if tensor._segment is not None:
        return tensor._segment, tensor._node.slot
    if is_concrete(tensor) and tensor._home is not None:
        return tensor._home, tensor._home_slot
    return None, 0


def check_versions(segment: Any, node: Any) -> None:
    """Raise PyTorch's error if a value saved by this record was modified in place since, and the check is on."""
    if not inplace_checks or not segment.versions:
        return
    results = [output.slot for output in node.outputs]
    for slot in node.saved:
        if slot in segment.versions:
            reference, expected = segment.versions[slot]
            tensor = reference()
            if tensor is not None and tensor._version != expected:
                operation = node.name or node.primitive.grad_name
                raise RuntimeError(_version_error(tensor, expected, operation if slot in results else None))


def _version_error(tensor: Any, expected: int, operation: str | None) -> str:
    """Return PyTorch's text; a tensor that the operation did not make itself is named by what made its present value."""
    if operation is None and not tensor.is_leaf:
        operation = tensor.grad_fn.name()
    source = "" if operation is None else f", which is output 0 of {_short(operation)},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{tensor.dtype.title}Tensor {list(tensor.shape)}]{source} is at version {tensor._version}; expected version "
        f"{expected} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _short(operation: str) -> str:
    """Return the name of an operation as this error shows it: Exp for ExpBackward0, Max1 for MaxBackward1."""
    return operation.removesuffix("Backward0").replace("Backward", "") if "::" not in operation else operation
