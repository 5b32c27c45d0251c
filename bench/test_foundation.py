"""The comparisons of foundation.py as a pytest-benchmark suite: `pytest bench/test_foundation.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from foundation import peer, training_loop

_ARRAYS = np.ones((4, 4), np.float32), np.full((4, 4), 1.5, np.float32)


def _recording(requires_grad: bool) -> Callable[[], None]:
    a, b = tapegrad.tensor(_ARRAYS[0], requires_grad=requires_grad), tapegrad.tensor(_ARRAYS[1])

    def loop() -> None:
        for _ in range(4000):
            a * b

    return loop


def _multiplying() -> Callable[[], None]:
    def loop() -> None:
        for _ in range(4000):
            np.multiply(*_ARRAYS)

    return loop


@pytest.mark.benchmark(group="4000 records of a * b, 4×4 float32")
@pytest.mark.parametrize("contender", ["tape", "tape, requires_grad", "numpy"])
def test_recording(benchmark: Any, contender: str) -> None:
    """Recording on a trie hit, beside NumPy's own multiplication."""
    work = _multiplying() if contender == "numpy" else _recording(contender != "tape")
    assert benchmark(work) is None


@pytest.mark.benchmark(group="100 steps of the MLP 64-64-10, batch 32")
@pytest.mark.parametrize("contender", ["tapegrad", "torch"])
def test_training_step(benchmark: Any, contender: str) -> None:
    """A small network's training step, beside PyTorch's."""
    framework = tapegrad if contender == "tapegrad" else peer()
    if framework is None:
        pytest.skip("PyTorch is not installed")
    inputs = [np.random.default_rng(i).normal(size=(32, 64)).astype(np.float32) for i in range(10)]
    targets = [np.random.default_rng(i).integers(0, 10, 32) for i in range(10)]
    loss = benchmark(training_loop(framework, inputs, targets))
    assert np.isfinite(loss)
