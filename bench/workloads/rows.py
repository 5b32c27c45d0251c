"""Softmax and layer norm of the rows of a matrix, squared loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of


def _inputs(rows: int, columns: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    scores, target = generator.normal(size=(2, rows, columns)).astype(np.float32)
    weight, bias = generator.normal(size=(2, columns)).astype(np.float32)
    return [3 * scores, weight, bias, target]


def _loss(torch: Any, scores: Any, weight: Any, bias: Any, target: Any) -> Any:
    functional = torch.nn.functional
    normal = functional.layer_norm(functional.softmax(scores, -1), weight.shape, weight, bias)
    return functional.mse_loss(normal, target)


def _loss_jax(scores: Any, weight: Any, bias: Any, target: Any) -> Any:
    import jax

    shares = jax.nn.softmax(scores, -1)
    normal = jax.nn.standardize(shares, axis=-1, epsilon=1e-5) * weight + bias
    return ((normal - target) ** 2).mean()


WORKLOADS = [
    Workload(
        name="rows",
        title="softmax and layer norm of 4096×1024, gradients",
        make=gradient_of(_inputs, _loss, 3),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 3),
        sizes={"rows": 4096, "columns": 1024},
        small={"rows": 6, "columns": 20},
        tolerance=1e-3,
        required={"torch": 2.5, "jax": 5},
    )
]
