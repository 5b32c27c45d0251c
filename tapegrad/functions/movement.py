"""Movement: other shapes and orders of the same elements. What is a view in PyTorch is one here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..primitives import diagonals, movement, signs, sliding
from ..primitives.concatenation import concatenate
from ..primitives.type_rules import broadcast_shapes, normalise_axes, normalise_axis
from ..size import Size
from ..tape.aliases import make_view
from ..tape.record import record
from ..tensor import Tensor
from .declare import require_tensor, write_out

Shape = Sequence[int]


def _sizes(name: str, arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """Return sizes given as several arguments or as one sequence."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        arguments = tuple(arguments[0])
    try:
        return tuple([size if size.__class__ is int else size.__index__() for size in arguments])
    except (AttributeError, TypeError):
        wrong = next(size for size in arguments if not hasattr(size, "__index__"))
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, but found element of type {type(wrong).__name__}") from None


def _resolved(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """Return a shape with its -1 replaced by the length that is left."""
    if -1 not in shape:
        for length in shape:
            if length < 0:
                raise RuntimeError(f"invalid shape dimension {length}")
        return shape
    rest = 1
    for length in shape:
        if length != -1:
            rest *= length
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if rest == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any value "
            "and is ambiguous"
        )
    if numel % rest:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // rest if length == -1 else length for length in shape])


def reshape(input: Any, *shape: Any) -> Any:
    """Return the elements in another shape, one length of which may be -1; a view where that is possible.

    >>> import tapegrad
    >>> tapegrad.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    type_ = require_tensor("reshape", input)._node.type
    sizes = _resolved(_sizes("reshape", shape), type_.numel)
    if movement.view_strides(type_.shape, type_.strides, sizes) is None:
        return record(movement.reshape, (input,), (sizes,), "UnsafeViewBackward0")
    return make_view(input, movement.reshape, (), (sizes,))


def view(input: Any, *shape: Any) -> Any:
    """Return a view of another shape (or, given a dtype, the same bytes in it); raises where only a copy could do."""
    if len(shape) == 1 and hasattr(shape[0], "category"):
        return _view_as_dtype(input, shape[0])
    type_ = input._node.type
    sizes = _resolved(_sizes("view", shape), type_.numel)
    strides = movement.view_strides(type_.shape, type_.strides, sizes) if Size(sizes).numel() == type_.numel else ()
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return make_view(input, movement.reshape, (), (sizes,))


def _view_as_dtype(input: Any, dtype: Any) -> Any:
    if dtype is input.dtype:
        return make_view(input, movement.alias)
    from .. import dtypes

    array = input.detach().numpy()
    return Tensor._from_array(array.view(dtypes.array_type(dtype)))


def view_as(input: Any, other: Any) -> Any:
    """Return a view of the shape of `other`."""
    return view(input, tuple(other.shape))


def reshape_as(input: Any, other: Any) -> Any:
    """Return the elements in the shape of `other`."""
    return reshape(input, tuple(other.shape))


def ravel(input: Any) -> Any:
    """Return the elements in one dimension."""
    return reshape(input, -1)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return a tensor whose dimensions from `start_dim` to `end_dim` are one."""
    type_ = require_tensor("flatten", input)._node.type
    start, end = normalise_axis(start_dim, type_.ndim), normalise_axis(end_dim, type_.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end and type_.ndim:
        return input
    shape = type_.shape
    return reshape(input, *shape[:start], Size(shape[start : end + 1]).numel(), *shape[end + 1 :])


def unflatten(input: Any, dim: int, sizes: Shape) -> Any:
    """Return a view in which dimension `dim` is several, of these sizes."""
    shape = input._node.type.shape
    axis = normalise_axis(dim, len(shape))
    sizes = tuple(sizes)
    if -1 not in sizes and Size(sizes).numel() != shape[axis]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[axis]}) in the input tensor"
        )
    return view(input, *shape[:axis], *_resolved(sizes, shape[axis]), *shape[axis + 1 :])


