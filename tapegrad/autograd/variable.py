"""The name that tensors with a history had in old PyTorch programs."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """A tensor: ``Variable(x, requires_grad=True)`` is a leaf that shares the elements of `x`.

    >>> import tapegrad
    >>> Variable(tapegrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        leaf = data.detach()
        return leaf.requires_grad_() if requires_grad else leaf
