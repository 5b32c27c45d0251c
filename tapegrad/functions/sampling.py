"""Random tensors, with PyTorch's streams: a seed gives the numbers that PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from .. import dtypes
from .. import random as draws
from ..layout import memory_order
from ..primitives.selection import where
from ..tape.record import read
from ..tape.segment import state
from ..tape.types import Shape, are_contiguous, contiguous_strides
from ..tensor import Tensor
from .declare import write_out
from .options import (
    Creation,
    Options,
    Placement,
    argument_error,
    check_generator,
    check_tensor,
    concrete,
    float_from,
    integer_from,
    like_strides,
    size_from,
)

__all__ = [
    "bernoulli",
    "get_rng_state",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "set_rng_state",
]

Array = np.ndarray[Any, Any]
# The bool says whether the numbers go to contiguous memory: elsewhere normal ones come from another stream.
Draw = Callable[[Shape, dtypes.dtype, bool], Array]


# Of a size


def rand(*sizes: Any, size: Any = None, generator: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return numbers uniform in [0, 1).

    Args:
        *sizes: the size, as ``rand(2, 3)`` or ``rand((2, 3))``.
        size: the size by name.
        generator: what to draw from; the default generator if None.
        **options: see `Creation`.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.rand(2)
    tensor([0.4963, 0.7682])
    """
    wanted = Options("rand", options)
    return _of_size(wanted, size_from("rand", sizes, size), _uniform(generator, "rand"))


