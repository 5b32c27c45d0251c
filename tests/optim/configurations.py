"""Optimizers with their options, gradients for them, and a training: what the tests run in both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 30
SHAPES = ((3, 2), (4,), ())

# Options by optimizer: each on its own, and those that work together.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "maximize": True},
        {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True, "maximize": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "betas": (0.3, 0.6)},
        {"lr": 0.1, "betas": (0.0, 0.9)},
        {"lr": 0.1, "eps": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True},
    ],
    "AdamW": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.3},
        {"lr": 0.1, "weight_decay": 0},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "amsgrad": True, "maximize": True},
    ],
    "RMSprop": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "alpha": 0.3},
        {"lr": 0.1, "eps": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "centered": True},
        {"lr": 0.1, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "momentum": 0.5, "centered": True, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "lr_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "initial_accumulator_value": 0.5},
        {"lr": 0.1, "eps": 0.1},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "maximize": True},
    ],
}
# One or two of each, with learning rates small enough for rounding not to grow.
TYPICAL: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {}),
    ("AdamW", {"amsgrad": True}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr_decay": 0.1}),
]
CASES = [(name, options) for name, several in OPTIONS.items() for options in several]


def name_of(case: tuple[str, dict[str, Any]]) -> str:
    """Return a case's name: ``SGD(lr=0.1)``."""
    name, options = case
    return f"{name}({', '.join([f'{key}={value}' for key, value in options.items()])})"


def arrays(dtype: str, seed: int) -> list[Any]:
    """Return an array for each parameter; the same for the same seed, and away from one another for others."""
    random = np.random.default_rng(seed)
    parts = [random.normal(size=shape) + (1j * random.normal(size=shape) if "complex" in dtype else 0) for shape in SHAPES]
    return [np.asarray(part).astype(dtype) for part in parts]


def begin(library: Any, dtype: str) -> list[Any]:
    """Return the parameters: leaves that require grad."""
    return [library.from_numpy(array).clone().requires_grad_() for array in arrays(dtype, 0)]


def run(library: Any, name: str, options: dict[str, Any], dtype: str = "float64", steps: int = STEPS) -> Any:
    """Take steps with given gradients; return the optimizer, whose parameters and state they have changed.

    At every third step the second parameter has no gradient.
    """
    parameters = begin(library, dtype)
    optimizer = getattr(library.optim, name)(parameters, **options)
    for step in range(1, steps + 1):
        give_gradients(library, parameters, dtype, step)
        optimizer.step()
        optimizer.zero_grad()
    return optimizer


def give_gradients(library: Any, parameters: list[Any], dtype: str, step: int) -> None:
    """Set the gradients of a step."""
    for place, (parameter, gradient) in enumerate(zip(parameters, arrays(dtype, step), strict=True)):
        parameter.grad = None if place == 1 and step % 3 == 0 else library.from_numpy(gradient)


def values(optimizer: Any) -> list[tuple[str, Any]]:
    """Return the parameters and all tensors of their states, as arrays, with what they are."""
    found = []
    for place, parameter in enumerate(optimizer.param_groups[0]["params"]):
        found.append((f"parameter {place}", parameter.detach().numpy()))
        for key, value in optimizer.state.get(parameter, {}).items():
            found.append((f"{key} {place}", value.detach().numpy()))
    return found


class Training:
    """The training of a small network: each call is a step, with another learning rate, and returns the loss before it."""

    def __init__(self, library: Any, name: str, options: dict[str, Any], dtype: str = "float32", width: int = 4) -> None:
        random = np.random.default_rng(0)
        shapes = ((3, width), (width,), (width, 1), (1,), (8, 3), (8, 1))
        *parameters, self.x, self.y = [library.from_numpy(random.normal(size=shape).astype(dtype)) for shape in shapes]
        self.parameters = [parameter.clone().requires_grad_() for parameter in parameters]
        self.optimizer = getattr(library.optim, name)(self.parameters, **options)
        self.schedule = library.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.99)

    def __call__(self) -> Any:
        w1, b1, w2, b2 = self.parameters
        loss = (((self.x @ w1 + b1).tanh() @ w2 + b2 - self.y) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss
