"""backward() and grad(): what is checked, the sweep, and where the gradients go."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any

from ..functions.creation import zeros_like
from ..functions.in_place import laid_out
from ..primitives.movement import alias
from ..primitives.type_rules import is_dense
from ..tape.aliases import in_place
from ..tape.materialise import materialise
from ..tape.modes import mode
from ..tape.record import Failure, look_at, record
from ..tape.remember import gradients_key, recall_gradients, recall_plain, remember_gradients
from ..tape.replay import Sweep, leaf_or_address
from ..tape.segment import in_grad_mode, state
from ..tape.types import make_type
from ..tensor import Tensor
from .graph import GradientEdge

_cycle_warning_given = False
_accumulating = threading.RLock()


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Replay the tape in reverse from `tensors`, and accumulate into the `grad` of the leaves.

    `grad_tensors` are the cotangents, one a tensor, of its shape (None for one-element tensors). The residuals are
    released unless `retain_graph` (default: `create_graph`). With `inputs`, only their `grad` is filled.
    Raises RuntimeError for tensors without history, shapes that do not match, and released residuals.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([(x * 2).sum()])
    >>> x.grad
    tensor([2., 2.])
    """
    if tensors.__class__ is Tensor and grad_tensors is None and inputs is None and not (retain_graph or create_graph):
        segment = state.segment
        found = recall_plain(segment, tensors)
        if found is not None:
            for leaf, gradient in found:
                _accumulate_new(leaf, gradient)
            if state.capture is None:
                materialise(segment)
                _check_computed([leaf for leaf, _ in found])
            return
    if create_graph:
        _warn_of_cycle()
    roots = _as_tuple(tensors)
    targets = None
    if inputs is not None and not (wanted := _as_tuple(inputs)):
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    cotangents = _cotangents(roots, _as_tuple(grad_tensors, len(roots)), create_graph)
    if inputs is not None:
        for tensor in wanted:
            if isinstance(tensor, GradientEdge):
                continue
            if not tensor.requires_grad:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            tensor.retain_grad()  # of a leaf, it does nothing
        targets = [_target(tensor) for tensor in wanted]
    sweep = _sweep(targets, create_graph, create_graph if retain_graph is None else retain_graph, releases_targets=True)
    sweep.run(roots, cotangents)
    gradients = list(sweep.leaf_gradients.values())
    if targets is not None:
        leaves = {id(target) for target in targets if isinstance(target, Tensor)}
        gradients = [(leaf, gradient) for leaf, gradient in gradients if id(leaf) in leaves or leaf.retains_grad]
    given = {id(tensor) for tensor in _as_tuple(grad_tensors)}
    for leaf, gradient in gradients:
        _accumulate(leaf, gradient, create_graph, given)
    if state.capture is None:
        materialise(state.segment)
        _check_computed([leaf for leaf, _ in gradients])


def _check_computed(leaves: list[Tensor]) -> None:
    """Raise where a gradient could not be computed, and forget it: an optimizer would spoil the parameter with it."""
    failed = [leaf for leaf in leaves if getattr(leaf._grad, "_array", None).__class__ is Failure]
    if failed:
        gradient = failed[0]._grad
        for leaf in failed:
            leaf._grad = None
        look_at(gradient)


def _sweep(*arguments: Any, **options: Any) -> Sweep:
    """Return a new sweep: in anomaly mode, one that is checked."""
    if not mode.detects_anomaly:
        return Sweep(*arguments, **options)
    from .checked_sweep import CheckedSweep

    return CheckedSweep(*arguments, **options)


def _accumulate(leaf: Tensor, gradient: Tensor, create_graph: bool, taken: set[int]) -> None:
    """Add a gradient to a tensor's `grad`: in place, and out of place where the gradient has a history itself.

    Where another thread does so at the same time, the sum is recorded anew.
    """
    if state.capture is not None:
        state.capture.note_grad(leaf, False)
    while True:
        existing = leaf._grad
        if existing is None:
            total = _first_gradient(leaf, gradient, create_graph, taken)
            with _accumulating:
                if leaf._grad is None:
                    leaf._grad = total
                    return
            continue
        if in_grad_mode(create_graph, None, _add_to, leaf, existing, gradient, create_graph):
            return


