"""In-place methods: each is its out-of-place function, whose result takes the tensor's place on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators import operand_from
from ..tape import checks
from ..tape.aliases import check_dtype, in_place
from ..tape.checks import check_writable
from ..tape.record import here, mark_composed, record
from ..tape.types import Type

Function = Callable[..., Any]

# Other operands of these may share memory with the written tensor: PyTorch reads them before it writes.
_MAY_OVERLAP = frozenset(("masked_fill_", "index_fill_", "addmm_", "addmv_", "addr_", "addbmm_", "baddbmm_", "masked_scatter_"))


def in_place_method(name: str, function: Function, shown: str | None = None) -> Function:
    """Return the in-place form of a function whose first argument is the tensor: ``add_`` of ``add``.

    `shown` is the name that ``grad_fn`` shows, where it is not that of the function.
    """
    may_overlap = name in _MAY_OVERLAP

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        check_writable(self)
        if not may_overlap:
            check_overlap(self, arguments)
        before = _unversioned(self) if checks.inplace_checks else self
        if shown is None:
            return write(self, function(before, *arguments, **options))
        start = here()
        result = function(before, *arguments, **options)
        if result.requires_grad and result is not self:
            mark_composed(shown, result, start)
        return write(self, result)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Do what `{name.rstrip('_')}` does, in place, and return the tensor."
    return method


def _unversioned(tensor: Any) -> Any:
    """Return the tensor as it is before an in-place operation, of which PyTorch keeps a copy where it needs it."""
    from ..primitives.movement import alias

    return record(alias, (tensor,))


def augmented(method: Function) -> Function:
    """Return the operator (``+=``) of an in-place method (``add_``): what it cannot take is left to the other operand."""

    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if operand_from(other) is None else method(self, other)

    return operator


def in_place_methods(names: str, functions: dict[str, Function]) -> dict[str, Function]:
    """Return the in-place forms of the functions with these names, by name."""
    return {f"{name}_": in_place_method(f"{name}_", functions[name]) for name in names.split()}


def check_overlap(written: Any, others: tuple[Any, ...], fully: bool = False) -> None:
    """Raise PyTorch's RuntimeError where another operand shares part of the written tensor's memory.

    One that is all of it in the same layout is allowed, unless `fully`.
    """
    root = written._root()
    if not root._views and not fully:
        return
    for other in others:
        if hasattr(other, "_root") and other._root() is root and _overlaps(written, other, fully):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _overlaps(written: Any, other: Any, fully: bool) -> bool:
    """Whether two tensors of one storage overlap, as far as PyTorch looks: dense ones only."""
    from ..primitives.type_rules import is_dense
    from .strided import storage_offset

    first, second = written._node.type, other._node.type
    if written is other or not first.numel or not second.numel:
        return fully and written is other
    if not is_dense(first.shape, first.strides) or not is_dense(second.shape, second.strides):
        return False
    begin, other_begin = storage_offset(written), storage_offset(other)
    if begin == other_begin and first.numel == second.numel:
        return fully or first.strides != second.strides
    return bool(begin < other_begin + second.numel and other_begin < begin + first.numel)


def write(tensor: Any, result: Any) -> Any:
    """Give `tensor` the value of `result`, cast to its dtype, and return it; its layout in memory stays.

    Raises RuntimeError where the shape or the dtype does not fit.
    """
    if result is tensor:
        return tensor
    old, new = tensor._node.type, result._node.type
    if new.shape != old.shape:
        raise RuntimeError(f"output with shape {list(old.shape)} doesn't match the broadcast shape {list(new.shape)}")
    if new.dtype is not old.dtype or new.strides != old.strides:
        result = _fitted(result, new, old)
    return in_place(tensor, result)


def _fitted(result: Any, new: Type, old: Type) -> Any:
    """Return the result in the dtype and layout of the tensor it is written to; ``grad_fn`` still shows its operation."""
    from ..primitives.casting import cast

    start = here()
    fitted = result
    if new.dtype is not old.dtype:
        check_dtype(old, new.dtype)
        fitted = cast(result, dtype=old.dtype)
    fitted = laid_out(fitted, old)
    if fitted is not result and new.requires_grad:
        mark_composed(result.grad_fn.name(), fitted, start)
    return fitted


def laid_out(tensor: Any, like: Type) -> Any:
    """Return the tensor with its dimensions in the order in memory that they have in a type of its shape."""
    from ..primitives.movement import contiguous, permute
    from ..primitives.type_rules import is_dense

    type_ = tensor._node.type
    if like.is_contiguous:
        return tensor if type_.is_contiguous else record(contiguous, (tensor,), (), "CloneBackward0")
    if type_.strides == like.strides or not is_dense(like.shape, like.strides):
        return tensor
    order = tuple(sorted(range(like.ndim), key=lambda axis: -like.strides[axis]))
    inverse = tuple([order.index(axis) for axis in range(like.ndim)])
    return permute(contiguous(permute(tensor, axes=order)), axes=inverse)
