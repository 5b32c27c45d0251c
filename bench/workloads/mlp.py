"""Multi-layer perceptrons: the training steps of a small one, with one batch size and with another each step; a large one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .declare import Work, Workload, Wrap, gradient_of, jax_gradient_of, unchanged
from .layers import dense, jax_cross_entropy

FEATURES, HIDDEN, CLASSES = 64, 64, 10
RATE = 0.01
_STEPS = 10  # a call: the loss is read every tenth step
VARYING_SIZES = [17 + step * 13 % 32 for step in range(32)]  # 17 to 48, each once

Batch = tuple[Any, Any]


def parameters() -> list[np.ndarray]:
    """Return the small network's parameters."""
    generator = np.random.default_rng(0)
    return [*dense(generator, HIDDEN, FEATURES), *dense(generator, CLASSES, HIDDEN)]


def batches(sizes: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return random inputs and classes, in batches of these sizes."""
    generator = np.random.default_rng(1)
    return [(generator.normal(size=(size, FEATURES)).astype(np.float32), generator.integers(0, CLASSES, size)) for size in sizes]


def training(torch: Any, wrap: Wrap = unchanged) -> tuple[list[Any], Callable[[Any, Any], Any]]:
    """Return the parameters, and the function of a batch that does a step of gradient descent and returns the loss."""
    functional = torch.nn.functional
    tensors = [torch.tensor(array, requires_grad=True) for array in parameters()]
    first, first_bias, second, second_bias = tensors

    def step(inputs: Any, classes: Any) -> Any:
        hidden = functional.linear(inputs, first, first_bias).relu()
        loss = functional.cross_entropy(functional.linear(hidden, second, second_bias), classes)
        for tensor in tensors:
            tensor.grad = None
        loss.backward()
        with torch.no_grad():
            for tensor in tensors:
                tensor.sub_(tensor.grad, alpha=RATE)
        return loss

    return tensors, wrap(step)


def jax_training() -> tuple[list[Any], Callable[[list[Any], Any, Any], tuple[list[Any], Any]]]:
    """Return the parameters, and the function of parameters and a batch that returns the next parameters and the loss."""
    import jax

    def loss_of(weights: list[Any], inputs: Any, classes: Any) -> Any:
        first, first_bias, second, second_bias = weights
        hidden = jax.nn.relu(inputs @ first.T + first_bias)
        return jax_cross_entropy(hidden @ second.T + second_bias, classes)

    @jax.jit
    def step(weights: list[Any], inputs: Any, classes: Any) -> tuple[list[Any], Any]:
        loss, gradients = jax.value_and_grad(loss_of)(weights, inputs, classes)
        return [weight - RATE * gradient for weight, gradient in zip(weights, gradients, strict=True)], loss

    return [jax.numpy.asarray(array) for array in parameters()], step


def _make_training(sizes: Callable[[int], Sequence[int]]) -> tuple[Callable[..., Work], Callable[..., Work]]:
    """Return ``make`` and ``make_jax`` of training steps with batches of these sizes."""

    def make(torch: Any, wrap: Wrap = unchanged, *, batch: int) -> Work:
        tensors, step = training(torch, wrap)
        given = [(torch.tensor(inputs), torch.tensor(classes)) for inputs, classes in batches(sizes(batch))]

        def work() -> list[Any]:
            for inputs, classes in given:
                loss = step(inputs, classes)
            return [loss, *tensors]

        return work

    def make_jax(*, batch: int) -> Work:
        import jax

        weights, step = jax_training()
        given = [(jax.numpy.asarray(inputs), jax.numpy.asarray(classes)) for inputs, classes in batches(sizes(batch))]

        def work() -> list[Any]:
            nonlocal weights
            for inputs, classes in given:
                weights, loss = step(weights, inputs, classes)
            return [loss, *weights]

        return work

    return make, make_jax


def _large_inputs(batch: int, features: int, hidden: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    layers = [*dense(generator, hidden, features), *dense(generator, hidden, hidden), *dense(generator, CLASSES, hidden)]
    return [*layers, generator.normal(size=(batch, features)).astype(np.float32), generator.integers(0, CLASSES, batch)]


def _large_loss(torch: Any, *tensors: Any) -> Any:
    first, first_bias, second, second_bias, third, third_bias, inputs, classes = tensors
    functional = torch.nn.functional
    hidden = functional.relu(functional.linear(inputs, first, first_bias))
    hidden = functional.relu(functional.linear(hidden, second, second_bias))
    return functional.cross_entropy(functional.linear(hidden, third, third_bias), classes)


def _large_loss_jax(*arrays: Any) -> Any:
    import jax

    first, first_bias, second, second_bias, third, third_bias, inputs, classes = arrays
    hidden = jax.nn.relu(inputs @ first.T + first_bias)
    hidden = jax.nn.relu(hidden @ second.T + second_bias)
    return jax_cross_entropy(hidden @ third.T + third_bias, classes)


_make_steady, _make_steady_jax = _make_training(lambda batch: [batch] * _STEPS)
_make_varying, _ = _make_training(lambda batch: VARYING_SIZES)  # not in jax, which compiles for half a minute: bench/cold.py has it

WORKLOADS = [
    Workload(
        name="mlp",
        title="MLP 64-64-10, batch 32, training step",
        make=_make_steady,
        make_jax=_make_steady_jax,
        sizes={"batch": 32},
        small={"batch": 5},
        tolerance=1e-4,
        required={"torch": 8, "jax": 1.5},
        required_compiled={"jax": 3},
        steps=_STEPS,
    ),
    Workload(
        name="varying",
        title="the same, another batch size each step",
        make=_make_varying,
        sizes={"batch": 32},
        small={"batch": 32},
        tolerance=1e-4,
        required={"torch": 3},
        steps=len(VARYING_SIZES),
    ),
    Workload(
        name="large_mlp",
        title="MLP 784-1024-1024-10, batch 256, gradients",
        make=gradient_of(_large_inputs, _large_loss, 6),
        make_jax=jax_gradient_of(_large_inputs, _large_loss_jax, 6),
        sizes={"batch": 256, "features": 784, "hidden": 1024},
        small={"batch": 8, "features": 12, "hidden": 16},
        tolerance=1e-3,
        required={"torch": 1.35, "jax": 1},
    ),
]
