"""Making a program that shows a difference as short as it gets."""

from __future__ import annotations

from collections.abc import Callable


def reduced(program: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Return a part of the program that still fails, of which no line can be left out."""
    size = max(len(program) // 2, 1)
    while True:
        start = 0
        shorter = False
        while start < len(program):
            candidate = program[:start] + program[start + size :]
            if fails(candidate):
                program = candidate
                shorter = True
            else:
                start += size
        if size == 1 and not shorter:
            return program
        size = max(size // 2, 1)
