"""Anomaly mode, which finds the operation that makes a reverse sweep fail or give NaN; it is slow."""

from __future__ import annotations

import warnings

from ..tape.modes import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _AnomalyMode:
    """Anomaly mode for the time of a `with` block, at the end of which it is as it was before."""

    def __init__(self) -> None:
        self.previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        set_anomaly_enabled(*self.previous)


class detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name for it
    """Find the operation that makes a reverse sweep fail, in a `with` block.

    Errors in `backward` come with a warning that shows where the operation was called, if that was in the block too. With
    `check_nan`, a gradient that is NaN is an error.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        super().__enter__()
        set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name for it
    """Set anomaly mode: at once, and as a context manager until its end.

    >>> import tapegrad
    >>> with set_detect_anomaly(True):
    ...     tapegrad.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        set_anomaly_enabled(mode, check_nan)