def permute(input: Any, *dims: Any) -> Any:
    """Return a view with the dimensions in this order."""
    axes = _sizes("permute", dims)
    ndim = require_tensor("permute", input).ndim
    if len(axes) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(axes)}"
        )
    if axes:
        normal = tuple([normalise_axis(axis, ndim) for axis in axes])
        if len(set(normal)) != ndim:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        axes = normal
    return make_view(input, movement.permute, (), (axes,))


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Return a view with two dimensions exchanged."""
    return _transposed(require_tensor("transpose", input), dim0, dim1, "TransposeBackward0")


swapaxes = swapdims = transpose


def _transposed(input: Any, first: int, second: int, name: str) -> Any:
    ndim = input.ndim
    first, second = normalise_axis(first, ndim), normalise_axis(second, ndim)
    axes = list(range(ndim))
    if axes:
        axes[first], axes[second] = axes[second], axes[first]
    return make_view(input, movement.permute, (), (tuple(axes),), name)


def t(input: Any) -> Any:
    """Return the transpose of a matrix (fewer dimensions: as it is)."""
    ndim = require_tensor("t", input).ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return _transposed(input, 0, ndim - 1, "TBackward0") if ndim else make_view(input, movement.alias, name="TBackward0")


def numpy_T(input: Any) -> Any:  # noqa: N802 - the property T
    """Return a view with all dimensions reversed."""
    return make_view(input, movement.permute, (), (tuple(range(input.ndim))[::-1],), "PermuteBackward0")


def matrix_transpose(input: Any) -> Any:
    """Return a view with the last two dimensions exchanged."""
    if input.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    return _transposed(input, -2, -1, "TransposeBackward0")


def adjoint(input: Any) -> Any:
    """Return the conjugate transpose of matrices."""
    transposed = matrix_transpose(input)
    return signs.conj(transposed) if input.dtype.is_complex else transposed


def conjugate_transpose(input: Any) -> Any:
    """Return the conjugate transpose of a matrix: the property H."""
    if input.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.")
    return adjoint(input) if input.ndim else input


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Return a view with dimensions moved to other positions."""
    ndim = require_tensor("movedim", input).ndim
    sources = normalise_axes(source if isinstance(source, (tuple, list)) else (source,), ndim)
    targets = normalise_axes(destination if isinstance(destination, (tuple, list)) else (destination,), ndim)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same number of dims as "
            f"destination ({list(targets)} dims)"
        )
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return make_view(input, movement.permute, (), (tuple(order),))


moveaxis = movedim


def squeeze(input: Any, dim: int | Sequence[int] | None = None) -> Any:
    """Return a view without the dimensions of length 1 (those in `dim`, or all)."""
    shape = require_tensor("squeeze", input)._node.type.shape
    axes = range(len(shape)) if dim is None else normalise_axes(dim if not isinstance(dim, int) else (dim,), len(shape))
    kept = tuple([length for axis, length in enumerate(shape) if length != 1 or axis not in axes])
    name = "SqueezeBackward0" if dim is None else "SqueezeBackward1" if isinstance(dim, int) else "SqueezeBackward2"
    return make_view(input, movement.reshape, (), (kept,), name)


def unsqueeze(input: Any, dim: int) -> Any:
    """Return a view with a dimension of length 1 inserted at `dim`."""
    shape = require_tensor("unsqueeze", input)._node.type.shape
    axis = normalise_axis(dim, len(shape) + 1)
    return make_view(input, movement.reshape, (), ((*shape[:axis], 1, *shape[axis:]),), "UnsqueezeBackward0")


