"""Other shapes and orders of dimensions. What is a view in PyTorch is one here."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import movement, signs, type_rules
from ..primitives.reinterpretation import view_as_dtype
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..size import Size
from ..tape.aliases import make_view
from ..tape.record import record
from .arguments import checked
from .declare import accepts_names, require_tensor, warn_once, wrong_type
from .reductions import product_of

Shape = Sequence[int]


def sizes_from(name: str, arguments: tuple[Any, ...], given: Any = None, argument: str = "size") -> tuple[int, ...]:
    """Return sizes given as several arguments, as one sequence, or by keyword (`given`)."""
    if given is not None:
        arguments = tuple(given)
    elif len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        arguments = tuple(arguments[0])
    elif not arguments:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    try:
        return tuple([size if size.__class__ is int else size.__index__() for size in arguments])
    except AttributeError:
        wrong = next(size for size in arguments if not hasattr(size, "__index__"))
        raise wrong_type(name, argument, 1, "tuple of ints", wrong) from None


def _resolved(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """Return a shape with its -1 replaced by the length that is left."""
    rest = 1
    unknown = 0
    for place, length in enumerate(shape):
        if length >= 0:
            rest *= length
        elif length == -1:
            unknown += 1
        else:
            raise RuntimeError(f"invalid shape dimension {length} at index {place} of shape {list(shape)}")
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    if unknown == 0:
        if rest != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    if rest == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any value "
            "and is ambiguous"
        )
    if rest == 0 or numel % rest:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // rest if length == -1 else length for length in shape])


# Reshaping


def reshape(input: Any, *sizes: Any, shape: Any = None) -> Any:
    """Return the elements in another shape, one length of which may be -1; a view where that is possible.

    >>> import tapegrad
    >>> tapegrad.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    type_ = require_tensor("reshape", input)._node.type
    return _reshaped(input, type_, sizes_from("reshape", sizes, shape, "shape"), "UnsafeViewBackward0")


def _reshaped(input: Any, type_: Any, sizes: tuple[int, ...], copied: str) -> Any:
    """Return a view of these sizes, or else a copy, shown under the name `copied`."""
    shape, is_view = _new_shape(type_.shape, type_.strides, sizes)
    if not is_view:
        return record(movement.reshape, (input,), (shape,), copied)
    return make_view(input, movement.reshape, (), (shape,))


@functools.lru_cache(4096)
def _new_shape(shape: tuple[int, ...], strides: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return the shape that sizes (one of which may be -1) mean, and whether a view of it is possible."""
    new_shape = _resolved(sizes, product_of(shape))
    return new_shape, movement.view_strides(shape, strides, new_shape) is not None


def view(input: Any, *sizes: Any, size: Any = None, dtype: Any = None) -> Any:
    """Return a view of another shape (or, given a dtype, the same bytes in it); raises where only a copy could do.

    >>> import tapegrad
    >>> x = tapegrad.zeros(2, 3)
    >>> x.view(6)[0] = 1
    >>> x
    tensor([[1., 0., 0.],
            [0., 0., 0.]])
    """
    if dtype is not None or (len(sizes) == 1 and isinstance(sizes[0], dtypes.dtype)):
        return _with_dtype(input, dtype or sizes[0])
    if not sizes and size is None:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n * (tuple "
            "of ints size)\n"
        )
    type_ = input._node.type
    shape, is_view = _new_shape(type_.shape, type_.strides, sizes_from("view", sizes, size))
    if not is_view:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return make_view(input, movement.reshape, (), (shape,))


def _with_dtype(input: Any, dtype: dtypes.dtype) -> Any:
    if dtype is input.dtype:
        return make_view(input, movement.alias)
    return make_view(input, view_as_dtype, (), (dtype,))


def view_as(input: Any, other: Any) -> Any:
    """Return a view of the shape of `other`."""
    return view(input, require_tensor("view_as", other, "other").shape)


def reshape_as(input: Any, other: Any) -> Any:
    """Return the elements in the shape of `other`."""
    return reshape(input, require_tensor("reshape_as", other, "other").shape)


def ravel(input: Any) -> Any:
    """Return the elements in one dimension."""
    type_ = require_tensor("ravel", input)._node.type
    if type_.ndim == 1 and type_.is_contiguous:
        return make_view(input, movement.reshape, (), (type_.shape,))
    return _reshaped(input, type_, (type_.numel,), "ViewBackward0")


@checked
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return a tensor whose dimensions from `start_dim` to `end_dim` are one.

    >>> import tapegrad
    >>> tapegrad.flatten(tapegrad.zeros(2, 3, 4), start_dim=1).shape
    torch.Size([2, 12])
    """
    type_ = require_tensor("flatten", input)._node.type
    start, end = normalise_axis(start_dim, type_.ndim), normalise_axis(end_dim, type_.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end and type_.ndim:
        return input
    shape = type_.shape
    flat = (*shape[:start], product_of(shape[start : end + 1]), *shape[end + 1 :])
    return _reshaped(input, type_, flat, "UnsafeViewBackward0")


@accepts_names
def unflatten(input: Any, dim: int, sizes: Shape) -> Any:
    """Return a view in which dimension `dim` is several, of these sizes."""
    shape = require_tensor("unflatten", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    sizes = tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if -1 not in sizes and product_of(sizes) != shape[axis]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[axis]}) in the input tensor"
        )
    return view(input, *shape[:axis], *_resolved(sizes, shape[axis]), *shape[axis + 1 :])


