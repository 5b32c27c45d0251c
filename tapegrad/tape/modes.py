"""The ways to run: every record at once (eager), deferred and interpreted with NumPy (interpret), or compiled when hot (jit)."""

from __future__ import annotations

import os

NAMES = ("eager", "interpret", "jit")


class Mode:
    """The chosen mode; `eager` is read whenever a segment begins, `compiles` whenever a plan is run.

    Anomaly mode runs eagerly, whatever is chosen.
    """

    __slots__ = ("name", "eager", "compiles", "detects_anomaly", "checks_nan")

    def __init__(self, name: str) -> None:
        self.detects_anomaly = False
        self.checks_nan = True
        self.set(name)

    def set(self, name: str) -> None:
        if name not in NAMES:
            raise ValueError(f"unknown mode {name!r}: choose one of {', '.join(map(repr, NAMES))}")
        self.name = name
        self.eager = name == "eager" or self.detects_anomaly
        self.compiles = name == "jit"

    def set_anomaly(self, detects: bool, checks_nan: bool) -> None:
        self.detects_anomaly = detects
        self.checks_nan = checks_nan
        self.set(self.name)


def _from_environment() -> str:
    name = os.environ.get("TAPEGRAD_MODE", "jit")
    if name not in NAMES:
        raise ValueError(f"TAPEGRAD_MODE is {name!r}: set it to one of {', '.join(map(repr, NAMES))}, or unset it")
    return name


mode = _chosen = Mode(_from_environment())


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
    if name not in NAMES:
        mode.set(name)
    finish_segment()
    mode.set(name)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Choose whether errors in the reverse sweep name the operation and where it was called, and whether NaN is one.

    >>> set_anomaly_enabled(False)
    """
    for place, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {place}) must be bool, not {type(value).__name__}"
            )
    finish_segment()
    _chosen.set_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on.

    >>> is_anomaly_enabled()
    False
    """
    return mode.detects_anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode, when on, looks for NaN.

    >>> is_anomaly_check_nan_enabled()
    True
    """
    return mode.checks_nan


def finish_segment() -> None:
    """Materialise what is pending on this thread."""
    from .materialise import materialise
    from .segment import state

    materialise(state.segment)
