"""What the tape costs, beside NumPy and PyTorch eager, in one run: medians of interleaved rounds, and their ratios.

    python bench/foundation.py [--rounds 31]

Peers that are not installed are left out. Times are of this machine; the ratios are what to compare.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import tapegrad

Work = Callable[[], object]


def seconds(work: Work, repeats: int) -> float:
    """Return the time of one call, over some repeats."""
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def compare(title: str, contenders: dict[str, tuple[Work, int]], rounds: int) -> dict[str, float]:
    """Print the median time of each contender, and the median over rounds of its ratio to the last one."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for work, repeats in contenders.values():
        seconds(work, repeats)  # warm-up
    for _ in range(rounds):
        for name, (work, repeats) in contenders.items():
            times[name].append(seconds(work, repeats))
    base = list(contenders)[-1]
    print(title)
    ratios = {}
    for name, taken in times.items():
        ratios[name] = statistics.median(mine / theirs for mine, theirs in zip(taken, times[base], strict=True))
        print(f"  {name:34s} {statistics.median(taken) * 1e6:10.2f} µs   {ratios[name]:6.2f} × {base}")
    return ratios


def recording(rounds: int) -> None:
    """Recording ``a * b`` on a trie hit, beside np.multiply of the same arrays."""
    first, second = np.ones((4, 4), np.float32), np.full((4, 4), 1.5, np.float32)
    a, b = tapegrad.tensor(first), tapegrad.tensor(second)
    g = tapegrad.tensor(first, requires_grad=True)

    def tape() -> None:
        for _ in range(4000):
            a * b

    def tape_with_grad() -> None:
        for _ in range(4000):
            g * b

    def multiply() -> None:
        for _ in range(4000):
            np.multiply(first, second)

    compare(
        "4000 × recording a * b, 4×4 float32, values given up unread",
        {"tape": (tape, 1), "tape, requires_grad": (tape_with_grad, 1), "np.multiply": (multiply, 1)},
        rounds,
    )


def training_step(rounds: int) -> None:
    """MLP 64-64-10, batch 32: forward, cross entropy, backward, SGD step; a fresh batch each step, loss read every tenth."""
    inputs = [np.random.default_rng(i).normal(size=(32, 64)).astype(np.float32) for i in range(10)]
    targets = [np.random.default_rng(i).integers(0, 10, 32) for i in range(10)]
    contenders: dict[str, tuple[Work, int]] = {"tapegrad": (training_loop(tapegrad, inputs, targets), 1)}
    torch = peer()
    if torch is not None:
        contenders["torch eager"] = (training_loop(torch, inputs, targets), 1)
    compare("100 × MLP step", contenders, rounds)


def training_loop(framework: object, inputs: list[np.ndarray], targets: list[np.ndarray]) -> Work:
    """Return a loop of a hundred steps, written once for both frameworks."""
    torch: object = framework
    torch.manual_seed(0)  # type: ignore[attr-defined]
    functional = torch.nn.functional  # type: ignore[attr-defined]
    parameters = [
        (torch.randn(*shape) * 0.1).requires_grad_()  # type: ignore[attr-defined]
        for shape in [(64, 64), (64,), (10, 64), (10,)]
    ]
    batches = [(torch.tensor(x), torch.tensor(y)) for x, y in zip(inputs, targets, strict=True)]  # type: ignore[attr-defined]
    no_grad = torch.no_grad  # type: ignore[attr-defined]

    def loop() -> float:
        value = 0.0
        for step in range(100):
            x, y = batches[step % 10]
            hidden = functional.linear(x, parameters[0], parameters[1]).relu()
            loss = functional.cross_entropy(functional.linear(hidden, parameters[2], parameters[3]), y)
            for parameter in parameters:
                parameter.grad = None
            loss.backward()
            with no_grad():
                for parameter in parameters:
                    parameter.add_(parameter.grad, alpha=-0.01)
            if step % 10 == 9:
                value = loss.item()
        return value

    return loop


def importing(rounds: int) -> None:
    """Starting Python and importing, in new processes."""

    def importer(module: str) -> Work:
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    compare("import in a new process", {"tapegrad": (importer("tapegrad"), 1), "numpy": (importer("numpy"), 1)}, rounds)


def peer() -> object | None:
    """Return PyTorch with two threads, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(2)
    return torch


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31, help="rounds, of which medians are taken (default 31)")
    rounds = parser.parse_args().rounds
    print(f"tapegrad {tapegrad.get_mode()} mode, NumPy {np.__version__}, Python {sys.version.split()[0]}")
    recording(rounds)
    training_step(rounds)
    importing(max(rounds // 3, 5))


if __name__ == "__main__":
    main()
