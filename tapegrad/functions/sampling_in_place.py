"""In-place random methods of tensors: each fills the tensor with numbers drawn from a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from .. import random as draws
from ..layout import memory_order
from ..primitives.movement import expand
from ..tape.aliases import in_place
from ..tape.checks import check_writable
from ..tape.record import read
from ..tape.types import Shape, Type
from ..tensor import Tensor
from .options import check_generator, concrete, float_from, integer_from
from .sampling import Draw, in_memory_order, with_zero_gradient


def _fill(tensor: Tensor, name: str, generator: Any, draw: Draw) -> Tensor:
    """Fill a tensor in place with what `draw` returns; the gradient of what was in it is zero."""
    type_ = _writable_type(tensor, name, generator)
    return _put(tensor, name, in_memory_order(type_.shape, type_.strides, type_.dtype, draw))


def _writable_type(tensor: Tensor, name: str, generator: Any) -> Type:
    check_generator(f"{name}_", generator)
    check_writable(tensor)
    return tensor._current_type()


def _put(tensor: Tensor, name: str, array: np.ndarray[Any, Any]) -> Tensor:
    type_ = tensor._node.type
    drawn = concrete(array, type_.dtype, strides=type_.strides)
    grad_name = "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    filled: Tensor = in_place(tensor, with_zero_gradient(drawn, (tensor,), grad_name))
    return filled


def uniform_(self: Tensor, from_: Any = 0.0, to: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers uniform in [from, to).

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.empty(2).uniform_(0, 10)
    tensor([4.9626, 7.6822])
    """
    low, high = float_from("uniform_", "from", 1, from_), float_from("uniform_", "to", 2, to)
    return _fill(self, "uniform", generator, lambda shape, dtype, _: draws.uniform(shape, dtype, low, high, generator))


def normal_(self: Tensor, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers.

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> tapegrad.empty(2).normal_()
    tensor([ 1.5410, -0.2934])
    """
    center, spread = float_from("normal_", "mean", 1, mean), float_from("normal_", "std", 2, std)

    def draw(shape: Shape, dtype: dtypes.dtype, contiguous: bool) -> np.ndarray[Any, Any]:
        return draws.normal(shape, dtype, center, spread, generator, contiguous=contiguous)

    return _fill(self, "normal", generator, draw)


def random_(self: Tensor, *bounds: Any, to: Any = None, generator: Any = None) -> Tensor:
    """Fill with integers: ``random_()`` from all that are not negative, ``random_(to)``, ``random_(from, to)``.

    >>> import tapegrad
    >>> tapegrad.empty(2, dtype=tapegrad.int64).random_(5, 6)
    tensor([5, 5])
    """
    given = [*bounds, *([] if to is None else [to])]
    if len(given) > 2:
        raise TypeError(f"random_() takes up to two bounds, not {len(given)}")
    last = None if not given or given[-1] is None else integer_from("random_", "to", len(given), given[-1])
    first = integer_from("random_", "from", 1, given[0]) if len(given) == 2 else None
    return _fill(self, "random", generator, lambda shape, dtype, _: draws.random_(shape, dtype, first, last, generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability `p` (a number, or a tensor that expands to this one's size), else with zeros.

    >>> import tapegrad
    >>> tapegrad.empty(2).bernoulli_(1.0)
    tensor([1., 1.])
    """
    if not isinstance(p, Tensor):
        chance = float_from("bernoulli_", "p", 1, p)
        return _fill(self, "bernoulli", generator, lambda shape, dtype, _: draws.bernoulli(shape, dtype, chance, generator))
    type_ = _writable_type(self, "bernoulli", generator)
    chances = read(expand(p, shape=type_.shape))
    order = memory_order(type_.shape, type_.strides)
    ordered = chances.transpose(order)
    array = draws.bernoulli(ordered.shape, type_.dtype, ordered, generator)
    return _put(self, "bernoulli", array.transpose(np.argsort(order)))


def exponential_(self: Tensor, lambd: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of the rate `lambd`."""
    rate = float_from("exponential_", "lambd", 1, lambd)
    return _fill(self, "exponential", generator, lambda shape, dtype, _: draws.exponential(shape, dtype, rate, generator))


def geometric_(self: Tensor, p: Any, *, generator: Any = None) -> Tensor:
    """Fill with how many trials it takes to the first success of probability `p`."""
    chance = float_from("geometric_", "p", 1, p)
    return _fill(self, "geometric", generator, lambda shape, dtype, _: draws.geometric(shape, dtype, chance, generator))


def cauchy_(self: Tensor, median: Any = 0.0, sigma: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers."""
    center, width = float_from("cauchy_", "median", 1, median), float_from("cauchy_", "sigma", 2, sigma)
    return _fill(self, "cauchy", generator, lambda shape, dtype, _: draws.cauchy(shape, dtype, center, width, generator))


def log_normal_(self: Tensor, mean: Any = 1.0, std: Any = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are normal with this mean and standard deviation."""
    center, spread = float_from("log_normal_", "mean", 1, mean), float_from("log_normal_", "std", 2, std)
    return _fill(self, "log_normal", generator, lambda shape, dtype, _: draws.log_normal(shape, dtype, center, spread, generator))


METHODS = {
    "bernoulli_": bernoulli_,
    "cauchy_": cauchy_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}
