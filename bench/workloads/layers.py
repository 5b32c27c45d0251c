"""Parameters of layers, and the losses that jax has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense(generator: np.random.Generator, outputs: int, inputs: int) -> list[np.ndarray]:
    """Return a weight (outputs × inputs) and a bias."""
    weight = generator.normal(size=(outputs, inputs)) / inputs**0.5
    return [weight.astype(np.float32), (0.1 * generator.normal(size=outputs)).astype(np.float32)]


def jax_cross_entropy(scores: Any, classes: Any) -> Any:
    """Return the mean cross entropy of rows of scores."""
    import jax

    logarithms = jax.nn.log_softmax(scores)
    return -jax.numpy.take_along_axis(logarithms, classes[:, None], axis=-1).mean()
