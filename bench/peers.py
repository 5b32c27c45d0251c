"""Whether tapegrad is as fast as it has to be, beside PyTorch eager and jax.jit in one run.

    python bench/peers.py [names] [--mode interpret] [--rounds 15] [--warm-up 1.0] [--best] [--threads 2]

Every workload (bench/workloads) is made in each library from the same inputs, and the results of the first call are compared.
After a warm-up the libraries take turns in rounds, each with as many threads. The table has the median time of a step, and the median
over rounds of tapegrad's speed over the peer's, with what is required and whether it holds. Peers that are not installed are
left out. "numpy" is the computation of the value alone. Times are of this machine; the ratios are what to compare. On a machine
that does other work too, two threads wait for each other: --threads 1, and --best, the best times and their ratios, say more there.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tapegrad
from contenders import THREADS, Contender, contenders, restart_with_threads, threads
from workloads import WORKLOADS
from workloads.declare import Workload

_TURN = 0.02  # seconds that a turn takes, if a call takes less
_WARM_UP_CALLS = 3  # at least
_OURS = ("tapegrad", "compile")
# What has to be faster than NumPy's value alone is the two elementwise functions together.
_TOGETHER = ("waves", "polynomial")


@dataclass
class Measurement:
    """What was measured of a workload: by contender, the first call's seconds and a step's in every round, or what went wrong."""

    workload: Workload
    first: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    best: bool = False

    def typical(self, name: str) -> float | None:
        """Return the median time of a step (the best, if that is asked for)."""
        if name not in self.rounds:
            return None
        return min(self.rounds[name]) if self.best else statistics.median(self.rounds[name])

    def speed_over(self, ours: str, peer: str) -> float | None:
        """Return the median over rounds of our speed over a peer's (of the best times, if those are asked for)."""
        if ours not in self.rounds or peer not in self.rounds:
            return None
        if self.best:
            return min(self.rounds[peer]) / min(self.rounds[ours])
        pairs = zip(self.rounds[ours], self.rounds[peer], strict=True)
        return statistics.median(theirs / mine for mine, theirs in pairs)


def measure(workload: Workload, libraries: Sequence[Contender], rounds: int, warm_up: float, best: bool = False) -> Measurement:
    """Measure a workload in the libraries that can do it; one that fails does not stop the others."""
    measurement = Measurement(workload, best=best)
    calls: dict[str, Callable[[], Sequence[Any]]] = {}
    results: dict[str, list[np.ndarray]] = {}
    for library in libraries:
        with _reporting(measurement, library.name, calls):
            call = _call(workload, library)
            if call is None:
                continue
            begin = time.perf_counter()
            first = call()
            measurement.first[library.name] = time.perf_counter() - begin
            results[library.name] = [np.array(library.read(result)) for result in first]
            calls[library.name] = call
    for name, message in differences(results, workload.tolerance).items():
        measurement.failures[name] = message
        del calls[name]
    repeats: dict[str, int] = {}
    for name, call in list(calls.items()):
        with _reporting(measurement, name, calls):
            repeats[name] = _warm_up(call, warm_up)
    gc.collect()
    for _ in range(rounds):
        for name, call in list(calls.items()):
            with _reporting(measurement, name, calls):
                measurement.rounds.setdefault(name, []).append(_seconds(call, repeats[name]) / workload.steps)
    return measurement


@contextmanager
def _reporting(measurement: Measurement, name: str, calls: dict[str, Any]) -> Iterator[None]:
    """Note what a contender raises, and leave it out from then on."""
    try:
        yield
    except Exception as error:
        measurement.failures[name] = _in_a_line(error)
        measurement.rounds.pop(name, None)
        calls.pop(name, None)


def _call(workload: Workload, library: Contender) -> Callable[[], Sequence[Any]] | None:
    work = library.make(workload)
    if work is None:
        return None

    def call() -> Sequence[Any]:
        results = work()
        library.finish(results)
        return results

    return call


def differences(results: Mapping[str, Sequence[np.ndarray]], tolerance: float) -> dict[str, str]:
    """Return what differs from the peers' results (tapegrad's own, without peers), by contender."""
    reference = next((name for name in ("torch", "jax") if name in results), None) or next(iter(results), None)
    found = {}
    for name, arrays in results.items():
        # NumPy has the value alone, and none of the gradients.
        pairs = list(zip(arrays, results[reference or name], strict=name != "numpy"))
        furthest = max(_distance(*pair) for pair in pairs)
        if not furthest <= tolerance:
            found[name] = f"its results differ from those of {reference} by {furthest:.1e}, more than {tolerance:.0e}"
    return found


