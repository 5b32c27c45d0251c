"""Steps that are recorded for the reverse sweep: derivatives by where they start and by the gradients they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tests.optim.configurations import CASES, name_of

INPUTS = np.sin(np.arange(1.0, 17.0)).reshape(4, 4)  # the parameter, then the gradients of three steps
# The momentum of SGD begins with a gradient that is detached, as in PyTorch.
WHOLLY = [case for case in CASES if case[0] != "SGD" or "momentum" not in case[1]]
AWAY = np.cos(np.arange(1.0, 17.0)).reshape(4, 4)


def after_steps(inputs: Any, name: str, options: dict[str, Any]) -> Any:
    """Return a number made of where three recorded steps lead."""
    start, *gradients = inputs
    parameter = start.clone()
    optimizer = getattr(tg.optim, name)([parameter], differentiable=True, **options)
    for gradient in gradients:
        parameter.grad = gradient
        optimizer.step()
    return (parameter**2).sum()


@pytest.mark.parametrize("case", WHOLLY, ids=name_of)
def test_derivatives_are_right(mode: str, case: Any) -> None:
    inputs = [tg.from_numpy(row).clone().requires_grad_() for row in INPUTS]
    after_steps(inputs, *case).backward()
    slope = sum([float((tensor.grad * tg.from_numpy(away)).sum()) for tensor, away in zip(inputs, AWAY, strict=True)])
    above, below = [after_steps(list(tg.from_numpy(INPUTS + h * AWAY)), *case).item() for h in (1e-6, -1e-6)]
    assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6)