def randn(*sizes: Any, size: Any = None, generator: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return standard normal numbers.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    wanted = Options("randn", options)
    return _of_size(wanted, size_from("randn", sizes, size), _normal(generator, "randn"))


def randint(
    *bounds: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, **options: Unpack[Creation]
) -> Tensor:
    """Return integers from `low` (default: 0) up to `high`, without it: ``randint(high, size)``, ``randint(low, high, size)``.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.randint(10, (3,))
    tensor([4, 9, 3])
    """
    wanted = Options("randint", options)
    arguments = list(bounds)
    if size is None:
        if len(arguments) < 2 and not (arguments and high is not None):
            raise TypeError('randint() missing 1 required positional arguments: "size"')
        size = arguments.pop()
    first, last = _bounds("randint", arguments, low, high, 1)
    if not isinstance(size, (tuple, list)):
        raise argument_error("randint", "size", len(bounds), "tuple of ints", size)
    shape = size_from("randint", (), size)
    return _of_size(wanted, shape, _integers(first, last, generator, "randint"), dtypes.int64)


def randperm(n: Any, *, generator: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return the integers from 0 to n - 1 in random order.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    wanted = Options("randperm", options)
    check_generator("randperm", generator)
    dtype = wanted.dtype_or(dtypes.int64)
    return wanted.finish(draws.randperm(integer_from("randperm", "n", 1, n), dtype, generator), dtype)


def _of_size(wanted: Options, shape: Shape, draw: Draw, default: dtypes.dtype | None = None) -> Tensor:
    dtype, strides = wanted.dtype_or(default), _strides_to_fill(wanted.out, shape)
    return wanted.finish(in_memory_order(shape, strides, dtype, draw), dtype, strides)


def _strides_to_fill(out: Tensor | None, shape: Shape) -> Shape:
    """Return the strides of what will hold drawn numbers: those of `out`, unless it takes on another shape."""
    return out._current_type().strides if out is not None and out.shape == shape else contiguous_strides(shape)


def _uniform(generator: Any, name: str) -> Draw:
    check_generator(name, generator)
    return lambda shape, dtype, _: draws.uniform(shape, dtype, generator=generator)


def _normal(generator: Any, name: str) -> Draw:
    check_generator(name, generator)
    return lambda shape, dtype, contiguous: draws.normal(shape, dtype, generator=generator, contiguous=contiguous)


def _integers(low: int, high: int, generator: Any, name: str) -> Draw:
    check_generator(name, generator)
    return lambda shape, dtype, _: draws.randint(low, high, shape, dtype, generator)


def _bounds(name: str, given: list[Any], low: Any, high: Any, position: int) -> tuple[int, int]:
    """Return the bounds of integers, given as (high), (low, high) or by name."""
    if high is not None:
        given = [*given, high] if low is None else [*given, low, high]
        position = 1
    if len(given) == 1:
        given = [0, *given]
        position -= 1
    if len(given) != 2:
        raise TypeError(f"{name}() takes one or two bounds, not {len(given)}")
    first = integer_from(name, "low", position, given[0])
    last = integer_from(name, "high", position + 1, given[1])
    for bound in (first, last):
        if not -(2**63) <= bound < 2**63:
            raise ValueError("Overflow when unpacking long long")
    return first, last


# Like another tensor


def rand_like(input: Tensor, *, generator: Any = None, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return numbers uniform in [0, 1) in the shape, dtype and layout of another tensor."""
    return _like("rand_like", input, _uniform(generator, "rand_like"), memory_format, options)


def randn_like(input: Tensor, *, generator: Any = None, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return standard normal numbers in the shape, dtype and layout of another tensor."""
    return _like("randn_like", input, _normal(generator, "randn_like"), memory_format, options)


def randint_like(
    input: Tensor,
    *bounds: Any,
    low: Any = None,
    high: Any = None,
    generator: Any = None,
    memory_format: Any = None,
    **options: Unpack[Placement],
) -> Tensor:
    """Return integers from `low` (default: 0) up to `high`, without it, in the shape, dtype and layout of another tensor."""
    first, last = _bounds("randint_like", list(bounds), low, high, 2)
    return _like("randint_like", input, _integers(first, last, generator, "randint_like"), memory_format, options)


def _like(name: str, like: Tensor, draw: Draw, memory_format: Any, options: Any) -> Tensor:
    wanted = Options(name, options, takes_out=False)
    check_tensor(name, "input", 1, like)
    type_ = like._node.type
    strides = like_strides(name, type_, memory_format)
    dtype = wanted.dtype_or(type_.dtype)
    return wanted.finish(in_memory_order(type_.shape, strides, dtype, draw), dtype, strides)


def in_memory_order(shape: Shape, strides: Shape, dtype: dtypes.dtype, draw: Draw) -> Array:
    """Return an array of drawn numbers: the stream goes along the memory, so that strides decide which element gets which."""
    if are_contiguous(shape, strides):
        return draw(shape, dtype, True)
    order = memory_order(shape, strides)
    return draw(tuple([shape[axis] for axis in order]), dtype, False).transpose(np.argsort(order))


# By parameters that are tensors


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Tensor | None = None, **options: Unpack[Placement]
) -> Tensor:
    """Return normal numbers: of each mean and standard deviation where these are tensors, else of the size.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.normal(tapegrad.tensor([0.0, 10.0]), 1.0)
    tensor([1.5410, 9.7066])
    """
    check_generator("normal", generator)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise argument_error("normal", "mean", 1, "Tensor", mean)
        wanted = Options("normal", {**options, "out": out})
        center, spread = float_from("normal", "mean", 1, mean), float_from("normal", "std", 2, std)
        return _of_size(
            wanted,
            size_from("normal", (), size),
            lambda shape, dtype, contiguous: draws.normal(shape, dtype, center, spread, generator, contiguous=contiguous),
        )
    if options or size is not None:
        raise TypeError("normal() takes a size and a dtype only where neither the mean nor the standard deviation is a tensor")
    drawn = _normal_around(mean, std, generator, out)
    number = 3 if isinstance(mean, Tensor) and isinstance(std, Tensor) else 1 if isinstance(mean, Tensor) else 2
    result = with_zero_gradient(drawn, (mean, std), f"NormalBackward{number}")
    return result if out is None else write_out("normal", out, result)


def _normal_around(mean: Any, std: Any, generator: Any, out: Tensor | None) -> Tensor:
    """Draw standard normal numbers, and scale and shift them in the dtype of the first tensor, step by step as PyTorch does."""
    dtype = (mean if isinstance(mean, Tensor) else std).dtype
    array_type = dtypes.array_type(dtype)
    if not isinstance(std, Tensor):
        spread = float_from("normal", "std", 2, std)
        center = read(mean)
        numbers = _normals(center.shape, dtype, spread, generator, out)
    else:
        if std.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        scale = read(std)
        if scale.size and not scale.min() >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        center = read(mean) if isinstance(mean, Tensor) else np.asarray(float_from("normal", "mean", 1, mean), array_type)
        numbers = _normals(_broadcast_shape(center, scale), dtype, 1.0, generator, out)
        numbers = (numbers * scale).astype(array_type, copy=False)
    return concrete((numbers + center).astype(array_type, copy=False), dtype)


def _normals(shape: Shape, dtype: dtypes.dtype, std: float, generator: Any, out: Tensor | None) -> Array:
    def draw(shape: Shape, dtype: dtypes.dtype, contiguous: bool) -> Array:
        return draws.normal(shape, dtype, 0.0, std, generator, contiguous=contiguous)

    return in_memory_order(shape, _strides_to_fill(out, shape), dtype, draw)


def _broadcast_shape(first: Array, second: Array) -> Shape:
    from ..primitives.type_rules import broadcast_shapes

    return broadcast_shapes("normal", first.shape, second.shape)


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Return ones with the probabilities of a tensor's elements (or all with probability `p`), else zeros.

    >>> import tapegrad
    >>> tapegrad.bernoulli(tapegrad.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    check_tensor("bernoulli", "input", 1, input)
    check_generator("bernoulli", generator)
    type_ = input._node.type
    chances = read(input) if p is None else float_from("bernoulli", "p", 2, p)
    drawn = concrete(draws.bernoulli(type_.shape, type_.dtype, chances, generator), type_.dtype)
    result = with_zero_gradient(drawn, (input,), "BernoulliBackward0")
    return result if out is None else write_out("bernoulli", out, result)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Return a Poisson number for each rate.

    >>> import tapegrad
    >>> tapegrad.poisson(tapegrad.tensor([0.0]))
    tensor([0.])
    """
    check_tensor("poisson", "input", 1, input)
    check_generator("poisson", generator)
    drawn = concrete(draws.poisson(read(input), generator), input.dtype)
    return with_zero_gradient(drawn, (input,), "PoissonBackward0")


def multinomial(
    input: Tensor, num_samples: Any, replacement: bool = False, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """Return indices drawn by their weights: from a vector of weights, or from each row of a matrix.

    Args:
        input: the weights, not negative; they need not sum to one.
        num_samples: how many indices to draw.
        replacement: whether an index may be drawn again.
        generator: what to draw from; the default generator if None.
        out: where to write the result.

    Raises:
        RuntimeError: weights are negative, not finite or all zero, or fewer than the samples without replacement.

    >>> import tapegrad
    >>> tapegrad.multinomial(tapegrad.tensor([0.0, 1.0]), 2, replacement=True)
    tensor([1, 1])
    """
    check_tensor("multinomial", "input", 1, input)
    check_generator("multinomial", generator)
    samples = integer_from("multinomial", "num_samples", 2, num_samples)
    weights = read(input)
    if input.ndim == 2:
        order = memory_order(input.shape, input.stride())
        weights = np.ascontiguousarray(weights.transpose(order)).transpose(order)
    result = concrete(draws.multinomial(weights, samples, replacement, generator), dtypes.int64)
    return result if out is None else write_out("multinomial", out, result)


def with_zero_gradient(drawn: Tensor, sources: tuple[Any, ...], name: str) -> Tensor:
    """Return drawn numbers with a gradient of zero towards what they depend on, as PyTorch has it."""
    if state.grad_enabled:
        for source in sources:
            if isinstance(source, Tensor) and source.requires_grad:
                never = concrete(np.zeros((), np.bool_), dtypes.bool)
                drawn = where(never, source, drawn, name=name)
    return drawn


# The default generator's state, as a tensor


def get_rng_state() -> Tensor:
    """Return the state of the default generator, a tensor of bytes.

    >>> import tapegrad
    >>> state = tapegrad.get_rng_state()
    >>> drawn = tapegrad.rand(1)
    >>> tapegrad.set_rng_state(state)
    >>> bool(tapegrad.rand(1) == drawn)
    True
    """
    return concrete(draws.get_rng_state(), dtypes.uint8)


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default generator from a state that `get_rng_state` returned."""
    draws.set_rng_state(read(new_state) if isinstance(new_state, Tensor) else new_state)


METHODS = {"bernoulli": bernoulli, "multinomial": multinomial}
