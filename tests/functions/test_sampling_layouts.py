"""Random numbers that go to memory which is not contiguous: PyTorch's stream depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tapegrad

SHAPE = (5, 17)

CASES: dict[str, Callable[[Any], Any]] = {
    "normal_ transposed": lambda lib: lib.zeros(SHAPE).t().normal_(1, 2),
    "normal_ of few": lambda lib: lib.zeros(5, 3).t().normal_(),
    "normal_ double": lambda lib: lib.zeros(SHAPE, dtype=lib.float64).t().normal_(),
    "normal_ half": lambda lib: lib.zeros(SHAPE, dtype=lib.float16).t().normal_(),
    "normal_ complex": lambda lib: lib.zeros(SHAPE, dtype=lib.complex64).t().normal_(),
    "normal_ every other": lambda lib: lib.zeros(40)[::2].normal_(),
    "normal_ column": lambda lib: lib.zeros(20, 2)[:, :1].normal_(),
    "normal_ permuted": lambda lib: lib.zeros(2, 3, 4, 5).permute(2, 0, 3, 1)[1:, :, ::2].normal_(),
    "normal_ of one row": lambda lib: lib.zeros(20, 1).t().normal_(),
    "uniform_": lambda lib: lib.zeros(SHAPE).t().uniform_(),
    "randn_like": lambda lib: lib.randn_like(lib.zeros(SHAPE).t()),
    "randn_like every other": lambda lib: lib.randn_like(lib.zeros(5, 34)[:, ::2]),
    "randn_like contiguous": lambda lib: lib.randn_like(lib.zeros(SHAPE).t(), memory_format=lib.contiguous_format),
    "randn_like channels last": lambda lib: lib.randn_like(lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last)),
    "randn out": lambda lib: lib.randn(17, 5, out=lib.zeros(SHAPE).t()),
    "rand out": lambda lib: lib.rand(17, 5, out=lib.zeros(SHAPE).t()),
    "randint out": lambda lib: lib.randint(7, (17, 5), out=lib.zeros(SHAPE, dtype=lib.int64).t()),
    "normal out": lambda lib: lib.normal(0.0, 2.0, (17, 5), out=lib.zeros(SHAPE).t()),
    "normal of means out": lambda lib: lib.normal(lib.zeros(17, 5), 2.0, out=lib.zeros(SHAPE).t()),
    "normal of deviations out": lambda lib: lib.normal(1.0, lib.ones(17, 5), out=lib.zeros(SHAPE).t()),
    "normal of transposed means": lambda lib: lib.normal(lib.zeros(SHAPE).t(), 2.0),
    "kaiming_normal_": lambda lib: lib.nn.init.kaiming_normal_(lib.zeros(SHAPE).t()),
    "trunc_normal_": lambda lib: lib.nn.init.trunc_normal_(lib.zeros(SHAPE).t()),
    "dropout": lambda lib: lib.nn.functional.dropout(lib.ones(SHAPE).t(), 0.4),
    "alpha_dropout": lambda lib: lib.nn.functional.alpha_dropout(lib.ones(SHAPE).t(), 0.4, training=True),
    "gumbel_softmax": lambda lib: lib.nn.functional.gumbel_softmax(lib.ones(SHAPE).t(), dim=0),
    "multinomial": lambda lib: lib.multinomial(lib.rand(10, 4).t(), 5),
    "multinomial with replacement": lambda lib: lib.multinomial(lib.rand(10, 4).t(), 5, replacement=True),
}


@pytest.mark.peer
@pytest.mark.parametrize("case", CASES)
def test_numbers_into_any_layout(torch: Any, case: str) -> None:
    drawn = []
    for library in (tapegrad, torch):
        library.manual_seed(3)
        result = CASES[case](library)
        following = library.randn(1)
        drawn.append((result.to(library.complex128).tolist(), following.item()))
    (here, next_here), (there, next_there) = drawn
    assert [pytest.approx(row, rel=1e-6, abs=1e-9) for row in _rows(there)] == _rows(here)
    assert next_here == pytest.approx(next_there, rel=1e-6)


def _rows(values: Any) -> list[Any]:
    """Return nested lists as one list of the innermost ones."""
    if values and isinstance(values[0], list):
        return [row for part in values for row in _rows(part)]
    return [values]