def expand(input: Any, *sizes: Any, implicit: bool = False) -> Any:
    """Return a view in which dimensions of length 1 are longer, without copies; -1 keeps a length."""
    wanted = _sizes("expand", sizes)
    shape = input._node.type.shape
    extra = len(wanted) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand({input.type()}{{{list(shape)}}}, size={list(wanted)}): the number of sizes provided ({len(wanted)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    result = []
    for axis, length in enumerate(wanted):
        current = shape[axis - extra] if axis >= extra else 1
        if length == -1:
            if axis < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {axis}"
                )
            length = current
        elif length < 0:
            raise RuntimeError(f"The expanded size of the tensor ({length}) isn't allowed in a leading, non-existing dimension {axis}")
        if current not in (1, length):
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({current}) at non-singleton dimension "
                f"{axis}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        result.append(length)
    return make_view(input, movement.expand, (), (tuple(result),))


def expand_as(input: Any, other: Any) -> Any:
    """Return a view expanded to the shape of `other`."""
    return expand(input, *other.shape)


def broadcast_to(input: Any, size: Shape) -> Any:
    """Return a view broadcast to this shape."""
    return expand(require_tensor("broadcast_to", input), *size)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return the tensors, broadcast to the shape that they have in common."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes("broadcast_tensors", *[tuple(tensor.shape) for tensor in tensors])
    return tuple([expand(tensor, *shape) for tensor in tensors])


def repeat(input: Any, *sizes: Any) -> Any:
    """Return the tensor repeated this often along each dimension (a copy)."""
    counts = _sizes("repeat", sizes)
    shape = tuple(input.shape)
    extra = len(counts) - len(shape)
    if extra < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * extra + shape
    interleaved = [part for length in shape for part in (1, length)]
    wide = [part for count, length in zip(counts, shape, strict=True) for part in (count, length)]
    expanded = movement.expand(movement.reshape(input, shape=tuple(interleaved)), shape=tuple(wide))
    final = tuple([count * length for count, length in zip(counts, shape, strict=True)])
    return record(movement.reshape, (expanded,), (final,), "RepeatBackward0")


def tile(input: Any, *dims: Any) -> Any:
    """Return the tensor repeated as NumPy's tile does."""
    counts = _sizes("tile", dims)
    return repeat(input, *((1,) * (input.ndim - len(counts)) + counts))


def cat(tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Return the tensors joined along a dimension.

    >>> import tapegrad
    >>> tapegrad.cat([tapegrad.zeros(2), tapegrad.ones(1)])
    tensor([0., 0., 1.])
    """
    parts = _tensors("cat", tensors)
    ndim = max(part.ndim for part in parts)
    result = record(concatenate, parts, (normalise_axis(dim, ndim),), "CatBackward0")
    return result if out is None else write_out("cat", out, result, *parts)


concat = cat


def _tensors(name: str, tensors: Any) -> tuple[Any, ...]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(tensor).__name__}")
    if not tensors:
        raise RuntimeError(f"{name}: expected a non-empty list of Tensors")
    return tuple(tensors)


def stack(tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Return tensors of one shape joined along a new dimension."""
    parts = _tensors("stack", tensors)
    shape = parts[0]._node.type.shape
    for place, part in enumerate(parts):
        if part._node.type.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(part.shape)} at entry {place}"
            )
    axis = normalise_axis(dim, len(shape) + 1)
    longer = (*shape[:axis], 1, *shape[axis:])
    result = record(concatenate, tuple([movement.reshape(part, shape=longer) for part in parts]), (axis,), "StackBackward0")
    return result if out is None else write_out("stack", out, result, *parts)


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """Return a view of `length` elements of a dimension, from `start` on."""
    shape = require_tensor("narrow", input)._node.type.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = normalise_axis(dim, len(shape))
    start = int(start)
    if start < 0:
        start += shape[axis]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= start <= shape[axis] - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[axis]}).")
    return make_view(input, movement.slice_axis, (start,), (axis, length, 1), "SliceBackward0")


