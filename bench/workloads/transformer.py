"""A pre-norm causal transformer block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of
from .layers import dense

_HEADS = 4


def _inputs(batch: int, length: int, width: int) -> list[np.ndarray]:
    """Return the input, and the parameters: of norm, joint query, key and value, projection; of norm, and two layers."""
    generator = np.random.default_rng(0)

    def norm() -> list[np.ndarray]:
        return [generator.uniform(0.5, 1.5, width).astype(np.float32), generator.normal(size=width).astype(np.float32)]

    attention = [*norm(), *dense(generator, 3 * width, width), *dense(generator, width, width)]
    feed_forward = [*norm(), *dense(generator, 4 * width, width), *dense(generator, width, 4 * width)]
    return [generator.normal(size=(batch, length, width)).astype(np.float32), *attention, *feed_forward]


def _loss(torch: Any, x: Any, *parameters: Any) -> Any:
    functional = torch.nn.functional
    norm, norm_bias, joint, joint_bias, projection, projection_bias = parameters[:6]
    batch, length, width = x.shape
    normal = functional.layer_norm(x, (width,), norm, norm_bias)
    heads = functional.linear(normal, joint, joint_bias).view(batch, length, 3, _HEADS, width // _HEADS)
    query, key, value = heads.permute(2, 0, 3, 1, 4)
    attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    x = x + functional.linear(attended.transpose(1, 2).reshape(batch, length, width), projection, projection_bias)
    norm, norm_bias, up, up_bias, down, down_bias = parameters[6:]
    normal = functional.layer_norm(x, (width,), norm, norm_bias)
    x = x + functional.linear(functional.gelu(functional.linear(normal, up, up_bias)), down, down_bias)
    return (x**2).mean()


def _loss_jax(x: Any, *parameters: Any) -> Any:
    import jax

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return jax.nn.standardize(x, axis=-1, epsilon=1e-5) * weight + bias

    norm, norm_bias, joint, joint_bias, projection, projection_bias = parameters[:6]
    batch, length, width = x.shape
    heads = (layer_norm(x, norm, norm_bias) @ joint.T + joint_bias).reshape(batch, length, 3, _HEADS, width // _HEADS)
    query, key, value = heads[:, :, 0], heads[:, :, 1], heads[:, :, 2]
    attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    x = x + attended.reshape(batch, length, width) @ projection.T + projection_bias
    norm, norm_bias, up, up_bias, down, down_bias = parameters[6:]
    hidden = jax.nn.gelu(layer_norm(x, norm, norm_bias) @ up.T + up_bias, approximate=False)
    x = x + hidden @ down.T + down_bias
    return (x**2).mean()


WORKLOADS = [
    Workload(
        name="transformer",
        title="transformer block, d=64, 4 heads, T=64, batch 8",
        make=gradient_of(_inputs, _loss, 13),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 13),
        sizes={"batch": 8, "length": 64, "width": 64},
        small={"batch": 2, "length": 5, "width": 8},
        tolerance=1e-3,
        required={"torch": 2, "jax": 1.5},
    )
]
