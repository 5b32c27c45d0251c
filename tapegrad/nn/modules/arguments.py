"""Arguments that several modules have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _repeated(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def as_tuple(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count

    return as_tuple


# One value as many times, a sequence as it is.
single, pair, triple = _repeated(1), _repeated(2), _repeated(3)
