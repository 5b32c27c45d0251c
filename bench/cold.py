"""What a new process costs: first gradients, short scripts, and memory, beside PyTorch eager and jax.jit.

    python bench/cold.py [names] [--mode interpret] [--repeats 5]

Everything runs in fresh processes (bench/fresh.py), with two threads each, and with bytecode on disk, as installed packages have
it; tapegrad with an empty kernel cache, and with one that earlier runs have filled. The table has medians, and by how much
tapegrad is better than a peer: the median over repeats of the peer's figure over tapegrad's, with what is required and whether it
holds. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contenders import THREADS, restart_with_threads
from peers import verdict

_FRESH = Path(__file__).with_name("fresh.py")
_TORCH_SHAPED = """
import {library} as torch
x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
y = torch.tanh(x) * x
(y * y).sum().backward()
print(x.grad)
"""
_JAX = """
import jax, jax.numpy as jnp
def value(x):
    y = jnp.tanh(x) * x
    return (y * y).sum()
print(jax.jit(jax.grad(value))(jnp.array([0.5, 1.0, 2.0])))
"""
_PEERS = ("torch", "jax")
_FILLING_RUNS = 2


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something to measure in a new process.

    ``figure`` is which of the numbers that the process prints it is, None for the seconds that the whole process takes.
    ``empty`` and ``full`` have, by peer, how many times as good tapegrad has to be with such a kernel cache; ``limit`` is the
    most that its figure may be. What is ``slow`` is measured once.
    """

    name: str
    title: str
    task: str
    figure: int | None = None
    unit: str = "s"
    empty: Mapping[str, float] = field(default_factory=dict)
    full: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    slow: bool = False


TASKS = [
    Task(name="gradient", title="the first gradient, import included", task="gradient", empty={"jax": 2}, full={"jax": 2}),
    Task(name="script", title="a script of 200 training steps", task="script", empty={"jax": 2}),
    Task(
        name="first_steps",
        title="the first 16 steps, another batch size each",
        task="varying",
        figure=0,
        empty={"torch": 1, "jax": 50},
        full={"torch": 1, "jax": 50},
        slow=True,
    ),
    Task(
        name="many_steps",
        title="2,000 such steps",
        task="varying",
        figure=1,
        empty={"torch": 3, "jax": 3},
        full={"torch": 3, "jax": 3},
        slow=True,
    ),
    Task(name="peak", title="peak of 50 elementwise layers on 2M floats", task="peak", figure=0, unit="MB", full={"torch": 2}),
    Task(name="growth", title="growth over 20,000 training steps", task="growth", figure=0, unit="MB", limit=1.0, slow=True),
]


def command(task: str, library: str) -> list[str]:
    """Return the command line of the new process."""
    if task == "gradient":
        return [sys.executable, "-c", _JAX if library == "jax" else _TORCH_SHAPED.format(library=library)]
    return [sys.executable, str(_FRESH), task, library]


def run(task: str, library: str, environment: Mapping[str, str]) -> list[float]:
    """Do a task in a new process; return the numbers it prints, and last the seconds it took.

    Raises RuntimeError if it fails.
    """
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    finished = subprocess.run(command(task, library), env={**surroundings, **environment}, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if finished.returncode != 0:
        raise RuntimeError((finished.stderr.strip() or f"exit status {finished.returncode}").split("\n")[-1])
    figures = [] if task == "gradient" else [float(number) for number in finished.stdout.split()]
    return [*figures, seconds]


class Runs:
    """The runs of a task in every library; tapegrad's as "empty" and "full", by its kernel cache."""

    def __init__(self, task: str, peers: list[str], environment: Mapping[str, str], repeats: int) -> None:
        self.figures: dict[str, list[list[float]]] = {}
        self.failures: dict[str, str] = {}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            filled = {**environment, "TAPEGRAD_CACHE_DIR": cache}
            for _ in range(_FILLING_RUNS):
                self._add("filling", task, "tapegrad", filled)
            for _ in range(repeats):
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
                    self._add("empty", task, "tapegrad", {**environment, "TAPEGRAD_CACHE_DIR": empty})
                self._add("full", task, "tapegrad", filled)
                for peer in peers:
                    self._add(peer, task, peer, {})

    def _add(self, name: str, task: str, library: str, environment: Mapping[str, str]) -> None:
        try:
            self.figures.setdefault(name, []).append(run(task, library, environment))
        except RuntimeError as error:
            self.failures[name] = str(error)

    def values(self, name: str, figure: int | None) -> list[float]:
        """Return a figure of every run."""
        return [figures[-1 if figure is None else figure] for figures in self.figures.get(name, [])]

    def better(self, ours: str, peer: str, figure: int | None) -> float | None:
        """Return the median over the runs of a peer's figure over ours."""
        mine, theirs = self.values(ours, figure), self.values(peer, figure)
        if not mine or len(mine) != len(theirs):  # some failed
            return None
        return statistics.median(other / max(own, 1e-9) for own, other in zip(mine, theirs, strict=True))


def heading(peers: list[str]) -> str:
    """Return the line of column names."""
    times = "".join([f"{name:>12}" for name in ("tapegrad", *peers)])
    return f"{'':46}{'cache':6}{times}" + "".join([f"   {'over ' + peer:24}" for peer in peers]).rstrip()


def lines(task: Task, runs: Runs, peers: list[str]) -> Iterator[str]:
    """Yield the lines of a task: one for each kind of kernel cache."""
    for ours, required in (("empty", task.empty), ("full", task.full)):
        medians = "".join([f"{_median(runs.values(name, task.figure), task.unit):>12}" for name in (ours, *peers)])
        if task.limit is None:
            ends = [verdict(runs.better(ours, peer, task.figure), required.get(peer)) for peer in peers]
        else:
            most = max(runs.values(ours, task.figure), default=float("nan"))
            ends = [f"(≤ {task.limit:g} {task.unit}) {'holds' if most <= task.limit else 'NO'}"]
        yield (f"{task.title:46}{ours:6}{medians}" + "".join([f"   {text:24}" for text in ends])).rstrip()
    for name, message in runs.failures.items():
        yield f"{task.title:46}{name} FAILED: {message}"


def _median(values: list[float], unit: str) -> str:
    return f"{statistics.median(values):.3g} {unit}" if values else "-"


def main() -> int:
    """Measure and print; return 1 if a process failed."""
    names = [task.name for task in TASKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"what to measure (default: all): {' '.join(names)}")
    parser.add_argument("--mode", help="tapegrad's mode (default: its own)")
    parser.add_argument("--repeats", type=int, default=5, help="processes, of which medians are taken (default 5)")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in names]:
        parser.error(f"nothing is named {', '.join(unknown)}: choose of {', '.join(names)}")
    restart_with_threads(THREADS)
    environment = {} if arguments.mode is None else {"TAPEGRAD_MODE": arguments.mode}
    peers = [name for name in _PEERS if importlib.util.find_spec(name)]
    print(heading(peers))
    done: dict[str, Runs] = {}  # two figures may come of the same runs
    for task in TASKS:
        if arguments.names and task.name not in arguments.names:
            continue
        if task.task not in done:
            done[task.task] = Runs(task.task, peers, environment, 1 if task.slow else arguments.repeats)
        print(*lines(task, done[task.task], peers), sep="\n", flush=True)
    return int(any(runs.failures for runs in done.values()))


if __name__ == "__main__":
    sys.exit(main())
