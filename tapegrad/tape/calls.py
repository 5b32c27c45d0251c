"""Where operations were called, which is noted in anomaly mode alone."""

from __future__ import annotations

import traceback
import weakref
from pathlib import Path
from typing import Any

from .segment import Segment

_PACKAGE = str(Path(__file__).parent.parent)
_calls: Any = weakref.WeakKeyDictionary()  # segment: {slot: stack}


def note_call(segment: Segment, slot: int) -> None:
    """Note where in the user's program the operation was called whose result is at this slot."""
    stack = traceback.StackSummary.extract(traceback.walk_stack(None), lookup_lines=False)
    frames = [frame for frame in reversed(stack) if not frame.filename.startswith(_PACKAGE)]
    _calls.setdefault(segment, {})[slot] = traceback.StackSummary.from_list(frames)


def call_of(segment: Segment, slot: int) -> str | None:
    """Return the traceback of the call that made the value at this slot, if it was noted."""
    stack = _calls.get(segment, {}).get(slot)
    return None if stack is None else "".join(stack.format())
