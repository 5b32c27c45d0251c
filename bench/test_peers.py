"""The workloads of peers.py as a pytest-benchmark suite: `pytest bench/test_peers.py`, with `-k gmm` for one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contenders import Contender, contenders
from workloads import WORKLOADS

_LIBRARIES = {library.name: library for library in contenders()}


def _cases() -> list[Any]:
    """Return the workloads, each in every library that is installed."""
    return [
        pytest.param(workload, library, id=f"{workload.name}-{library.name}", marks=pytest.mark.benchmark(group=workload.title))
        for workload in WORKLOADS.values()
        for library in _LIBRARIES.values()
    ]


@pytest.mark.parametrize(("workload", "library"), _cases())
def test_workload(benchmark: Any, workload: Any, library: Contender) -> None:
    """A call of the workload, its loss read."""
    work = library.make(workload)
    if work is None:
        pytest.skip(f"not written for {library.name}")

    def call() -> Any:
        results = work()
        library.finish(results)
        return results

    results = benchmark(call)
    assert all(np.isfinite(library.read(result)).all() for result in results)
