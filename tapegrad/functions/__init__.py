"""Composed functions, by family: what users call, made of primitives."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Each module has `__all__`, its public functions, and METHODS, what it gives the tensor (or either).
FAMILIES = (
    "elementwise",
    "arithmetic",
    "choosing",
    "comparing",
    "reductions",
    "moments",
    "extremes",
    "shapes",
    "joining",
    "splitting",
    "arranging",
    "matrices",
    "contraction",
    "einsum",
    "reshaping_in_place",
    "view_copies",
    "strided",
    "properties",
    "converting",
    "filling",
    "creation",
    "from_data",
    "ranges",
    "indexing",
    "gathering",
    "masking",
    "sorting",
    "searching",
    "distances",
    "linear_algebra",
    "complex_numbers",
    "cumulative",
    "sampling",
    "sampling_in_place",
    "legacy",
)


def attach(tensor_class: type) -> None:
    """Give the tensor its methods."""
    for family in FAMILIES:
        methods: dict[str, Any] = getattr(import_module(f"{__name__}.{family}"), "METHODS", {})
        for name, method in methods.items():
            setattr(tensor_class, name, method)
