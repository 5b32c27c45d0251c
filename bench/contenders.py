"""The libraries that do the workloads, each with as many threads: how to make its work, end it, and read its results."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads.declare import Work, Workload

THREADS = 2
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Contender:
    """A library, or a way to use one.

    ``make`` returns a workload's work, or None if there is none. ``finish`` waits until results are computed, as a program does
    that reads the loss; ``read`` returns a result as an array.
    """

    name: str
    make: Callable[[Workload], Work | None]
    finish: Callable[[Sequence[Any]], object]
    read: Callable[[Any], np.ndarray]


def restart_with_threads(count: int) -> None:
    """Start this program again on so many processors, with so many threads for each library; the second time, do nothing.

    The libraries read these limits when they are loaded, and jax counts the processors.
    """
    if all(os.environ.get(name) == str(count) for name in _LIMITS):
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])
    sys.stdout.flush()
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **dict.fromkeys(_LIMITS, str(count))})


def threads() -> int:
    """Return how many threads each library has."""
    return int(os.environ.get(_LIMITS[0], THREADS))


def contenders() -> list[Contender]:
    """Return tapegrad in the mode in use, its ``compile`` if it has one, and the peers that are installed."""
    import tapegrad

    found = [torch_shaped("tapegrad", tapegrad)]
    if hasattr(tapegrad, "compile"):
        found.append(Contender("compile", _made_compiled, _finish, _read))
    if importlib.util.find_spec("torch"):
        import torch

        found.append(torch_shaped("torch", torch))
    if importlib.util.find_spec("jax"):
        found.append(jax_contender())
    found.append(Contender("numpy", lambda workload: workload.make_numpy and workload.make_numpy(**workload.sizes), _already, np.asarray))
    return found


def torch_shaped(name: str, module: Any) -> Contender:
    """Return a library with PyTorch's names as a contender."""
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(threads())
    return Contender(name, lambda workload: workload.make(module, **workload.sizes), _finish, _read)


def jax_contender() -> Contender:
    """Return jax, on the CPU, with float64 where the inputs have it."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    return Contender("jax", lambda workload: workload.make_jax and workload.make_jax(**workload.sizes), jax.block_until_ready, np.asarray)


def _made_compiled(workload: Workload) -> Work | None:
    import tapegrad

    if not workload.required_compiled:
        return None
    compiled: Work = workload.make(tapegrad, tapegrad.compile, **workload.sizes)  # type: ignore[attr-defined]
    return compiled


def _finish(results: Sequence[Any]) -> object:
    return results[0].item()


def _read(result: Any) -> np.ndarray:
    array: np.ndarray = result.detach().numpy()
    return array


def _already(results: Sequence[Any]) -> object:
    return results
