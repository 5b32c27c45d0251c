"""Copies and files of tensors: deepcopy, pickle, `save` and `load`.

A view is copied and pickled as what it is of its root, so that tensors that share memory still do afterwards.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from . import dtypes
from .device import Device
from .functions.from_data import dense_copy
from .primitives.declare import TABLE
from .tape import aliases
from .tape.record import read
from .tensor import Tensor

__all__ = ["add_safe_globals", "load", "save"]

Array = np.ndarray[Any, Any]

_NOT_A_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
    "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)


# Copies


def deepcopy_tensor(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Return a copy of a leaf with its `grad` and the attributes that were set on it, for ``copy.deepcopy``.

    Raises:
        RuntimeError: the tensor is not a leaf.
    """
    if not tensor.is_leaf:
        raise RuntimeError(_NOT_A_LEAF)
    result = _copy_root(tensor._root(), memo)
    if tensor._alias_of is not None:
        result = _rebuild_view(type(tensor), result, *_path(tensor), tensor.requires_grad)
    memo[id(tensor)] = result
    if tensor._grad is not None:
        result._grad = copy.deepcopy(tensor._grad, memo)
    result.__dict__.update(copy.deepcopy(_attributes(tensor), memo))
    return result


def _copy_root(root: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Return the copy of a tensor that is no view, the same for all of its views."""
    key = ("root", id(root))
    found: Tensor | None = memo.get(key)
    if found is None:
        array = read(root)
        type_ = root._node.type
        found = memo[key] = _as_class(type(root), dense_copy(array, type_, type_.dtype, type_.requires_grad))
    return found


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Return how pickle makes the tensor again: as a leaf, without `grad`."""
    state = _attributes(tensor) or None
    root = tensor._root()
    if root is tensor:
        return _rebuild_tensor, (type(tensor), _portable_array(tensor), tensor.requires_grad), state
    return _rebuild_view, (type(tensor), root, *_path(tensor), tensor.requires_grad), state


def _portable_array(root: Tensor) -> Array:
    """Return the array of a tensor that is no view, laid out as its type says; nobody outside can write to it."""
    array: Array = read(root)
    if root._is_shared:
        return array.copy(order="K")
    return array.copy(order="C") if root._node.type.is_contiguous and not array.flags.c_contiguous else array


def _attributes(tensor: Tensor) -> dict[str, Any]:
    """Return what was set on the tensor from outside: all that its class knows nothing of."""
    return {name: value for name, value in tensor.__dict__.items() if not (name.startswith("_") and hasattr(type(tensor), name))}


def _path(view: Tensor) -> tuple[tuple[aliases.Link, ...], tuple[Any, ...]]:
    """Return the chain from a view's root to it, and the numbers for that; being detached is no step of it."""
    return tuple([link for link in view._chain if link[0] != "detach"]), view._chain_numbers


def _rebuild_tensor(kind: type[Tensor], array: Array, requires_grad: bool) -> Tensor:
    return _as_class(kind, Tensor._from_array(array, requires_grad))


def _as_class(kind: type[Tensor], made: Tensor) -> Tensor:
    """Return a new tensor as one of a subclass."""
    if kind is Tensor:
        return made
    result: Tensor = object.__new__(kind)
    aliases.take_place_of_new(result, made)
    return result


def _rebuild_view(
    kind: type[Tensor], root: Tensor, chain: tuple[aliases.Link, ...], numbers: tuple[Any, ...], requires_grad: bool
) -> Tensor:
    """Return a leaf that shares the root's memory."""
    base = root
    view = aliases.detached(root)
    last: aliases.Link = ("detach", (), 0)
    taken: tuple[Any, ...] = ()
    for link in chain:
        name, parameters, count = link
        taken, numbers = numbers[:count], numbers[count:]
        base, last = view, link
        view = aliases.make_view(base, TABLE[name], taken, parameters)
    if kind is not Tensor:
        view = _as_class(kind, view)
        aliases.register_view(base, view, last, taken)
        view._is_detached = True
    view._made_without_grad = False
    result: Tensor = view.requires_grad_() if requires_grad else view
    return result


# Files


def save(obj: Any, f: str | os.PathLike[str] | IO[bytes], pickle_protocol: int = pickle.DEFAULT_PROTOCOL) -> None:
    """Write an object (tensors, and containers of them) to a file.

    Args:
        obj: what to write.
        f: a path, or a file open for writing bytes.
        pickle_protocol: the version of pickle's format.

    >>> import io, tapegrad
    >>> file = io.BytesIO()
    >>> tapegrad.save({"weight": tapegrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> tapegrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            pickle.dump(obj, file, pickle_protocol)
    elif hasattr(f, "write"):
        pickle.dump(obj, f, pickle_protocol)
    else:
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def load(f: str | os.PathLike[str] | IO[bytes], map_location: Any = None, *, weights_only: bool | None = None) -> Any:
    """Read what `save` wrote; tensors that shared memory still do.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: where the tensors go; the CPU is all there is.
        weights_only: True (the default) reads tensors, numbers, strings and containers of them, and nothing that could
            run code of the file's; False reads all that pickle does: only from files that you trust.

    Raises:
        pickle.UnpicklingError: the file is not one of `save`'s, or contains what `weights_only` does not read.
    """
    if isinstance(map_location, str):
        Device(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, weights_only is not False)
    if not hasattr(f, "read"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'read' attribute")
    return _read(f, weights_only is not False)


def _read(file: IO[bytes], weights_only: bool) -> Any:
    if _is_zip(file):
        raise pickle.UnpicklingError(
            "this is a zip archive, as torch.save writes it: save its tensors as NumPy arrays with PyTorch to read them here"
        )
    return (_WeightsUnpickler if weights_only else pickle.Unpickler)(file).load()


def _is_zip(file: IO[bytes]) -> bool:
    """Whether a file that can be rewound begins as a zip archive does."""
    if not (hasattr(file, "seekable") and file.seekable()):
        return False
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == b"PK\x03\x04"


# What a file of weights may name: what makes tensors and arrays again, and plain containers.
_SAFE = {
    "_codecs": {"encode"},
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "ml_dtypes": {"bfloat16"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
    "tapegrad.device": {"Device"},
    "tapegrad.dtypes": {dtype.name for dtype in dtypes.ALL},
    "tapegrad.nn.parameter": {"Buffer", "Parameter"},
    "tapegrad.serialization": {"_rebuild_tensor", "_rebuild_view"},
    "tapegrad.size": {"Size"},
    "tapegrad.tensor": {"Tensor"},
}
_trusted: set[tuple[str, str]] = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let `load` read objects of these classes (and use these functions), too, under ``weights_only=True``.

    >>> import fractions
    >>> add_safe_globals([fractions.Fraction])
    """
    _trusted.update([(entry.__module__, entry.__qualname__) for entry in safe_globals])


class _WeightsUnpickler(pickle.Unpickler):
    """Reads only what cannot run code of the file's."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _SAFE.get(module, ()) or (module, name) in _trusted:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. "
            f"If you trust the file, use `tapegrad.serialization.add_safe_globals([{name}])`, or load it with weights_only=False."
        )
