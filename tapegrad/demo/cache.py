"""The cache of compiled kernels on disk, for the command line: its size, a list of it, and how to clear it."""

from __future__ import annotations

import time

from ..execute import disk_cache

ACTIONS = ("size", "list", "clear")


def run_cache(action: str) -> int:
    """Print what the cache has, or delete it; return 0, or 1 where not all of it could be deleted."""
    entries = disk_cache.entries()
    if action == "list":
        for entry in entries:
            print(_line(entry))
    if action == "clear":
        deleted = disk_cache.clear()
        print(f"deleted {_amount(deleted)} of {disk_cache.folder()}")
        if len(deleted) < len(entries):
            print(f"{len(entries) - len(deleted):,} could not be deleted")
            return 1
    else:
        print(f"{disk_cache.folder()}: {describe()}")
    return 0


def describe() -> str:
    """Return how much is in the cache, and how much may be."""
    return f"{_amount(disk_cache.entries())} of at most {disk_cache.SIZE_LIMIT >> 20} MiB"


def _amount(entries: list[disk_cache.Entry]) -> str:
    size = sum(entry.size for entry in entries)
    shown = f"{size / 1024:,.1f} KiB" if size < 1 << 20 else f"{size / (1 << 20):,.1f} MiB"
    return f"{len(entries):,} kernel{'s' if len(entries) != 1 else ''}, {shown}"


def _line(entry: disk_cache.Entry) -> str:
    """Return a line on an entry: when it was last used, its size, its name, and what is in it."""
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
    return f"{used}  {entry.size:>9,} bytes  {entry.path.stem[:12]}  {_summary(entry)}"


def _summary(entry: disk_cache.Entry) -> str:
    try:
        source = disk_cache.source_of(entry.path.read_bytes())
    except OSError:
        source = None
    if source is None:
        return "damaged"
    return f"{len(source.splitlines())} lines of source"