def _accumulate_new(leaf: Tensor, gradient: Tensor) -> None:
    """Do what `_accumulate` does with a tensor that nobody else has.

    A first one is put in its place without a call in between, at which another thread might give the leaf one.
    """
    fits = gradient._node.type.strides == leaf._node.type.strides and state.capture is None
    if fits and leaf._grad is None:
        leaf._grad = gradient
    else:
        _accumulate(leaf, gradient, False, set())


def _add_to(leaf: Tensor, existing: Tensor, gradient: Tensor, create_graph: bool) -> bool:
    """Add a gradient to the `grad` that a tensor has, unless another thread changed that meanwhile; return whether."""
    version = existing._root()._version_count
    total = existing + gradient
    with _accumulating:
        if leaf._grad is not existing or existing._root()._version_count != version:
            return False
        if create_graph or leaf.retains_grad:
            leaf._grad = total
        else:
            in_place(existing, total)
        return True


def _first_gradient(leaf: Tensor, gradient: Tensor, create_graph: bool, taken: set[int]) -> Tensor:
    """Return a gradient as the `grad` of a tensor that has none: in its layout; a retained one in the gradient's own."""
    wanted = leaf._node.type
    if leaf.retains_grad:
        own = gradient._node.type
        wanted = own if is_dense(own.shape, own.strides) else make_type(own.dtype, own.shape, None, False)
    if create_graph or gradient._node.type.strides != wanted.strides:
        name = "torch::autograd::CopyBackwards" if create_graph else None
        return in_grad_mode(create_graph, None, lambda: _own(laid_out(gradient, wanted), taken, name))
    return _own(gradient, taken, None)


