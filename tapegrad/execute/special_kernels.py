"""Kernels written for one primitive: what is no loop of elementwise steps and reductions, but needs no Python either.

`KERNELS` has for a primitive's name a function of the record and its operands (inputs in memory, with strides over their own
shapes, and numbers). It returns the kernel, its arguments and how it is split over calls, or several to be run in turn; or None,
and Python runs the record. Results are contiguous. A kernel that meets data which the record does not take (a position out of
range) returns 1: then the plan is interpreted, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import special_division, special_indexing, special_losses, special_movement, special_reductions, special_scans, special_vectors
from .channel_sums import lower_channel_sum
from .convolutions import lower_convolution, lower_convolution_input, lower_convolution_weight
from .memory import Written
from .pools import lower_max_pool, lower_mean_pool, lower_mean_pool_transpose, lower_scatter
from .products import lower_product


def _lower_sum(node: Any, operands: list[Any]) -> Written | None:
    """Sum on both sides of what is kept, or else between."""
    return lower_channel_sum(node, operands) or special_reductions.KERNELS["reduce_sum"](node, operands)


KERNELS: dict[str, Callable[[Any, list[Any]], Written | list[Written] | None]] = {
    **special_division.KERNELS,
    **special_indexing.KERNELS,
    **special_losses.KERNELS,
    **special_movement.KERNELS,
    **special_reductions.KERNELS,
    **special_scans.KERNELS,
    **special_vectors.KERNELS,
    "adaptive_avg_pool": lower_mean_pool,
    "adaptive_avg_pool_transpose": lower_mean_pool_transpose,
    "adaptive_max_pool": lower_max_pool,
    "avg_pool": lower_mean_pool,
    "avg_pool_transpose": lower_mean_pool_transpose,
    "convolution": lower_convolution,
    "convolution_input": lower_convolution_input,
    "convolution_weight": lower_convolution_weight,
    "matmul": lower_product,
    "matmul_nt": lower_product,
    "matmul_tn": lower_product,
    "max_pool": lower_max_pool,
    "pool_scatter": lower_scatter,
    "reduce_sum": _lower_sum,
}


def special_kernel(node: Any, operands: list[Any]) -> list[Written] | None:
    """Return the kernels for a record, or None if there are none for it."""
    lower = KERNELS.get(node.primitive.name)
    written = None if lower is None else lower(node, operands)
    return [written] if isinstance(written, Written) else written
