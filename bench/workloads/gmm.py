"""ADBench's Gaussian mixture model: the log likelihood with a Wishart prior, float64."""

from __future__ import annotations

from math import lgamma, log, pi, sqrt
from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of, numpy_value_of

_GAMMA, _M = 1.0, 0


def _inputs(dimensions: int, components: int, points: int) -> list[np.ndarray]:
    """Return α, μ, the logarithms q of the diagonals, the entries l below them, x, and the place in l of each entry of a matrix."""
    generator = np.random.default_rng(0)
    below = dimensions * (dimensions - 1) // 2
    place = np.full((dimensions, dimensions), below)  # the place of the zero that is put behind l
    columns, rows = np.triu_indices(dimensions, 1)  # column by column
    place[rows, columns] = np.arange(below)
    return [
        generator.normal(size=components),
        generator.uniform(size=(components, dimensions)),
        generator.normal(size=(components, dimensions)),
        generator.normal(size=(components, below)),
        generator.normal(size=(points, dimensions)),
        place,
    ]


def _constant(points: int, components: int, dimensions: int) -> float:
    """Return what does not depend on the parameters: of the likelihood, and of the prior."""
    n = dimensions + _M + 1
    multigamma = dimensions * (dimensions - 1) / 4 * log(pi) + sum(lgamma((n - j) / 2) for j in range(dimensions))
    prior = components * (n * dimensions * log(_GAMMA / sqrt(2)) - multigamma)
    return prior - points * dimensions / 2 * log(2 * pi)


def _loss(torch: Any, alpha: Any, mu: Any, q: Any, l: Any, x: Any, place: Any) -> Any:  # noqa: E741 - ADBench's name
    diagonal = torch.exp(q)
    zero = torch.zeros(len(alpha), 1, dtype=x.dtype)
    below = torch.cat((l, zero), 1)[:, place]
    centred = x - mu[:, None]
    spread = diagonal[:, None] * centred + centred @ below.transpose(1, 2)
    beta = alpha[:, None] + q.sum(1)[:, None] - 0.5 * (spread**2).sum(2)
    likelihood = torch.logsumexp(beta, 0).sum() - len(x) * torch.logsumexp(alpha, 0)
    prior = _M * q.sum() - 0.5 * _GAMMA**2 * ((diagonal**2).sum() + (l**2).sum())
    return likelihood + prior + _constant(len(x), *mu.shape)


def _loss_of(library: Any, logsumexp: Any, alpha: Any, mu: Any, q: Any, l: Any, x: Any, place: Any) -> Any:  # noqa: E741
    """Return the same with NumPy's names."""
    diagonal = library.exp(q)
    below = library.concatenate((l, library.zeros((len(alpha), 1))), 1)[:, place]
    centred = x - mu[:, None]
    spread = diagonal[:, None] * centred + centred @ below.swapaxes(1, 2)
    beta = alpha[:, None] + q.sum(1)[:, None] - 0.5 * (spread**2).sum(2)
    likelihood = logsumexp(beta, 0).sum() - len(x) * logsumexp(alpha, 0)
    prior = _M * q.sum() - 0.5 * _GAMMA**2 * ((diagonal**2).sum() + (l**2).sum())
    return likelihood + prior + _constant(len(x), *mu.shape)


def _loss_jax(*arrays: Any) -> Any:
    import jax

    return _loss_of(jax.numpy, jax.scipy.special.logsumexp, *arrays)


def _loss_numpy(*arrays: Any) -> Any:
    def logsumexp(values: Any, axis: int) -> Any:
        most = values.max(axis, keepdims=True)
        return (np.log(np.exp(values - most).sum(axis, keepdims=True)) + most).squeeze(axis)

    return _loss_of(np, logsumexp, *arrays)


WORKLOADS = [
    Workload(
        name="gmm",
        title="GMM (D=20, K=25, N=1000, float64), gradient",
        make=gradient_of(_inputs, _loss, 4),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 4),
        make_numpy=numpy_value_of(_inputs, _loss_numpy),
        sizes={"dimensions": 20, "components": 25, "points": 1000},
        small={"dimensions": 4, "components": 3, "points": 7},
        tolerance=1e-10,
        required={"torch": 3, "jax": 1.5},
    )
]
