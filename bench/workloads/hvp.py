"""The Hessian-vector product of a three-layer tanh network: by double backward, in jax forward over reverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Work, Workload, Wrap, unchanged
from .layers import dense


def _inputs(batch: int, width: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return the parameters, a vector of their shapes, and inputs and targets."""
    generator = np.random.default_rng(0)
    parameters = [array for outputs in (width, width, 1) for array in dense(generator, outputs, width)]
    vector = [generator.normal(size=array.shape).astype(np.float32) for array in parameters]
    data = [generator.normal(size=(batch, width)).astype(np.float32), generator.normal(size=(batch, 1)).astype(np.float32)]
    return parameters, vector, data


def _make(torch: Any, wrap: Wrap = unchanged, *, batch: int, width: int) -> Work:
    functional = torch.nn.functional
    parameters, vector, data = [[torch.tensor(array) for array in arrays] for arrays in _inputs(batch, width)]
    for parameter in parameters:
        parameter.requires_grad_()

    def product() -> list[Any]:
        first, first_bias, second, second_bias, third, third_bias = parameters
        hidden = torch.tanh(functional.linear(data[0], first, first_bias))
        hidden = torch.tanh(functional.linear(hidden, second, second_bias))
        loss = functional.mse_loss(functional.linear(hidden, third, third_bias), data[1])
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
        slope = sum((gradient * part).sum() for gradient, part in zip(gradients, vector, strict=True))
        return [slope, *torch.autograd.grad(slope, parameters)]

    return wrap(product)


def _make_jax(*, batch: int, width: int) -> Work:
    import jax

    parameters, vector, data = [[jax.numpy.asarray(array) for array in arrays] for arrays in _inputs(batch, width)]

    def loss(parameters: list[Any], inputs: Any, targets: Any) -> Any:
        first, first_bias, second, second_bias, third, third_bias = parameters
        hidden = jax.numpy.tanh(inputs @ first.T + first_bias)
        hidden = jax.numpy.tanh(hidden @ second.T + second_bias)
        return ((hidden @ third.T + third_bias - targets) ** 2).mean()

    @jax.jit
    def product(parameters: list[Any], vector: list[Any], inputs: Any, targets: Any) -> list[Any]:
        def gradient(parameters: list[Any]) -> Any:
            return jax.grad(loss)(parameters, inputs, targets)

        gradients, products = jax.jvp(gradient, (parameters,), (vector,))
        slope = sum((gradient * part).sum() for gradient, part in zip(gradients, vector, strict=True))
        return [slope, *products]

    return lambda: product(parameters, vector, *data)


WORKLOADS = [
    Workload(
        name="hvp",
        title="Hessian-vector product of a 3-layer tanh MLP",
        make=_make,
        make_jax=_make_jax,
        sizes={"batch": 32, "width": 64},
        small={"batch": 5, "width": 6},
        tolerance=1e-3,
        required={"torch": 6, "jax": 1},
    )
]
