"""Elementwise functions of large arrays, where fusing is all there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of, numpy_value_of


def _two(size: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.normal(size=size).astype(np.float32) for _ in range(2)]


def _three(size: int) -> list[np.ndarray]:
    return [*_two(size), np.random.default_rng(1).normal(size=size).astype(np.float32)]


def _waves(library: Any, u: Any, v: Any) -> Any:
    return (library.tanh(u * v + 0.5) * library.exp(-u * u)).sum()


def _waves_numpy(u: Any, v: Any) -> Any:
    return _waves(np, u, v)


def _waves_jax(u: Any, v: Any) -> Any:
    import jax.numpy

    return _waves(jax.numpy, u, v)


def _polynomial(_: Any, u: Any, v: Any, w: Any) -> Any:
    return (((u * v + w) * u - v) ** 2).sum()


def _polynomial_alone(u: Any, v: Any, w: Any) -> Any:
    return _polynomial(None, u, v, w)


WORKLOADS = [
    Workload(
        name="waves",
        title="sum(tanh(u*v+.5)*exp(-u*u)), 4M, and gradient",
        make=gradient_of(_two, _waves, 1),
        make_jax=jax_gradient_of(_two, _waves_jax, 1),
        make_numpy=numpy_value_of(_two, _waves_numpy),
        sizes={"size": 4_000_000},
        small={"size": 1000},
        tolerance=1e-4,
        required={"torch": 7, "jax": 2},
    ),
    Workload(
        name="polynomial",
        title="sum(((u*v+w)*u-v)**2), 4M, and two gradients",
        make=gradient_of(_three, _polynomial, 2),
        make_jax=jax_gradient_of(_three, _polynomial_alone, 2),
        make_numpy=numpy_value_of(_three, _polynomial_alone),
        sizes={"size": 4_000_000},
        small={"size": 1000},
        tolerance=1e-4,
        required={"torch": 6, "jax": 3},
    ),
]
