"""The ways to run: every record at once (eager), deferred and interpreted with NumPy (interpret), or compiled when hot (jit)."""

from __future__ import annotations

import os

NAMES = ("eager", "interpret", "jit")


class Mode:
    """The chosen mode; `eager` is read whenever a segment begins, `compiles` whenever a plan is run."""

    __slots__ = ("name", "eager", "compiles")

    def __init__(self, name: str) -> None:
        self.set(name)

    def set(self, name: str) -> None:
        if name not in NAMES:
            raise ValueError(f"unknown mode {name!r}: choose one of {', '.join(map(repr, NAMES))}")
        self.name = name
        self.eager = name == "eager"
        self.compiles = name == "jit"


def _from_environment() -> str:
    name = os.environ.get("TAPEGRAD_MODE", "interpret")
    if name not in NAMES:
        raise ValueError(f"TAPEGRAD_MODE is {name!r}: set it to one of {', '.join(map(repr, NAMES))}, or unset it")
    return name


mode = Mode(_from_environment())


def get_mode() -> str:
    """Return the name of the mode in use.

    >>> get_mode() in ("eager", "interpret", "jit")
    True
    """
    return mode.name


def set_mode(name: str) -> None:
    """Choose how the tape runs: "eager", "interpret" or "jit". What is pending on this thread is materialised first.

    Raises ValueError for another name.

    >>> set_mode(get_mode())
    """
    from .materialise import materialise
    from .segment import state

    if name not in NAMES:
        mode.set(name)
    materialise(state.segment)
    mode.set(name)
