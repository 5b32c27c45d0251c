"""Arenas: the memory for what no one outside a program sees. All of them together are bounded.

A program keeps its arena from run to run. When there is too much of it, programs that have not run since the last look give
theirs back first (the clock algorithm); they get another when they run again. So it is with kernels, when there are too many.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

LIMIT = 1 << 30  # bytes of all arenas; one program may have more, alone


class Holder(Protocol):
    """A program, as far as it matters here."""

    was_used: bool
    arena_size: int

    def release(self) -> bool:
        """Give the arena and the kernels back, unless they are in use; return whether they were given back."""


class Arenas:
    """The programs that have an arena now, in the order in which they got it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders: list[weakref.ref[Holder]] = []

    def admit(self, program: Holder) -> None:
        """Make room for the arena of a program."""
        with self.lock:
            holders = [holder for holder in self.present() if holder is not program]
            excess = sum([holder.arena_size for holder in holders]) + program.arena_size - LIMIT
            if excess > 0:
                holders.sort(key=lambda holder: holder.was_used)  # those that are unused come first, else in order
                kept = []
                for holder in holders:
                    holder.was_used = False
                    if excess > 0 and holder.release():
                        excess -= holder.arena_size
                    else:
                        kept.append(holder)
                holders = kept
            self.holders = [weakref.ref(holder) for holder in [*holders, program]]

    def release(self, are_all: bool) -> None:
        """Let programs give up what they have: those that have not run since the last look, or all; not those that run now."""
        with self.lock:
            kept = []
            for holder in self.present():
                if not ((are_all or not holder.was_used) and holder.release()):
                    kept.append(weakref.ref(holder))
                holder.was_used = False
            self.holders = kept

    def present(self) -> list[Holder]:
        """Return the programs that have an arena and are still there."""
        return [holder for reference in self.holders if (holder := reference()) is not None]

    def total(self) -> int:
        """Return how many bytes all arenas have."""
        return sum([holder.arena_size for holder in self.present()])


arenas = Arenas()


def _after_fork() -> None:
    """In a forked child: whoever held the lock is not here."""
    arenas.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