def select(input: Any, dim: int, index: int) -> Any:
    """Return a view of one element of a dimension, which is gone."""
    shape = require_tensor("select", input)._node.type.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = normalise_axis(dim, len(shape))
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {axis}"
        )
    return make_view(input, movement.select, (index + shape[axis] if index < 0 else index,), (axis,), "SelectBackward0")


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of all elements of a dimension."""
    shape = require_tensor("unbind", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    if not shape:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    views = [make_view(input, movement.select, (place,), (axis,), "UnbindBackward0") for place in range(shape[axis])]
    return _multiple(views, "Unbind")


def _multiple(views: list[Any], name: str) -> tuple[Any, ...]:
    """Mark the views that one operation returned: they cannot be modified in place."""
    for place, part in enumerate(views):
        part._is_multiple_view = (place, name)
    return tuple(views)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension: of one size, or of these sizes."""
    shape = require_tensor("split", tensor, "tensor")._node.type.shape
    axis = normalise_axis(dim, len(shape))
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if size == 0 and shape[axis]:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {shape[axis]}")
        count = max(-(-shape[axis] // size), 1) if size else 1
        sizes = [size] * (count - 1) + [shape[axis] - size * (count - 1)]
        name = "SplitBackward0"
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != shape[axis]:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {shape[axis]} (input tensor's size at dimension {axis}), "
                f"but got split_sizes={sizes}"
            )
        name = "SplitWithSizesBackward0"
    return _multiple(_pieces(tensor, axis, sizes, name), "Split" if name == "SplitBackward0" else "SplitWithSizes")


def _pieces(tensor: Any, axis: int, sizes: Sequence[int], name: str) -> list[Any]:
    views = []
    start = 0
    for size in sizes:
        views.append(make_view(tensor, movement.slice_axis, (start,), (axis, size, 1), name))
        start += size
    return views


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Return at most `chunks` views of consecutive parts of a dimension, of equal size but the last."""
    shape = require_tensor("chunk", input)._node.type.shape
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = normalise_axis(dim, len(shape))
    size = -(-shape[axis] // chunks)
    if size == 0:
        return split(input, [0] * chunks, dim)
    return split(input, size, dim)


def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension: so many, as equal as can be, or cut at these places."""
    shape = require_tensor("tensor_split", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    length = shape[axis]
    if isinstance(indices_or_sections, Tensor):
        given = indices_or_sections.tolist()
        indices_or_sections = given if isinstance(given, int) else tuple(given)
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        cuts = [place * (length // sections) + min(place, length % sections) for place in range(1, sections)]
    else:
        cuts = [min(max(cut + length if cut < 0 else cut, 0), length) for cut in indices_or_sections]
    bounds = [0, *cuts, length]
    views = []
    for start, end in zip(bounds[:-1], bounds[1:], strict=True):
        views.append(make_view(input, movement.slice_axis, (start,), (axis, max(end - start, 0), 1), "SliceBackward0"))
    return tuple(views)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a view of the diagonal of two dimensions, as the last dimension."""
    ndim = require_tensor("diagonal", input).ndim
    first, second = normalise_axis(dim1, ndim), normalise_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return make_view(input, diagonals.diagonal, (), (offset, first, second))


def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Return a view of all windows of a size along a dimension, as a last dimension."""
    ndim = input.ndim
    return make_view(input, sliding.unfold, (), (normalise_axis(dimension, ndim), size, step))


def flip(input: Any, *dims: Any) -> Any:
    """Return a copy with these dimensions reversed."""
    axes = _sizes("flip", dims)
    return movement.flip(require_tensor("flip", input), axes=normalise_axes(axes, input.ndim) if axes else ())


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Return a copy whose elements are shifted along dimensions, those past the end coming first."""
    if dims is None or dims == ():
        flat = movement.reshape(input, shape=(input.numel(),))
        shift = shifts if isinstance(shifts, int) else shifts[0]
        return movement.reshape(movement.roll(flat, shift, axis=0), shape=tuple(input.shape))
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims, strict=True):
        input = record(movement.roll, (input, shift), (normalise_axis(dim, input.ndim),))
    return input


def contiguous(input: Any, memory_format: Any = None) -> Any:
    """Return the tensor if it is contiguous, else a contiguous copy."""
    return input if input._current_type().is_contiguous else record(movement.contiguous, (input,), (), "CloneBackward0")


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Return a copy, through which gradients flow."""
    from ..primitives.copying import copy

    return copy(require_tensor("clone", input))


def tril(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """Return the lower triangle of matrices, zero elsewhere."""
    result = diagonals.tril(_matrices("tril", input), k=diagonal)
    return result if out is None else write_out("tril", out, result, input)


def triu(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """Return the upper triangle of matrices, zero elsewhere."""
    result = diagonals.triu(_matrices("triu", input), k=diagonal)
    return result if out is None else write_out("triu", out, result, input)


def _matrices(name: str, input: Any) -> Any:
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return input


__all__ = [
    "adjoint",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "chunk",
    "clone",
    "concat",
    "diagonal",
    "flatten",
    "flip",
    "moveaxis",
    "movedim",
    "narrow",
    "permute",
    "ravel",
    "reshape",
    "roll",
    "select",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "swapdims",
    "t",
    "tensor_split",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unflatten",
    "unsqueeze",
]

_FUNCTIONS_ONLY = ("broadcast_tensors", "cat", "concat", "stack")
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in _FUNCTIONS_ONLY}
METHODS.update(
    contiguous=contiguous,
    expand=expand,
    expand_as=expand_as,
    repeat=repeat,
    reshape_as=reshape_as,
    unfold=unfold,
    view=view,
    view_as=view_as,
    T=property(numpy_T),
    mT=property(matrix_transpose),
    mH=property(adjoint),
    H=property(conjugate_transpose),
)