def _own(gradient: Tensor, taken: set[int], name: str | None) -> Tensor:
    """Return a tensor object of the leaf's own: a gradient that is the user's, or another leaf's, is not shared."""
    if name is not None or id(gradient) in taken or gradient._alias_of is not None:
        gradient = record(alias, (gradient,), (), name)
    taken.add(id(gradient))
    return gradient


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, one an input, and leave every `grad` as it is.

    `grad_outputs` are the cotangents of the outputs (None for one-element outputs). An input that the outputs do not
    depend on raises, or gives None with `allow_unused`, or zeros with `materialize_grads`. With `is_grads_batched` the
    first dimension of each cotangent is a batch, and so is that of each result.

    >>> import tapegrad
    >>> x = tapegrad.tensor(2.0, requires_grad=True)
    >>> grad(x**3, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the "
            "graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    segment, key = state.segment, None
    begin = segment.node
    if len(roots) == 1 and grad_outputs is None and not (is_grads_batched or materialize_grads):
        key = gradients_key(segment, roots[0], wanted, (create_graph, keep))
        recalled = None if key is None else recall_gradients(segment, key, wanted)
        if recalled is not None:
            return recalled
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for place, root in enumerate(roots):
        if isinstance(root, Tensor) and not _requires_grad(root):
            raise _without_history(place)
    for tensor in wanted:
        if tensor.__class__ is not GradientEdge and not _requires_grad(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if is_grads_batched:
        return _batched(roots, wanted, _as_tuple(grad_outputs, len(roots)), keep, create_graph, bool(allow_unused), materialize_grads)
    targets = [_target(tensor) for tensor in wanted]
    sweep = _sweep(targets, create_graph, keep)
    sweep.run(roots, _cotangents(roots, _as_tuple(grad_outputs, len(roots)), create_graph))
    for tensor, gradient in list(sweep.leaf_gradients.values()):
        if tensor._retains_grad and tensor.retains_grad:
            _accumulate(tensor, gradient, create_graph, set())
    results: list[Tensor | None] = []
    for place, (tensor, target) in enumerate(zip(wanted, targets, strict=True)):
        if target.__class__ is tuple:
            found = sweep.target_gradients.get(target)
        else:
            found = sweep.leaf_gradients.get(id(target), (None, None))[1]
        if found is None:
            if not allow_unused and not materialize_grads:
                raise RuntimeError(
                    f"The differentiated Tensor at index {place} appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
            found = zeros_like(tensor, requires_grad=create_graph) if materialize_grads else None
        results.append(found)
    if key is not None:
        remember_gradients(begin, key, wanted, sweep)
    return tuple(results)


def _batched(
    roots: Sequence[Tensor],
    wanted: Sequence[Tensor],
    cotangents: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    """Sweep once for each element of the cotangents' first dimension, and stack the gradients."""
    from ..primitives.movement import concatenate, reshape

    given = [cotangent for cotangent in cotangents if cotangent is not None]
    sizes = {cotangent.shape[0] if cotangent.ndim else None for cotangent in given}
    if len(sizes) != 1 or None in sizes:
        raise RuntimeError("is_grads_batched=True needs grad_outputs with one first dimension, the batch, in common")
    size = sizes.pop()
    for place, (root, cotangent) in enumerate(zip(roots, cotangents, strict=True)):
        if cotangent is not None and tuple(cotangent.shape[1:]) != tuple(root.shape):
            raise RuntimeError(
                f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes "
                f"of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{place}] has a shape of {cotangent.shape[1:]} and output[{place}] has a shape of {root.shape}. If you only "
                "want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    rows = []
    for index in range(size or 0):
        last = index == (size or 0) - 1
        row = [None if cotangent is None else cotangent[index] for cotangent in cotangents]
        rows.append(
            grad(
                roots,
                wanted,
                row,
                retain_graph=retain_graph if last else True,
                create_graph=create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize,
            )
        )
    columns: list[Tensor | None] = []
    for column in zip(*rows, strict=True):
        parts = [part for part in column if part is not None]
        stacked = [reshape(part, shape=(1, *part.shape)) for part in parts]
        columns.append(concatenate(*stacked, axis=0) if stacked else None)
    return tuple(columns)


def _as_tuple(tensors: Any, count: int = 0) -> tuple[Any, ...]:
    if tensors is None:
        return (None,) * count
    return (tensors,) if isinstance(tensors, Tensor | GradientEdge) else tuple(tensors)


def _requires_grad(tensor: Any) -> bool:
    """Return the tensor's ``requires_grad``, at once where it is not a stale view."""
    requires: bool = tensor.requires_grad if tensor._is_stale else tensor._node.type.requires_grad
    return requires


def _target(tensor: Any) -> Any:
    """Return what stands for an input (a tensor, or the edge to one) as a target of a sweep."""
    return tensor.target() if tensor.__class__ is GradientEdge else leaf_or_address(tensor)


def _cotangents(roots: Sequence[Tensor], given: Sequence[Any], create_graph: bool) -> list[Any]:
    """Return a cotangent for each root: the given one, checked, or None (one) for a real scalar."""
    for cotangent in given:
        if cotangent is not None and not isinstance(cotangent, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(cotangent).__name__}")
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    cotangents: list[Any] = []
    for place, (root, cotangent) in enumerate(zip(roots, given, strict=True)):
        if not isinstance(root, Tensor):
            raise TypeError(f"element {place} of tensors is a {type(root).__name__}, not a tensor")
        if not root.requires_grad or (root.is_leaf and root._takes_no_gradient):
            raise _without_history(place)
        if cotangent is None:
            if root._node.type.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if root.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
            cotangents.append(None)
        else:
            cotangents.append(_checked(root, cotangent, place))
    return cotangents


def _without_history(place: int) -> RuntimeError:
    return RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")


def _checked(root: Tensor, cotangent: Tensor, place: int) -> Tensor:
    if cotangent.shape != root.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {cotangent.shape} and output[{place}] has a shape of {root.shape}."
        )
    if cotangent.dtype.is_complex != root.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{place}] has a dtype of {cotangent.dtype} and output[{place}] has a dtype of {root.dtype}."
        )
    if cotangent.dtype is not root.dtype:
        from ..primitives.casting import cast

        converted: Tensor = cast(cotangent, dtype=root.dtype)
        return converted
    return cotangent


def _warn_of_cycle() -> None:
    global _cycle_warning_given
    if not _cycle_warning_given:
        _cycle_warning_given = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
            "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=4,
        )