@accepts_names
def squeeze(input: Any, dim: int | Shape | None = None) -> Any:
    """Return a view without the dimensions of length 1 (those in `dim`, or all)."""
    parameters, name = squeezing(input, dim)
    if parameters[0] == input._node.type.shape:
        return make_view(input, movement.alias, (), (), name)
    return make_view(input, movement.reshape, (), parameters, name)


def squeezing(input: Any, dim: int | Shape | None) -> tuple[tuple[Any, ...], str]:
    """Return the parameters and the name of the view that `squeeze` makes."""
    shape = require_tensor("squeeze", input)._node.type.shape
    axes = range(len(shape))
    name = "SqueezeBackward0"
    if isinstance(dim, int):
        axes = (normalise_axis(dim, len(shape)),)  # type: ignore[assignment]
        name = "SqueezeBackward1"
    elif dim is not None:
        axes = normalise_axes(dim, len(shape)) if len(dim) else ()  # type: ignore[assignment]
        name = "SqueezeBackward2"
    kept = tuple([length for axis, length in enumerate(shape) if length != 1 or axis not in axes])
    return (kept,), name


@accepts_names
def unsqueeze(input: Any, dim: int) -> Any:
    """Return a view with a dimension of length 1 inserted at `dim`.

    >>> import tapegrad
    >>> tapegrad.unsqueeze(tapegrad.zeros(3), 0).shape
    torch.Size([1, 3])
    """
    shape = require_tensor("unsqueeze", input)._node.type.shape
    axis = normalise_axis(dim, len(shape) + 1)
    return make_view(input, movement.reshape, (), ((*shape[:axis], 1, *shape[axis:]),), "UnsqueezeBackward0")


# Orders of dimensions


def permute(input: Any, *order: Any, dims: Any = None) -> Any:
    """Return a view with the dimensions in this order.

    >>> import tapegrad
    >>> tapegrad.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    axes = sizes_from("permute", order, dims, "dims")
    ndim = require_tensor("permute", input).ndim
    if len(axes) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(axes)}"
        )
    if axes:
        axes = tuple([normalise_axis(axis, ndim) for axis in axes])
        if len(set(axes)) != ndim:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
    return make_view(input, movement.permute, (), (axes,))


@checked
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Return a view with two dimensions exchanged."""
    axes = exchanged(require_tensor("transpose", input).ndim, dim0, dim1)
    return make_view(input, movement.permute, (), (axes,), "TransposeBackward0")


