"""ADBench's LSTM with diagonal weights, float64: a Python loop over time, in jax lax.scan."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of

_LAYERS = 2


def _inputs(width: int, length: int) -> list[np.ndarray]:
    """Return weights and biases of the layers, the extra parameters, the first state (hidden and cell a layer), and the sequence."""
    generator = np.random.default_rng(0)
    return [
        0.5 * generator.normal(size=(_LAYERS, 2, 4 * width)),
        0.5 * generator.normal(size=(3, width)),
        0.5 * generator.normal(size=(_LAYERS, 2, width)),
        generator.integers(0, 2, (length, width)).astype(np.float64),
    ]


def _loss(torch: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    width = sequence.shape[1]
    layers = [(main[layer, 0], main[layer, 1]) for layer in range(_LAYERS)]
    in_weight, out_weight, out_bias = extra
    states = [(state[layer, 0], state[layer, 1]) for layer in range(_LAYERS)]
    total = 0.0
    for time in range(len(sequence) - 1):
        x = sequence[time] * in_weight
        for layer, (weight, bias) in enumerate(layers):
            hidden, cell = states[layer]
            gates = torch.cat((x, hidden, x, hidden)) * weight + bias
            forget, update, output = torch.sigmoid(gates[: 3 * width]).split(width)
            cell = cell * forget + update * torch.tanh(gates[3 * width :])
            x = output * torch.tanh(cell)
            states[layer] = (x, cell)
        y = x * out_weight + out_bias
        normal = y - torch.log(2 + torch.exp(y).sum())
        total = total + (sequence[time + 1] * normal).sum()
    return -total / (width * (len(sequence) - 1))


def _loss_jax(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    import jax

    numpy = jax.numpy
    width = sequence.shape[1]

    def step(states: Any, rows: Any) -> tuple[Any, Any]:
        row, gold = rows
        x = row * extra[0]
        following = []
        for layer in range(_LAYERS):
            hidden, cell = states[layer]
            gates = numpy.concatenate((x, hidden, x, hidden)) * main[layer, 0] + main[layer, 1]
            forget, update, output = numpy.split(jax.nn.sigmoid(gates[: 3 * width]), 3)
            cell = cell * forget + update * numpy.tanh(gates[3 * width :])
            x = output * numpy.tanh(cell)
            following.append((x, cell))
        y = x * extra[1] + extra[2]
        normal = y - numpy.log(2 + numpy.exp(y).sum())
        return following, (gold * normal).sum()

    states = [(state[layer, 0], state[layer, 1]) for layer in range(_LAYERS)]
    _, terms = jax.lax.scan(step, states, (sequence[:-1], sequence[1:]))
    return -terms.sum() / (width * (len(sequence) - 1))


WORKLOADS = [
    Workload(
        name="lstm",
        title="LSTM (2 layers, b=14, 1024 steps, float64)",
        make=gradient_of(_inputs, _loss, 2),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 2),
        sizes={"width": 14, "length": 1024},
        small={"width": 3, "length": 6},
        tolerance=1e-10,
        required={"torch": 8},
        required_compiled={"jax": 1.2},
    )
]
