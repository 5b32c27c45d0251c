"""The tape: recording, materialising, replay, views and modes."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Load `aliases` when it is first used: it needs primitives, which need the tape."""
    if name == "aliases":
        return import_module(f"{__name__}.aliases")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