@checked
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Return a view with two dimensions exchanged."""
    return transpose(input, axis0, axis1)


@checked
def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """Return a view with two dimensions exchanged."""
    return transpose(input, dim0, dim1)


def exchanged(ndim: int, first: int, second: int) -> tuple[int, ...]:
    """Return the order of dimensions with two of them exchanged."""
    first, second = normalise_axis(first, ndim), normalise_axis(second, ndim)
    axes = list(range(ndim))
    if axes:
        axes[first], axes[second] = axes[second], axes[first]
    return tuple(axes)


def t(input: Any) -> Any:
    """Return the transpose of a matrix; with fewer dimensions, as it is."""
    ndim = require_tensor("t", input).ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return make_view(input, movement.permute, (), (tuple(range(ndim))[::-1],), "TBackward0")


def _reversed(self: Any) -> Any:
    """Return a view with all dimensions reversed: the property T."""
    ndim = self.ndim
    if ndim == 0:
        warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in "
            "a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return make_view(self, movement.permute, (), (tuple(range(ndim))[::-1],), "PermuteBackward0")


def _transposed_matrices(self: Any, name: str = "mT") -> Any:
    """Return a view with the last two dimensions exchanged: the property mT."""
    ndim = self.ndim
    if ndim == 0:
        warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    if ndim < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {ndim}-D tensor.")
    return transpose(self, -2, -1)


def adjoint(input: Any) -> Any:
    """Return the conjugate transpose of matrices."""
    return _adjoint(require_tensor("adjoint", input), "adjoint()")


def _adjoint(self: Any, name: str = "mH") -> Any:
    """Return the conjugate transpose of matrices: the property mH."""
    if self.ndim == 0:
        shown = name if name == "adjoint()" else f"Tensor.{name}"
        warn_once(f"{shown} is deprecated on 0-D tensors. Consider using x.conj().")
        return signs.conj(self) if self.dtype.is_complex else self
    transposed = _transposed_matrices(self, name)
    return signs.conj(transposed) if self.dtype.is_complex else transposed


def _conjugate_transpose(self: Any) -> Any:
    """Return the conjugate transpose of a matrix: the property H."""
    ndim = self.ndim
    if ndim in (0, 2):
        return _adjoint(self, "H")
    hint = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{hint}")


@checked
def movedim(input: Any, source: int | Shape, destination: int | Shape) -> Any:
    """Return a view with dimensions moved to other positions.

    >>> import tapegrad
    >>> tapegrad.movedim(tapegrad.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = require_tensor("movedim", input).ndim
    from_, to = [(dims,) if isinstance(dims, int) else tuple(dims) for dims in (source, destination)]
    if len(from_) != len(to):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(from_)} dims) should contain the same number of dims as "
            f"destination ({list(to)} dims)"
        )
    sources, targets = [[normalise_axis(axis, ndim) for axis in dims] for dims in (from_, to)]
    for name, given, axes in (("source", from_, sources), ("destination", to, targets)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return make_view(input, movement.permute, (), (tuple(order[:ndim]),))


moveaxis = movedim


# Broadcasting


def expand(input: Any, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    """Return a view in which dimensions of length 1 are longer, without copies; -1 keeps a length.

    >>> import tapegrad
    >>> tapegrad.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return make_view(input, movement.expand, (), (_expanded(input, sizes_from("expand", sizes, size)),))


def _expanded(input: Any, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to expand to, -1 replaced by the length there is."""
    type_ = input._node.type
    shape = type_.shape
    extra = len(wanted) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{type_.dtype.title}Tensor{{{list(shape)}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    result: list[int] = []
    for axis in range(len(wanted) - 1, -1, -1):
        length = wanted[axis]
        current = shape[axis - extra] if axis >= extra else 1
        if axis < extra and length < 0:
            raise RuntimeError(f"The expanded size of the tensor ({length}) isn't allowed in a leading, non-existing dimension {axis}")
        if length == -1:
            length = current
        if current not in (1, length) or length < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({current}) at non-singleton dimension "
                f"{axis}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        result.append(length)
    return tuple(result[::-1])


def expand_as(input: Any, other: Any) -> Any:
    """Return a view expanded to the shape of `other`."""
    return expand(input, require_tensor("expand_as", other, "other").shape)


def broadcast_to(input: Any, size: Shape) -> Any:
    """Return a view broadcast to this shape."""
    require_tensor("broadcast_to", input)
    if not isinstance(size, (tuple, list)):
        raise wrong_type("broadcast_to", "size", 2, "tuple of ints", size)
    return expand(input, size)


def _broadcast_to(self: Any, *sizes: Any, size: Any = None) -> Any:
    """Return a view broadcast to this shape: ``x.broadcast_to(2, 3)`` or ``x.broadcast_to((2, 3))``."""
    return expand(self, sizes_from("broadcast_to", sizes, size))


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return the tensors, broadcast to the shape that they have in common."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shapes = [tuple(require_tensor("broadcast_tensors", tensor).shape) for tensor in tensors]
    if not shapes:
        return ()
    shape = type_rules.broadcast_shapes("broadcast_tensors", *shapes)
    return tuple([tensor if tensor.shape == shape else expand(tensor, shape) for tensor in tensors])


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that shapes (or single lengths) broadcast to.

    >>> import tapegrad
    >>> tapegrad.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for place, shape in enumerate(shapes):
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        result = [1] * (len(lengths) - len(result)) + result
        for back in range(-1, -len(lengths) - 1, -1):
            length = lengths[back]
            if length < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if length == 1 or length == result[back]:
                continue
            if result[back] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {length} at {back}! Mismatching argument at index {place} had "
                    f"{lengths}; but expected shape should be broadcastable to {result}"
                )
            result[back] = length
    return Size(result)


# At least so many dimensions


def atleast_1d(*tensors: Any) -> Any:
    """Return tensors of at least one dimension."""
    return _each("atleast_1d", tensors, lambda tensor: tensor if tensor.ndim else reshape(tensor, 1))


def atleast_2d(*tensors: Any) -> Any:
    """Return tensors of at least two dimensions; vectors become rows."""

    def lifted(tensor: Any) -> Any:
        if tensor.ndim == 0:
            return reshape(tensor, 1, 1)
        return unsqueeze(tensor, 0) if tensor.ndim == 1 else tensor

    return _each("atleast_2d", tensors, lifted)


def atleast_3d(*tensors: Any) -> Any:
    """Return tensors of at least three dimensions; vectors become ``(1, n, 1)``, matrices ``(m, n, 1)``."""

    def lifted(tensor: Any) -> Any:
        if tensor.ndim == 0:
            return reshape(tensor, 1, 1, 1)
        if tensor.ndim == 1:
            return unsqueeze(unsqueeze(tensor, 0), -1)
        return unsqueeze(tensor, -1) if tensor.ndim == 2 else tensor

    return _each("atleast_3d", tensors, lifted)


def _each(name: str, tensors: tuple[Any, ...], function: Any) -> Any:
    """Return the function of one tensor, or the tuple of those of several (or of a sequence of them)."""
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        return function(require_tensor(name, tensors[0]))
    if len(tensors) == 1:
        tensors = tuple(tensors[0])
    return tuple([function(require_tensor(name, tensor)) for tensor in tensors])


__all__ = [
    "adjoint", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "broadcast_to",
    "flatten", "moveaxis", "movedim", "permute", "ravel", "reshape", "squeeze", "swapaxes", "swapdims", "t", "transpose",
    "unflatten", "unsqueeze",
]

_FUNCTIONS_ONLY = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors")
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in _FUNCTIONS_ONLY}
METHODS.update(
    expand=expand,
    expand_as=expand_as,
    broadcast_to=_broadcast_to,
    reshape_as=reshape_as,
    view=view,
    view_as=view_as,
    T=property(_reversed),
    mT=property(_transposed_matrices),
    mH=property(_adjoint),
    H=property(_conjugate_transpose),
)
