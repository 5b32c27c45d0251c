"""Tensor: metadata, operators and conversion. Everything else users call on a tensor is in functions/."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes, operators, tape
from .device import Device
from .size import Size
from .tape import checks
from .tape import record as recording
from .tape.buffers import is_concrete
from .tape.record import Failure, address_of, enter, read, record
from .tape.segment import state
from .tape.trace import NUMBERS
from .tape.types import Type, make_type, number_type

_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
    "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
    "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)

_backward: Any = None  # that of the engine, once it is used


class Tensor:
    """A multi-dimensional array that the tape can differentiate.

    A tensor is pending (recorded on an open segment, not computed yet) or concrete (it has its array). ``_node`` is its
    place in the trace while it is on the open segment `_segment`, and its type otherwise; ``_array`` is unset while it
    is pending. ``_home`` is the sealed segment that holds its history.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("_segment", "_node", "_array", "__dict__", "__weakref__")

    _segment: Any
    _node: Any
    _array: Any
    _home: Any = None
    _home_slot: int = 0
    _grad: Tensor | None = None
    _grad_dtype: dtypes.dtype | None = None
    _retains_grad: bool = False
    # What aliases.py keeps of views.
    _alias_of: Tensor | None = None
    _detached_base: Tensor | None = None
    _chain: tuple[Any, ...] = ()
    _chain_numbers: tuple[Any, ...] = ()
    _views: list[Any] | None = None
    _is_stale: bool = False
    _is_shared: bool = False
    _is_detached: bool = False
    _made_without_grad: bool = False
    _takes_no_gradient: bool = False
    _is_outdated: bool = False
    _is_leaf_view: bool = False
    _is_multiple_view: tuple[int, str] | None = None
    _own_version: list[int] | None = None
    _version_count: int = 0

    __array_priority__ = 1000  # NumPy arrays leave mixed operations to the tensor

    def __new__(cls, *arguments: Any, **options: Any) -> Tensor:
        """Return what ``torch.Tensor(...)`` does: a float32 tensor of these sizes, or of this data."""
        from .functions.legacy import legacy_tensor

        made = legacy_tensor(*arguments, **options)
        if cls is Tensor:
            return made
        result: Tensor = object.__new__(cls)
        tape.aliases.take_place_of_new(result, made)
        return result

    if TYPE_CHECKING:  # the methods that functions/ puts in place, family by family

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __matmul__(self, other: Any) -> Tensor: ...

    # Making

    @classmethod
    def _wrap(cls, value: Any, type_: Type) -> Tensor:
        """Return a concrete tensor of this value and type."""
        result: Tensor = object.__new__(cls)
        result._segment = None
        result._node = type_
        if not isinstance(value, (np.ndarray, Failure)):
            value = np.asarray(value, None if type_.is_number else dtypes.array_type(type_.dtype))
        result._array = value
        return result

    @classmethod
    def _from_array(cls, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Tensor:
        """Return a concrete tensor around an array that nobody else writes to."""
        itemsize = array.itemsize
        strides = tuple([stride // itemsize for stride in array.strides])
        dtype = dtypes.from_array_type(array.dtype)
        return cls._wrap(array, make_type(dtype, array.shape, strides, requires_grad, False, state.inference))

    def _like(self, array: Any, type_: Type) -> Tensor:
        return Tensor._wrap(array, type_)

    # Aliases

    def _root(self) -> Tensor:
        return self if self._alias_of is None else self._alias_of

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this is a view of; None for what `detach` makes."""
        return self._detached_base if self._is_detached else self._alias_of

    def _is_view(self) -> builtins.bool:
        return self._base is not None

    def _regenerate(self) -> None:
        tape.aliases.regenerate(self)

    def _current_type(self) -> Type:
        if self._is_stale:
            if checks.is_cut_off(self):
                return self._node.type.replace(requires_grad=True)  # type: ignore[no-any-return]
            self._regenerate()
        type_: Type = self._node.type
        return type_

    def _as_it_is(self) -> Tensor:
        current: Tensor = tape.aliases.as_it_is(self)
        return current

    # Metadata

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions."""
        return Size(self._node.type.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        found: dtypes.dtype = self._node.type.dtype
        return found

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._node.type.shape)

    @property
    def device(self) -> Device:
        """Where the tensor is: always the CPU."""
        return Device("cpu")

    @property
    def layout(self) -> str:
        return "torch.strided"

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return int(self._node.type.nbytes)

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user, not by a differentiable operation."""
        if not self._current_type().requires_grad:
            return True
        if self._is_stale:
            checks.check_cut_off(self)
        if is_concrete(self):
            return self._home is None
        makes_leaf: bool = self._node.node.primitive.makes_leaf
        return makes_leaf

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor; setting it is for leaves."""
        requires: bool = self._current_type().requires_grad
        return requires

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if value and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self._set_requires_grad(value, "only Tensors of floating point and complex dtype can require gradients")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in place and return the tensor.

        >>> import tapegrad
        >>> tapegrad.tensor([1.0]).requires_grad_().requires_grad
        True
        """
        if not isinstance(requires_grad, builtins.bool):
            found = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {found}")
        self._set_requires_grad(requires_grad, "only Tensors of floating point dtype can require gradients")
        return self

    def _set_requires_grad(self, value: bool, dtype_message: str) -> None:
        type_ = self._current_type()
        if not value and not self._takes_no_gradient and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
                "that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if value and type_.dtype.category < dtypes.FLOAT:
            raise RuntimeError(dtype_message)
        if type_.is_inference and value and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if self._takes_no_gradient and value:
            self._takes_no_gradient = False
        if bool(value) is type_.requires_grad or self._takes_no_gradient:
            return
        if is_concrete(self):
            self._segment = None
            self._node = type_.replace(requires_grad=bool(value))
        else:
            tape.aliases.become_leaf(self, bool(value))

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() accumulated, or None."""
        if self._grad is None and not self._retains_grad and not self._is_stale and not self.is_leaf:
            warnings.warn(_NON_LEAF_GRAD, UserWarning, stacklevel=2)
        if state.capture is not None:
            state.capture.note_grad(self, False)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_grad(value)
        if state.capture is not None:
            state.capture.note_grad(self, True)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        from .functions.declare import c_name

        wanted = self.grad_dtype
        if wanted is not None and value.dtype is not wanted:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{c_name(value.dtype)}' to a tensor with grad_dtype '{wanted.title}'. "
                "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
                "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the "
                "dtypes of a tensor and its gradient may break downstream systems that assume they match."
            )
        if value.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The dtype that `grad` must have: the tensor's own unless set."""
        found: dtypes.dtype | None = self.__dict__.get("_grad_dtype", self.dtype)
        return found

    @grad_dtype.setter
    def grad_dtype(self, value: dtypes.dtype | None) -> None:
        self._grad_dtype = value

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor, None for a leaf; made from the tape when asked for."""
        if self.is_leaf:
            return None
        from .autograd.nodes import node_of

        return node_of(self)

    @property
    def output_nr(self) -> int:
        """Which result of its operation this tensor is."""
        if self._is_multiple_view is not None and not self.is_leaf:
            return self._is_multiple_view[0]
        function = self.grad_fn
        return 0 if function is None else function._output_number(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf tensor."""
        return self._retains_grad and not self.is_leaf

    def retain_grad(self) -> None:
        """Let backward() fill `grad` of this non-leaf tensor."""
        if not self._current_type().requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf:
            return
        tape.aliases.retain(self)
        self._retains_grad = True

    @property
    def _version(self) -> int:
        """How often the storage was modified in place."""
        if self._node.type.is_inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        root = self._root()
        own = root._own_version if self._own_version is None else self._own_version
        return root._version_count if own is None else own[0]

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        made: bool = self._node.type.is_inference
        return made

    @property
    def data(self) -> Tensor:
        """The same storage without history; what is done to it, the tape does not see."""
        alias: Tensor = tape.aliases.detached(self, own_version=True)
        return alias

    @data.setter
    def data(self, value: Tensor) -> None:
        tape.aliases.set_data(self, value)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach(self) -> Tensor:
        """Return a tensor that shares the storage and has no history."""
        alias: Tensor = tape.aliases.detached(self)
        return alias

    def detach_(self) -> Tensor:
        """Cut the tensor's history off, in place."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
                "torch/optim/optimizer.py as the solution."
            )
        if is_concrete(self):
            self._segment = None
            self._node = self._node.type.replace(requires_grad=False)
            self._home = None
        else:
            tape.aliases.cut_history(self)
        return self

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Replay the tape in reverse from this tensor, and accumulate into the `grad` of the leaves (or of `inputs`).

        `gradient` is the tensor's cotangent, of its shape; a one-element tensor needs none. The residuals are released
        unless `retain_graph` (default: `create_graph`).

        >>> import tapegrad
        >>> x = tapegrad.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        global _backward
        if _backward is None:
            from .autograd import engine

            _backward = engine.backward
        _backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # Operators

    __add__ = __radd__ = operators.binary("arithmetic.add")
    __sub__ = operators.binary("arithmetic.sub")
    __rsub__ = operators.reflected("arithmetic.sub", "RsubBackward1")
    __mul__ = __rmul__ = operators.binary("arithmetic.mul")
    __truediv__ = operators.binary("arithmetic.div")
    __floordiv__ = operators.binary("arithmetic.floor_divide")
    __rfloordiv__ = operators.reflected("arithmetic.floor_divide")
    __mod__ = operators.binary("arithmetic.remainder")
    __rmod__ = operators.reflected("arithmetic.remainder")
    __pow__ = operators.power
    __rpow__ = operators.reflected("arithmetic.power", "PowBackward2")
    __neg__ = operators.unary("arithmetic.neg")
    __abs__ = operators.unary("arithmetic.absolute")
    __lt__ = operators.binary("comparison.less")
    __le__ = operators.binary("comparison.less_equal")
    __gt__ = operators.binary("comparison.greater")
    __ge__ = operators.binary("comparison.greater_equal")
    __eq__ = operators.binary("comparison.equal", takes_arrays=True)  # a tensor, as in PyTorch and NumPy
    __ne__ = operators.binary("comparison.not_equal", takes_arrays=True)
    __and__ = __rand__ = operators.binary("comparison.bitwise_and")
    __or__ = __ror__ = operators.binary("comparison.bitwise_or")
    __xor__ = __rxor__ = operators.binary("comparison.bitwise_xor")
    __lshift__ = operators.binary("comparison.left_shift")
    __rlshift__ = operators.reflected("comparison.left_shift")
    __rshift__ = operators.binary("comparison.right_shift")
    __rrshift__ = operators.reflected("comparison.right_shift")
    _bitwise_not = operators.unary("comparison.bitwise_not")

    def __invert__(self) -> Tensor:
        if self._node.type.dtype.category > dtypes.INTEGER:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        result: Tensor = self._bitwise_not()
        return result

    def __pos__(self) -> Tensor:
        return self

    def __rtruediv__(self, other: Any) -> Tensor:
        from .primitives.arithmetic import reciprocal

        result: Tensor = reciprocal(self) * other
        return result

    # Conversion

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from .printing import format_tensor

        type_ = self._current_type()
        function = self.grad_fn
        return format_tensor(
            read(self),
            type_.dtype,
            requires_grad=type_.requires_grad,
            grad_fn_name=None if function is None else type(function).__name__,
            class_name="tensor" if type(self) is Tensor else type(self).__name__,
        )

    def __format__(self, spec: str) -> str:
        from .printing import format_scalar

        if type(self) is Tensor and self.ndim == 0:
            return format_scalar(read(self), self.dtype, spec)
        return object.__format__(self, spec)

    def item(self) -> Any:
        """Return the value of a one-element tensor as a Python number."""
        if self._node.type.numel != 1:
            raise RuntimeError(f"a Tensor with {self._node.type.numel} elements cannot be converted to Scalar")
        value = read(self)
        return float(value.reshape(())) if self.dtype is dtypes.bfloat16 else value.item()

    def tolist(self) -> Any:
        """Return the values as nested lists of Python numbers."""
        value = read(self)
        return (value.astype(np.float32) if self.dtype is dtypes.bfloat16 else value).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return a NumPy array that shares memory with the tensor."""
        if state.grad_enabled and self._current_type().requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return tape.aliases.export(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy(order="K") if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: builtins.bool = False) -> Tensor:
        """Return a NumPy function's result for a tensor as a tensor; bools become uint8, as in PyTorch."""
        from .functions.from_data import from_numpy

        return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)

    def __bool__(self) -> builtins.bool:
        numel = self._node.type.numel
        if numel != 1:
            several = "more than one value" if numel else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {several} is ambiguous")
        return builtins.bool(read(self).reshape(()))

    def _scalar(self, kind: Callable[[Any], Any]) -> Any:
        if self._node.type.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if self._current_type().requires_grad:
            _warn_of_scalar()
        return kind(self.item())

    def __float__(self) -> builtins.float:
        value: builtins.float = self._scalar(partial(_real_number, builtins.float, "double"))
        return value

    def __int__(self) -> builtins.int:
        value: builtins.int = self._scalar(partial(_real_number, builtins.int, "int64_t"))
        return value

    def __complex__(self) -> complex:
        value: complex = self._scalar(complex)
        return value

    def __index__(self) -> builtins.int:
        if self._node.type.numel != 1 or self.dtype.category > dtypes.INTEGER:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return builtins.int(self.item())

    def __len__(self) -> builtins.int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._node.type.shape[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __contains__(self, element: Any) -> builtins.bool:
        if isinstance(element, (Tensor, builtins.int, builtins.float, complex)):
            return bool((self == element).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> builtins.int:
        return id(self)

    def __deepcopy__(self, memo: dict[builtins.int, Any]) -> Tensor:
        from .serialization import deepcopy_tensor

        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .serialization import reduce_tensor

        return reduce_tensor(self)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not name.startswith("_Tensor")]


new_tensor: Callable[[], Tensor] = partial(object.__new__, Tensor)
recording.new_tensor = operators.new_tensor = new_tensor


_scalar_warning_given = False


def _warn_of_scalar() -> None:
    """Give PyTorch's warning for ``float(x)`` of a tensor that requires grad, once in a process."""
    global _scalar_warning_given
    if not _scalar_warning_given:
        _scalar_warning_given = True
        warnings.warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first.",
            UserWarning,
            stacklevel=4,
        )


def _real_number(kind: Callable[[Any], Any], name: str, value: Any) -> Any:
    """Return a number as a float or an int, if its imaginary part is zero."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        value = value.real
    return kind(value)


def _not_writable(name: str) -> Callable[[Any, Any], None]:
    """Return a setter that raises what PyTorch raises for an attribute that can only be read."""

    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of '{type(self).__name__}' objects is not writable")

    return refuse


for _name in ("shape", "dtype", "ndim", "device", "layout", "is_leaf", "grad_fn", "output_nr", "retains_grad", "_version", "_base"):
    setattr(Tensor, _name, getattr(Tensor, _name).setter(_not_writable(_name)))
del _name


def as_operand(value: Any) -> Tensor:
    """Return a tensor for a Python number, as it counts on the tape; a tensor as it is."""
    if isinstance(value, Tensor):
        return value
    return Tensor._wrap(np.asarray(value), number_type(type(value)))


def is_tensor(value: Any) -> builtins.bool:
    """Return whether this is a tensor."""
    return isinstance(value, Tensor)


__all__ = ["Tensor", "as_operand", "is_tensor", "new_tensor", "NUMBERS", "address_of", "checks", "enter", "record"]
