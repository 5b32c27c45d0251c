"""Chains: elementwise records that the interpreter runs block by block give the same, and need no memory between."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.execute import chains
from tapegrad.execute.chains import Chain
from tapegrad.tape import materialise, trace

Made = list[Any]
SIZE = 1 << 17


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Interpret; give the plans that are made."""
    found: Made = []
    make = materialise.make_plan

    def noted(*arguments: Any) -> Any:
        found.append(make(*arguments))
        return found[-1]

    monkeypatch.setattr(materialise, "make_plan", noted)
    before = tg.get_mode()
    tg.set_mode("interpret")
    yield found
    tg.set_mode(before)


def chains_of(plan: Any) -> list[Chain]:
    return [run for run, *_ in plan.instructions if isinstance(run, Chain)]


def lengths(plan: Any) -> list[int]:
    return [len(chain.nodes) for chain in chains_of(plan)]


def unchained(monkeypatch: pytest.MonkeyPatch, function: Callable[[], Any]) -> Any:
    """Return what a function gives record by record."""
    tg.set_mode("eager")
    result = function()
    tg.set_mode("interpret")
    return result


def layers(x: Any, count: int) -> Any:
    for _ in range(count):
        x = tg.sin(x)
        x = x * tg.exp(-x)
    return x


def gradient_of(loss: Callable[[Any], Any], size: int = SIZE) -> Any:
    x = tg.linspace(-2, 2, size, requires_grad=True)
    loss(x).backward()
    assert x.grad is not None
    return x.grad.numpy()


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda x: layers(x, 3).sum(), 1),  # the reverse sweep needs nothing of the sum
        (lambda x: layers(x, 3).square().sum().log(), 2),  # it needs the sum, and computes the rest again
        (lambda x: (x * x + x).mean() + (x.reshape(8, -1).exp() * 2 - 1).sum(1).square().sum(), 4),
    ],
)
def test_chains_give_what_single_records_give(plans: Made, monkeypatch: pytest.MonkeyPatch, loss: Any, expected: int) -> None:
    found = gradient_of(loss)
    assert len(chains_of(plans[-1])) == expected
    assert np.array_equal(found, unchained(monkeypatch, lambda: gradient_of(loss)))


def test_the_reverse_sweep_computes_again_what_would_fill_memory(plans: Made) -> None:
    gradient_of(lambda x: layers(x, 4).sum().log())
    forward, reverse = chains_of(plans[-1])
    assert len(forward.results) == 1 and {node.slot for node in forward.nodes} - {*forward.results} <= {
        node.slot for node in reverse.nodes
    }


@pytest.mark.parametrize("loss", [lambda x: layers(x, 12).sum(), lambda x: layers(x, 12).sum().log()])
def test_a_long_chain_and_its_gradient_take_few_arrays(loss: Any) -> None:
    trace._roots.clear()  # what begins as another test's records would be cut where it goes on otherwise
    gradient_of(loss, 1000)
    tracemalloc.start()
    gradient_of(loss, 1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * (4 << 20)


def test_operands_are_broadcast(plans: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[Any]:
        grid = tg.linspace(-1, 1, SIZE).reshape(512, 256)
        row, column, one = tg.linspace(0, 1, 256), tg.linspace(0, 1, 512).reshape(512, 1), tg.tensor(0.5)
        first = ((grid * row + column) * one).tanh()
        second = tg.where(first > 0.25, first, row) + grid.expand(1, 512, 256)
        return [first.numpy(), second.numpy()]

    found = run()
    assert any(map(lengths, plans))
    for ours, expected in zip(found, unchained(monkeypatch, run), strict=True):
        assert np.array_equal(ours, expected)


def test_blocks_lie_along_an_axis_that_is_long_enough(plans: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Any:
        return (tg.linspace(-1, 1, 3 * SIZE).reshape(1, 3, SIZE).sin() * tg.tensor([[1.0], [2.0], [3.0]])).exp().numpy()

    found = run()
    assert chains_of(plans[-1])[0]._axis == 2
    assert np.array_equal(found, unchained(monkeypatch, run))


def test_what_is_laid_out_otherwise_is_no_chain(plans: Made) -> None:
    grid = tg.linspace(-1, 1, SIZE).reshape(512, 256).T
    result = (grid * 2).sin()
    assert result.stride() == (1, 256) and result.numpy().strides == (4, 1024)
    assert not any(map(chains_of, plans))


def test_small_arrays_are_no_chain(plans: Made) -> None:
    gradient_of(lambda x: layers(x, 3).sum(), 1000)
    assert not any(map(chains_of, plans))


def test_an_error_spoils_only_what_depends_on_it(plans: Made) -> None:
    x = tg.arange(SIZE)
    before = x + 1
    wrong = before // (x - 5)
    after = before * 2
    worse = wrong + after
    assert after[-1].item() == 2 * SIZE
    assert any(map(chains_of, plans))
    for tensor in (wrong, worse):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            tensor.tolist()


def test_independent_records_are_not_joined(plans: Made) -> None:
    given = [tg.linspace(-1, 1, SIZE) for _ in range(4)]
    results = [(x * 2).exp() - 1 for x in given]
    assert results[0][0].item() == pytest.approx(np.exp(-2) - 1)
    assert [lengths(plan) for plan in plans if chains_of(plan)] == [[3, 3, 3, 3]]


def test_a_chain_runs_again_and_again(plans: Made) -> None:
    weight = tg.linspace(0, 1, SIZE, requires_grad=True)
    assert chains._LARGE <= SIZE
    for _ in range(12):
        weight.grad = None
        ((weight * 3).sin() ** 2).sum().backward()
        with tg.no_grad():
            assert weight.grad is not None
            weight -= weight.grad * 1e-3
    assert np.all(np.isfinite(weight.detach().numpy()))
