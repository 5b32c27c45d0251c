"""Different elements, counts and places: the shapes of the results depend on the values, which are read at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives import uniques
from ..primitives.type_rules import normalise_axis
from ..return_types import return_type
from ..tape.record import read
from ..tensor import Tensor
from .arguments import checked
from .declare import accepts_out, require_tensor

_histogram_type = return_type("histogram", ("hist", "bin_edges"))
_histogramdd_type = return_type("histogramdd", ("hist", "bin_edges"))


def _tensor(array: Any) -> Tensor:
    return Tensor._from_array(np.array(array))


# Different elements


@checked
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the different elements, sorted; on request also where each element is among them, and how often each occurs.

    >>> import tapegrad
    >>> tapegrad.unique(tapegrad.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _uniques("unique", uniques.unique, input, return_inverse, return_counts, dim)


@checked
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements that differ from the one before them; on request also the inverse and the lengths of the runs.

    >>> import tapegrad
    >>> tapegrad.unique_consecutive(tapegrad.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _uniques("unique_consecutive", uniques.unique_consecutive, input, return_inverse, return_counts, dim)


def _uniques(name: str, find: Any, input: Any, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    require_tensor(name, input)
    axis = None if dim is None else normalise_axis(dim, input.ndim)
    values, inverse, counts = find(read(input), axis)
    results = [values]
    if return_inverse:
        results.append(inverse)
    if return_counts:
        results.append(counts)
    tensors = tuple([_tensor(result) for result in results])
    return tensors[0] if len(tensors) == 1 else tensors


# Places of what is not zero


def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not zero, a row each, or as a tuple of a vector for each dimension.

    >>> import tapegrad
    >>> tapegrad.nonzero(tapegrad.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    if as_tuple:
        array = read(require_tensor("nonzero", input))
        return tuple([_tensor(places) for places in np.nonzero(np.atleast_1d(array))])
    return _nonzero(input) if out is None else _nonzero(input, out=out)


@accepts_out
def _nonzero(input: Any) -> Any:
    array = read(require_tensor("nonzero", input))
    if array.ndim == 0:
        return _tensor(uniques.nonzero(array))
    return Tensor._from_array(np.array(np.nonzero(array)).T)  # a column for each dimension, one after the other in memory


def argwhere(input: Any) -> Any:
    """Return the indices of the elements that are not zero, a row each."""
    return nonzero(require_tensor("argwhere", input))


@accepts_out
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:
    """Return the first `size` rows of `nonzero`, or all and rows of `fill_value` after them."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = uniques.nonzero(read(require_tensor("nonzero_static", input)))[:size]
    result = np.full((size, found.shape[1]), fill_value, np.int64)
    result[: len(found)] = found
    return _tensor(result)


def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the coordinates, in a tensor of this shape, of indices into it when flattened.

    >>> import tapegrad
    >>> tapegrad.unravel_index(tapegrad.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    require_tensor("unravel_index", indices, "indices")
    if indices.dtype.category != dtypes.INTEGER:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {lengths}")
    coordinates = []
    indices = indices.to(dtypes.int64)
    for length in reversed(lengths):
        coordinates.append(indices % length)
        indices = indices // length
    return tuple(coordinates[::-1])


# Counts


@checked
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Return how often each integer from 0 on occurs in a vector, or the sums of the weights that go with each.

    >>> import tapegrad
    >>> tapegrad.bincount(tapegrad.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    require_tensor("bincount", input)
    return _tensor(uniques.bincount(read(input), None if weights is None else read(weights), minlength))


@accepts_out
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Return how many elements are in each of equal bins between `min` and `max` (both 0: of the whole range).

    >>> import tapegrad
    >>> tapegrad.histc(tapegrad.tensor([1.0, 2.0, 2.5]), bins=2, min=0, max=4)
    tensor([1., 2.])
    """
    return _tensor(uniques.histc(read(require_tensor("histc", input)), bins, min, max))


@accepts_out
def histogram(
    input: Any, bins: Any, *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> Any:
    """Return the counts (or weights, or densities) in bins, given by their number or edges, and the edges."""
    result, edges = _histogram("histogram", _values("histogram", input).reshape(-1, 1), [bins], range, weight, density)
    return _histogram_type((result, edges[0]))


def histogramdd(
    input: Any, bins: Any, *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> Any:
    """Return the counts of points, the rows of a matrix, in boxes given by bins along each coordinate, and all edges."""
    points = _values("histogramdd", input)
    if points.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {points.ndim}")
    points = points.reshape(-1, points.shape[-1])
    wanted = [bins] * points.shape[1] if isinstance(bins, int) else list(bins)
    if len(wanted) != points.shape[1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    result, edges = _histogram("histogramdd", points, wanted, range, weight, density)
    return _histogramdd_type((result, edges))


def _values(name: str, input: Any) -> Any:
    if require_tensor(name, input).dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{input.dtype.title}'")
    return read(input)


def _histogram(
    name: str, points: Any, bins: list[Any], range: Sequence[float] | None, weight: Any, density: bool
) -> tuple[Any, tuple[Any, ...]]:
    edges = [_edges(name, points[:, place], wanted, range, place) for place, wanted in enumerate(bins)]
    weights = None if weight is None else read(weight).reshape(-1)
    hist, _ = np.histogramdd(points, [edge.astype(np.float64) for edge in edges], weights=weights)
    if density:
        volumes: Any = 1.0
        for place, edge in enumerate(edges):
            shape = [1] * len(edges)
            shape[place] = -1
            volumes = volumes * np.diff(edge.astype(np.float64)).reshape(shape)
        hist = hist / volumes / hist.sum()
    return _tensor(hist.astype(points.dtype)), tuple([_tensor(edge) for edge in edges])


def _edges(name: str, values: Any, bins: Any, range: Sequence[float] | None, place: int) -> Any:
    """Return the edges of bins along one coordinate."""
    if isinstance(bins, Tensor):
        return read(bins)
    if bins <= 0:
        raise RuntimeError(f"torch.{name}(): bins must be > 0, but got {bins} for dimension {place}")
    if range is not None:
        low, high = range[2 * place], range[2 * place + 1]
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.{name}(): dimension {place}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.{name}(): min should not exceed max, but got min {low:g} max {high:g} for dimension {place}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1).astype(values.dtype)


__all__ = [
    "argwhere", "bincount", "histc", "histogram", "histogramdd", "nonzero", "nonzero_static", "unique",
    "unique_consecutive", "unravel_index",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in ("histogramdd", "unravel_index")}