def _distance(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, relative to the largest value."""
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return float("nan")
    return float(np.abs(mine - theirs).max() / (np.abs(theirs).max() + np.finfo(theirs.dtype).tiny))


def _warm_up(call: Callable[[], object], seconds: float) -> int:
    """Call for some seconds; return how many calls a turn takes."""
    end = time.perf_counter() + seconds
    taken: list[float] = []
    while len(taken) < _WARM_UP_CALLS or time.perf_counter() < end:
        taken.append(_seconds(call, 1))
    return max(1, round(_TURN / statistics.median(taken[-_WARM_UP_CALLS:])))


def _seconds(call: Callable[[], object], repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def _in_a_line(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip().split("\n")[0]


class Table:
    """The printed table: a line for tapegrad on each workload, and one for tapegrad.compile where something is required of it."""

    def __init__(self, peers: Sequence[str]) -> None:
        self.peers = peers
        self.width = max(len(workload.title) for workload in WORKLOADS.values()) + len(", compiled")

    def heading(self) -> Iterator[str]:
        """Yield the line of column names."""
        times = "".join([f"{name:>10}" for name in ("tapegrad", *self.peers)])
        yield f"{'a step':{self.width}}{times}" + "".join([f"   {'over ' + name:24}" for name in self.peers if name != "numpy"]).rstrip()

    def lines(self, measurement: Measurement) -> Iterator[str]:
        """Yield the lines of a workload."""
        workload = measurement.workload
        for ours, required in ((_OURS[0], workload.required), (_OURS[1], workload.required_compiled)):
            if ours not in measurement.rounds:
                continue
            title = workload.title + (", compiled" if ours == "compile" else "")
            times = "".join([f"{_time(measurement.typical(name)):>10}" for name in (ours, *self.peers)])
            verdicts = [verdict(measurement.speed_over(ours, name), required.get(name)) for name in self.peers if name != "numpy"]
            yield (f"{title:{self.width}}{times}" + "".join([f"   {text:24}" for text in verdicts])).rstrip()
        for name, message in measurement.failures.items():
            yield f"{workload.title:{self.width}}  {name} FAILED: {message}"

    def first_calls(self, measurements: Sequence[Measurement]) -> Iterator[str]:
        """Yield the table of the first calls' times."""
        names = [name for name in (*_OURS, *self.peers) if any(name in measurement.first for measurement in measurements)]
        yield f"{'the first call':{self.width}}" + "".join([f"{name:>10}" for name in names])
        for measurement in measurements:
            times = "".join([f"{_time(measurement.first.get(name)):>10}" for name in names])
            yield f"{measurement.workload.title:{self.width}}{times}"


def verdict(ratio: float | None, required: float | None) -> str:
    """Return a ratio with what is required of it, and whether it holds."""
    if ratio is None:
        return "-"
    if required is None:
        return f"{ratio:7.2f}"
    return f"{ratio:7.2f} (≥ {required:g}) {'holds' if ratio >= required else 'NO'}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    unit, factor = next(((unit, factor) for unit, factor in (("s", 1.0), ("ms", 1e3)) if seconds * factor >= 1), ("µs", 1e6))
    return f"{seconds * factor:.3g} {unit}"


def together(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Yield whether the two elementwise functions and their gradients together take less than NumPy's values alone."""
    both = [measurement for measurement in measurements if measurement.workload.name in _TOGETHER]
    mine = [seconds for measurement in both if (seconds := measurement.typical("tapegrad")) is not None]
    alone = [seconds for measurement in both if (seconds := measurement.typical("numpy")) is not None]
    if len(mine) == len(alone) == len(_TOGETHER):
        yield f"the two elementwise functions with gradients, over NumPy's values alone: {verdict(sum(alone) / sum(mine), 1)}"


def main() -> int:
    """Measure and print; return 1 if a workload failed or its results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"workloads (default: all): {' '.join(WORKLOADS)}")
    parser.add_argument("--mode", help="tapegrad's mode (default: the one in use)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds, of which medians are taken (default 15)")
    parser.add_argument("--warm-up", type=float, default=1.0, help="seconds of calls before the rounds, each library (default 1)")
    parser.add_argument("--best", action="store_true", help="the best time of the rounds instead of the median")
    parser.add_argument("--threads", type=int, default=THREADS, help=f"threads of each library (default {THREADS})")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in WORKLOADS]:
        parser.error(f"no workload {', '.join(unknown)}: choose of {', '.join(WORKLOADS)}")
    restart_with_threads(arguments.threads)
    if arguments.mode is not None:
        tapegrad.set_mode(arguments.mode)
    libraries = contenders()
    print(f"tapegrad {tapegrad.get_mode()} mode, NumPy {np.__version__}, Python {sys.version.split()[0]}, threads: {threads()}")
    table = Table([library.name for library in libraries if library.name not in _OURS])
    print(*table.heading(), sep="\n")
    measurements = []
    for name in arguments.names or WORKLOADS:
        measurements.append(measure(WORKLOADS[name], libraries, arguments.rounds, arguments.warm_up, arguments.best))
        print(*table.lines(measurements[-1]), sep="\n", flush=True)
    print(*together(measurements), "", *table.first_calls(measurements), sep="\n")
    return int(any(measurement.failures for measurement in measurements))


if __name__ == "__main__":
    sys.exit(main())
