"""What a tensor says of itself: its size, its layout, what kind of numbers it holds."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..layout import contiguous_format, format_strides
from ..primitives import type_rules
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import export
from ..tape.trace import NUMBERS
from ..tape.types import number_type
from ..tensor import Tensor
from .arguments import checked
from .declare import require_tensor, wrong_type

# Size and layout


@checked
def size(self: Any, dim: int | None = None) -> Any:
    """Return the shape, or the length of one dimension."""
    return self.shape if dim is None else self._node.type.shape[_one_of(self, dim)]


@checked
def stride(self: Any, dim: int | None = None) -> Any:
    """Return how many elements apart neighbours along each dimension (or one) are."""
    strides = self._node.type.strides
    return strides if dim is None else strides[_one_of(self, dim)]


def _one_of(self: Any, dim: int) -> int:
    ndim = self.ndim
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalise_axis(dim, ndim)


def numel(input: Any) -> int:
    """Return the number of elements."""
    return int(require_tensor("numel", input)._node.type.numel)


def dim(self: Any) -> int:
    """Return the number of dimensions."""
    return int(self._node.type.ndim)


def element_size(self: Any) -> int:
    """Return the size of an element in bytes."""
    return int(self.dtype.itemsize)


def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    """Return whether the elements lie in memory in order, or in that of a memory format."""
    type_ = self._node.type
    if memory_format is None or memory_format is contiguous_format:
        return bool(type_.is_contiguous)
    try:
        wanted = format_strides(type_.shape, memory_format)
    except RuntimeError:  # a format for another number of dimensions
        return False
    return all(
        length == 1 or own == expected
        for length, own, expected in zip(type_.shape, type_.strides, wanted, strict=True)
    )


def dim_order(self: Any) -> tuple[int, ...]:
    """Return the dimensions in the order in which they lie in memory, the outermost first."""
    strides = self._node.type.strides
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def data_ptr(self: Any) -> int:
    """Return the address of the first element; asking for it gives the tensor a buffer that stays."""
    return int(export(self.detach()).ctypes.data)


def is_set_to(self: Any, tensor: Any) -> bool:
    """Return whether two tensors are the same view of the same storage."""
    return bool(
        self._root() is tensor._root() and self.shape == tensor.shape and self.stride() == tensor.stride()
        and self.storage_offset() == tensor.storage_offset()
    )


def get_device(self: Any) -> int:
    """Return the number of the device: -1, the CPU."""
    return -1


# Kinds of numbers


def is_floating_point(input: Any) -> bool:
    """Return whether the dtype is a floating point one."""
    return bool(require_tensor("is_floating_point", input).dtype.is_floating_point)


def is_complex(input: Any) -> bool:
    """Return whether the dtype is complex."""
    return bool(require_tensor("is_complex", input).dtype.is_complex)


def is_signed(input: Any) -> bool:
    """Return whether the dtype has negative numbers."""
    return bool(require_tensor("is_signed", input).dtype.is_signed)


def is_nonzero(input: Any) -> bool:
    """Return whether the only element of a tensor is not zero."""
    return bool(require_tensor("is_nonzero", input))


def is_inference(input: Any) -> bool:
    """Return whether the tensor was made in inference mode."""
    return bool(require_tensor("is_inference", input).is_inference())


def is_storage(obj: Any) -> bool:
    """Return whether this is a storage: there are none."""
    return False


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """Return the dtype of the result of an operation on two tensors or numbers.

    >>> import tapegrad
    >>> tapegrad.result_type(tapegrad.tensor([1, 2]), 1.0)
    torch.float32
    """
    types = []
    for position, value in enumerate((tensor1, tensor2), 1):
        if isinstance(value, Tensor):
            types.append(value._node.type)
        elif value.__class__ in NUMBERS:
            types.append(number_type(value.__class__))
        else:
            raise wrong_type("result_type", f"tensor{position}", position, "Tensor", value)
    return type_rules.result_dtype(types)


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Return whether an in-place operation may write numbers of the first dtype to a tensor of the second.

    >>> import tapegrad
    >>> tapegrad.can_cast(tapegrad.int64, tapegrad.float32), tapegrad.can_cast(tapegrad.float32, tapegrad.int64)
    (True, False)
    """
    return from_.category <= to.category


def typename(obj: Any) -> str:
    """Return the name of a tensor's type, or of another object's class, with its module."""
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.title}Tensor"
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = "" if kind.__module__ in (None, "builtins") else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"


__all__ = [
    "can_cast", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_signed", "is_storage", "numel", "result_type",
    "typename",
]

METHODS: dict[str, Any] = {
    "data_ptr": data_ptr,
    "const_data_ptr": data_ptr,
    "dim": dim,
    "dim_order": dim_order,
    "element_size": element_size,
    "get_device": get_device,
    "is_complex": is_complex,
    "is_contiguous": is_contiguous,
    "is_floating_point": is_floating_point,
    "is_nonzero": is_nonzero,
    "is_set_to": is_set_to,
    "is_signed": is_signed,
    "ndimension": dim,
    "nelement": numel,
    "numel": numel,
    "size": size,
    "stride": stride,
    "name": None,
    # What PyTorch's tensors may be, and these never are.
    "is_cpu": True,
    "is_cuda": False,
    "is_ipu": False,
    "is_maia": False,
    "is_meta": False,
    "is_mkldnn": False,
    "is_mps": False,
    "is_mtia": False,
    "is_nested": False,
    "is_quantized": False,
    "is_sparse": False,
    "is_sparse_csr": False,
    "is_vulkan": False,
    "is_xla": False,
    "is_xpu": False,
    "is_pinned": lambda self: False,
    "is_shared": lambda self: False,
}
