"""The tape's limits: time of long chains, and growth of memory in long loops.

    python bench/limits.py

Prints how much longer ten times the records take, and by how much the resident memory grew after a warm-up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import tapegrad


def best_chain(records: int) -> float:
    """Return the seconds of the fastest of three chains: what else the machine does only adds to them."""
    return min([chain(records) for _ in range(3)])


def chain(records: int) -> float:
    """Record and replay a chain of so many multiplications; return the seconds it took."""
    x = tapegrad.ones(3, requires_grad=True)
    begin = time.perf_counter()
    y = x
    for _ in range(records):
        y = y * 1.000001
    y.sum().backward()
    assert x.grad is not None
    return time.perf_counter() - begin


def resident_megabytes() -> float:
    """Return the resident memory of this process (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def growth(step: Callable[[], object], warm_up: int, steps: int) -> float:
    """Return by how many megabytes memory grew over so many steps, after a warm-up."""
    for _ in range(warm_up):
        step()
    before = resident_megabytes()
    for _ in range(steps):
        step()
    return resident_megabytes() - before


def loops() -> dict[str, tuple[Callable[[], object], int, int]]:
    """Return the loops to watch: a step, and how many of it to warm up with and to watch."""
    x = tapegrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weight = tapegrad.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def forward() -> object:
        return x * 2.0

    def training_step() -> None:
        loss = ((weight * x.detach()).sum() - 1) ** 2
        weight.grad = None
        loss.backward()
        with tapegrad.no_grad():
            weight.sub_(weight.grad * 1e-4)

    def second_order_grad() -> None:
        (slope,) = tapegrad.autograd.grad((weight**3).sum(), weight, create_graph=True)
        (slope * slope).sum().backward()
        weight.grad = None

    def second_order_backward() -> None:
        (weight**3).sum().backward(create_graph=True)
        (weight.grad * weight.grad).sum().backward()
        weight.grad = None

    return {
        "1,000,000 forward operations, results dropped": (forward, 20_000, 1_000_000),
        "20,000 training steps": (training_step, 1_000, 20_000),
        "20,000 steps with grad(create_graph=True)": (second_order_grad, 1_000, 20_000),
        "20,000 steps with backward(create_graph=True)": (second_order_backward, 1_000, 20_000),
    }


def main() -> None:
    """Run all."""
    warnings.simplefilter("ignore")  # backward(create_graph=True) warns of the cycle that the loop breaks
    best_chain(10_000)
    short, long = best_chain(100_000), best_chain(1_000_000)
    print(f"chain of 100,000 records {short:.2f} s, of 1,000,000 {long:.2f} s: {long / short:.1f} times as long")
    for title, (step, warm_up, steps) in loops().items():
        print(f"{title}: memory grew by {growth(step, warm_up, steps):.2f} MB")


if __name__ == "__main__":
    main()
