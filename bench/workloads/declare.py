"""What a workload is, and how one is made of a loss function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# A call does the work and returns what is compared, as the library's own tensors: the loss first.
Work = Callable[[], Sequence[Any]]
# What is done to the function that does the work: nothing, or tapegrad.compile.
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Work to be compared between libraries.

    ``make(torch, wrap, **sizes)`` returns the work in a torch-shaped library, ``make_jax(**sizes)`` in jax, and
    ``make_numpy(**sizes)`` the computation of the value alone in NumPy. ``sizes`` are those measured, ``small`` those for tests.
    Results may differ by ``tolerance``, relative to the largest value. ``required`` has, by peer, how many times as fast tapegrad
    has to be; ``required_compiled`` the same for tapegrad.compile. A call does ``steps`` steps.
    """

    name: str
    title: str
    make: Callable[..., Work]
    make_jax: Callable[..., Work] | None = None
    make_numpy: Callable[..., Work] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    small: Mapping[str, int] = field(default_factory=dict)
    tolerance: float
    required: Mapping[str, float] = field(default_factory=dict)
    required_compiled: Mapping[str, float] = field(default_factory=dict)
    steps: int = 1


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function: it runs as ordinary code."""
    return function


def gradient_of(inputs: Callable[..., list[np.ndarray]], loss: Callable[..., Any], differentiated: int) -> Callable[..., Work]:
    """Return a workload's ``make``: ``loss(torch, *inputs)`` and its gradients with respect to the first inputs."""

    def make(torch: Any, wrap: Wrap = unchanged, **sizes: int) -> Work:
        tensors = [torch.tensor(array) for array in inputs(**sizes)]
        for tensor in tensors[:differentiated]:
            tensor.requires_grad_()

        def value_and_gradients(*tensors: Any) -> list[Any]:
            for tensor in tensors[:differentiated]:
                tensor.grad = None
            value = loss(torch, *tensors)
            value.backward()
            return [value, *[tensor.grad for tensor in tensors[:differentiated]]]

        wrapped = wrap(value_and_gradients)
        return lambda: wrapped(*tensors)

    return make


def jax_gradient_of(inputs: Callable[..., list[np.ndarray]], loss: Callable[..., Any], differentiated: int) -> Callable[..., Work]:
    """Return a workload's ``make_jax``: ``jit(value_and_grad(loss))``."""

    def make(**sizes: int) -> Work:
        import jax

        arrays = [jax.numpy.asarray(array) for array in inputs(**sizes)]
        value_and_gradients = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(differentiated))))

        def work() -> list[Any]:
            value, gradients = value_and_gradients(*arrays)
            return [value, *gradients]

        return work

    return make


def numpy_value_of(inputs: Callable[..., list[np.ndarray]], value: Callable[..., Any]) -> Callable[..., Work]:
    """Return a workload's ``make_numpy``: the value alone."""

    def make(**sizes: int) -> Work:
        arrays = inputs(**sizes)
        return lambda: [value(*arrays)]

    return make
