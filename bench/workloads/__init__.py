"""The workloads, by name: each is written once for every torch-shaped library, and once for jax."""

from __future__ import annotations

from . import bundle, elementwise, gmm, hvp, lenet, lstm, mlp, rows, small, transformer
from .declare import Workload

_FAMILIES = (small, mlp, elementwise, rows, gmm, lstm, bundle, transformer, lenet, hvp)
WORKLOADS: dict[str, Workload] = {workload.name: workload for family in _FAMILIES for workload in family.WORKLOADS}
