"""The table of primitives, one file a family. A family is loaded when something first uses it."""

from __future__ import annotations

from importlib import import_module

FAMILIES = (
    "arithmetic",
    "casting",
    "comparison",
    "contraction",
    "convolution",
    "copying",
    "cumulative",
    "indexing",
    "linalg",
    "losses",
    "marks",
    "movement",
    "picking",
    "pooling",
    "reductions",
    "reinterpretation",
    "rows",
    "rounding",
    "selection",
    "sorting",
    "special",
    "striding",
    "transcendental",
)


def load_all() -> None:
    """Load every family, so that ``declare.TABLE`` holds the whole table."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
