"""What bench/cold.py does in new processes: `python bench/fresh.py TASK LIBRARY` prints the numbers that the task measures."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

_CHAIN_LAYERS, _CHAIN_SIZE = 50, 2_000_000
_SCRIPT_STEPS = 200
_VARYING_STEPS = (16, 2000)
_GROWTH_WARM_UP, _GROWTH_STEPS = 1_000, 20_000

Step = Callable[[int], Any]


def training_step(library: str, sizes: list[int]) -> Step:
    """Return a training step of the small network, given its number, on batches of these sizes; it returns the loss."""
    from workloads import mlp

    batches = mlp.batches(sizes)
    if library == "jax":
        weights, jax_step = mlp.jax_training()

        def step(number: int) -> Any:
            nonlocal weights
            weights, loss = jax_step(weights, *batches[number % len(batches)])
            return loss

        return step
    torch = importlib.import_module(library)
    given = [(torch.tensor(inputs), torch.tensor(classes)) for inputs, classes in batches]
    _, torch_step = mlp.training(torch)
    return lambda number: torch_step(*given[number % len(given)])


def script(library: str) -> list[float]:
    """Train for some steps, reading the loss of every tenth; return the last one read."""
    step = training_step(library, [32] * 10)
    loss = 0.0
    for number in range(_SCRIPT_STEPS):
        value = step(number)
        if number % 10 == 9:
            loss = value.item()
    return [loss]


def varying(library: str) -> list[float]:
    """Return the seconds of the first steps, each with another batch size, and of many."""
    from workloads import mlp

    step = training_step(library, mlp.VARYING_SIZES)
    seconds = []
    begin = time.perf_counter()
    for number in range(max(_VARYING_STEPS)):
        value = step(number)
        if number % 10 == 9:
            value.item()
        if number + 1 in _VARYING_STEPS:
            value.item()
            seconds.append(time.perf_counter() - begin)
    return seconds


def growth(library: str) -> list[float]:
    """Return by how many megabytes memory grew over many training steps."""
    step = training_step(library, [32] * 10)
    before = 0.0
    for number in range(_GROWTH_WARM_UP + _GROWTH_STEPS):
        if number == _GROWTH_WARM_UP:
            before = _megabytes("VmRSS")
        value = step(number)
        if number % 10 == 9:
            value.item()
    return [_megabytes("VmRSS") - before]


def peak(library: str) -> list[float]:
    """Return by how many megabytes a long elementwise chain and its gradient go beyond what there was before."""
    run = _jax_chain() if library == "jax" else _chain(importlib.import_module(library))
    run(10)  # loads, and compiles, what there is to
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # forget the peak so far
    before = _megabytes("VmRSS")
    run(_CHAIN_SIZE)
    return [_megabytes("VmHWM") - before]


def _chain_value(library: Any, y: Any) -> Any:
    for _ in range(_CHAIN_LAYERS // 2):
        y = library.sin(y)
        y = y * library.exp(-y)
    return y.sum()


def _chain(torch: Any) -> Callable[[int], None]:
    def run(size: int) -> None:
        x = torch.linspace(-2, 2, size, requires_grad=True)
        value = _chain_value(torch, x)
        value.backward()
        value.item()

    return run


def _jax_chain() -> Callable[[int], None]:
    import jax

    gradient = jax.jit(jax.value_and_grad(lambda x: _chain_value(jax.numpy, x)))

    def run(size: int) -> None:
        jax.block_until_ready(gradient(jax.numpy.linspace(-2, 2, size)))

    return run


def _megabytes(name: str) -> float:
    """Return a figure of this process's memory (Linux)."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(name + ":"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    tasks = {"script": script, "varying": varying, "growth": growth, "peak": peak}
    print(*tasks[sys.argv[1]](sys.argv[2]))
