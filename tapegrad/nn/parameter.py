"""Parameters and buffers: the tensors that a module keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..printing import format_tensor
from ..tape.aliases import set_data
from ..tape.record import read
from ..tape.types import make_type
from ..tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor to be learned: assigned to an attribute of a module, it is one of its parameters.

    Args:
        data: its value; the storage is shared. An empty tensor by default.
        requires_grad: whether gradients flow to it.

    >>> import tapegrad
    >>> Parameter(tapegrad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """Return a leaf that has the storage of `data`."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"data must be a Tensor, not {type(data).__name__}")
        dtype = dtypes.get_default_dtype() if data is None else data._node.type.dtype
        if requires_grad and dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made: Parameter = cls._wrap(np.empty(0, dtypes.array_type(dtype)), make_type(dtype, (0,), None, bool(requires_grad)))  # type: ignore[assignment]
        if data is not None:
            set_data(made, data)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return a parameter of its own with the same value, but without a gradient."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copy: Parameter = memo[id(self)]
        return copy

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # the signature is the same
        return format_tensor(read(self), self.dtype, requires_grad=self.requires_grad, is_parameter=True)


class _BufferClass(type(Tensor)):  # type: ignore[misc]
    """Lets a plain tensor that was made as a buffer pass for an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferClass):
    """A tensor that is part of a module's state, but not learned: assigned to an attribute, it is one of its buffers.

    Args:
        data: its value; the storage is shared. An empty tensor by default.
        persistent: whether it is part of the module's state_dict.
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """Return a plain tensor, marked as a buffer."""
        from ..functions.creation import empty

        source = empty(0) if data is None else data
        made: Any = source.detach().requires_grad_(source.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
