"""Programs of many small operations, where the cost of an operation is all there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Work, Workload, Wrap, gradient_of, jax_gradient_of, unchanged

_LINKS = 100
_EULER_STEPS, _NEWTON_STEPS, _TIME_STEP = 10, 17, 0.1
_RATE = 1e-4
_DESCENTS = 10  # a call


def _chain_inputs() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    start = generator.normal(size=(4, 4)).astype(np.float32)
    return [start, generator.uniform(0.98, 1.02, (4, 4)).astype(np.float32)]


def _chain(_: Any, y: Any, a: Any) -> Any:
    for _ in range(_LINKS):
        y = y * a
    return y.sum()


def _chain_jax(y: Any, a: Any) -> Any:
    return _chain(None, y, a)


def _recurrence_inputs() -> list[np.ndarray]:
    return [np.array(value) for value in (1.5, 0.3, 0.8, -0.2)]  # stiffness, damping, place, speed; float64


def _recurrence(library: Any, stiffness: Any, damping: Any, y: Any, speed: Any) -> Any:
    """Move a damped oscillator by semi-implicit Euler steps, and solve z·exp(z) = y² + 1 by Newton's method."""
    for _ in range(_EULER_STEPS):
        speed = speed + _TIME_STEP * (-stiffness * y - damping * speed)
        y = y + _TIME_STEP * speed
    target = y * y + 1
    z = 0.5 * target
    for _ in range(_NEWTON_STEPS):
        growth = library.exp(z)
        z = z - (z * growth - target) / (growth * (z + 1))
    return z


def _recurrence_jax(*inputs: Any) -> Any:
    import jax.numpy

    return _recurrence(jax.numpy, *inputs)


def _rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def _rosenbrock_start(dimensions: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, dimensions).astype(np.float32)


def _make_rosenbrock(torch: Any, wrap: Wrap = unchanged, *, dimensions: int) -> Work:
    x = torch.tensor(_rosenbrock_start(dimensions), requires_grad=True)

    def descend() -> Any:
        x.grad = None
        value = _rosenbrock(x)
        value.backward()
        with torch.no_grad():
            x.sub_(x.grad, alpha=_RATE)
        return value

    descend = wrap(descend)

    def work() -> list[Any]:
        for _ in range(_DESCENTS):
            value = descend()
        return [value, x]

    return work


def _make_rosenbrock_jax(*, dimensions: int) -> Work:
    import jax

    x = jax.numpy.asarray(_rosenbrock_start(dimensions))

    @jax.jit
    def descend(x: Any) -> tuple[Any, Any]:
        value, gradient = jax.value_and_grad(_rosenbrock)(x)
        return value, x - _RATE * gradient

    def work() -> list[Any]:
        nonlocal x
        for _ in range(_DESCENTS):
            value, x = descend(x)
        return [value, x]

    return work


WORKLOADS = [
    Workload(
        name="chain",
        title="100 chained 4×4 multiplications, sum, backward",
        make=gradient_of(_chain_inputs, _chain, 2),
        make_jax=jax_gradient_of(_chain_inputs, _chain_jax, 2),
        tolerance=1e-5,
        required={"torch": 10},
        required_compiled={"jax": 1.5},
    ),
    Workload(
        name="recurrence",
        title="0-d float64 recurrence, 200 operations",
        make=gradient_of(_recurrence_inputs, _recurrence, 4),
        make_jax=jax_gradient_of(_recurrence_inputs, _recurrence_jax, 4),
        tolerance=1e-11,
        required={"torch": 10},
        required_compiled={"jax": 1.5},
    ),
    Workload(
        name="rosenbrock",
        title="Rosenbrock in 100 dimensions, a step",
        make=_make_rosenbrock,
        make_jax=_make_rosenbrock_jax,
        sizes={"dimensions": 100},
        small={"dimensions": 8},
        tolerance=1e-5,
        required_compiled={"jax": 2},
        steps=_DESCENTS,
    ),
]
