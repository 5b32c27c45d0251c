"""LeNet: two convolutions with max-pooling, two linear layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of
from .layers import dense, jax_cross_entropy


def _filters(generator: np.random.Generator, outputs: int, inputs: int) -> list[np.ndarray]:
    weight, bias = dense(generator, outputs, inputs * 25)
    return [weight.reshape(outputs, inputs, 5, 5), bias]


def _inputs(batch: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    layers = [*_filters(generator, 8, 1), *_filters(generator, 16, 8), *dense(generator, 128, 256), *dense(generator, 10, 128)]
    return [*layers, generator.normal(size=(batch, 1, 28, 28)).astype(np.float32), generator.integers(0, 10, batch)]


def _loss(torch: Any, *tensors: Any) -> Any:
    filters, filters_bias, more, more_bias, first, first_bias, second, second_bias, images, classes = tensors
    functional = torch.nn.functional
    maps = functional.max_pool2d(functional.relu(functional.conv2d(images, filters, filters_bias)), 2)
    maps = functional.max_pool2d(functional.relu(functional.conv2d(maps, more, more_bias)), 2)
    hidden = functional.relu(functional.linear(maps.flatten(1), first, first_bias))
    return functional.cross_entropy(functional.linear(hidden, second, second_bias), classes)


def _loss_jax(*arrays: Any) -> Any:
    import jax

    filters, filters_bias, more, more_bias, first, first_bias, second, second_bias, images, classes = arrays

    def block(images: Any, filters: Any, bias: Any) -> Any:
        maps = jax.lax.conv_general_dilated(images, filters, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        maps = jax.nn.relu(maps + bias[:, None, None])
        return jax.lax.reduce_window(maps, -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    maps = block(block(images, filters, filters_bias), more, more_bias)
    hidden = jax.nn.relu(maps.reshape(len(maps), -1) @ first.T + first_bias)
    return jax_cross_entropy(hidden @ second.T + second_bias, classes)


WORKLOADS = [
    Workload(
        name="lenet",
        title="LeNet on 28×28, batch 64, gradients",
        make=gradient_of(_inputs, _loss, 8),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 8),
        sizes={"batch": 64},
        small={"batch": 3},
        tolerance=1e-3,
        required={"torch": 1.2, "jax": 1.2},
    )
]
