"""Kernels: from source to the address of machine code, through memory, the cache on disk, and the compiling process.

A kernel is known by its text. What goes wrong on the way is worth one warning: it is compiled in another way, or the plan that
wants it stays interpreted.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from . import native
from .arenas import arenas

LIMIT = 4000  # kernels that are loaded, each of about 40 KB
_addresses: dict[str, native.Address] = {}
_records: dict[str, tuple[str, ...]] = {}  # of a kernel's source: the primitives that it does the work of
_warned: set[str] = set()
_is_requested = False  # anything, in the background
_lock = threading.RLock()


class NoKernel(Exception):  # noqa: N818 - it is no error of the user's: the plan stays interpreted
    """A kernel cannot be had."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that this process has loaded: its name (a hash of its source), the primitives fused into it, and the source."""

    name: str
    records: tuple[str, ...]
    source: str

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {', '.join(self.records) or 'no records'}>"

    def __str__(self) -> str:
        return f"# kernel {self.name}: {', '.join(self.records)}\n{self.source}"


def kernels() -> list[Kernel]:
    """Return the kernels that this process has loaded, in order: which records each one does the work of, and its source.

    Printed, a list of them shows one line a kernel, such as `<kernel 4b6cd1a09a7e: multiply, add, tanh, reduce_sum>`; a kernel
    by itself is printed with its source.

    >>> import tapegrad
    >>> fused = [kernel for kernel in tapegrad.kernels() if len(kernel.records) > 1]
    """
    import hashlib

    return [Kernel(hashlib.sha256(source.encode()).hexdigest()[:12], _records.get(source, ()), source) for source in list(_addresses)]


def note_records(source: str, records: Iterable[str]) -> None:
    """Remember which primitives a kernel does the work of, for those who ask."""
    if len(_records) >= 2 * LIMIT:
        for known in [known for known in list(_records) if known not in _addresses]:
            _records.pop(known, None)
    _records.setdefault(source, tuple(records))


def request(sources: Iterable[str]) -> None:
    """Let the kernels of these sources be compiled in the background, where they are not there yet."""
    global _is_requested
    from . import disk_cache
    from .background import background

    _is_requested = True
    try:
        with _lock:
            missing = [source for source in sources if source not in _addresses and not disk_cache.path_of(source).exists()]
            for source in missing:
                background.request(source)
    except (ImportError, OSError):  # it is said when they are needed
        pass


def address_of(source: str) -> native.Address:
    """Return the address of the kernel of this source, as soon as it is there. Raises NoKernel if it cannot be had.

    The kernel is there as long as somebody has the address.
    """
    found = _addresses.get(source)
    if found is not None:
        return found
    with _lock:
        found = _addresses.get(source)
        if found is None:
            if len(_addresses) >= LIMIT:
                _make_room()
            found = _addresses[source] = _load(source)
            if _is_requested:
                from .background import background

                background.done(source)
    return found


def _make_room() -> None:
    """Give up the kernels of programs that have not run since the last time; of all if need be. Raises NoKernel if it is not enough."""
    for are_all in (False, True):
        arenas.release(are_all)
        _forget_unused()
        if len(_addresses) <= LIMIT // 2:
            return
    if len(_addresses) >= LIMIT:
        raise NoKernel(f"a process may have {LIMIT} kernels, and so many are in use: what is new is interpreted")


def _forget_unused() -> None:
    """Forget the kernels of libraries of which no program has a kernel."""
    loaded = [(source, int(address), weakref.ref(address.library)) for source, address in _addresses.items()]
    _addresses.clear()
    for source, address, reference in loaded:
        library = reference()
        if library is not None:
            _addresses[source] = native.Address(address, library)


def _load(source: str) -> native.Address:
    from . import disk_cache  # here: what it imports takes long, and a short script needs none of it

    try:
        path = disk_cache.path_of(source)
    except (ImportError, OSError) as error:
        raise NoKernel(f"nothing can be compiled, so everything is interpreted: {_text(error)}") from error
    try:
        found = disk_cache.read(path)
        if found is not None:
            return native.load(*found)
    except (ValueError, RuntimeError) as error:
        warn_once("damaged", f"an entry of the kernel cache is compiled anew: {error}")
    return native.load(*_compiled(source))


def _compiled(source: str) -> tuple[str, bytes]:
    """Return the symbol and the object file of a source, compiled by the worker, or here if there is none."""
    from . import disk_cache
    from .background import background
    from .worker import compile_entry

    entry, complaint = background.fetch(source) or compile_entry(source)
    unpacked = None if entry is None else disk_cache.unpack(entry)
    if unpacked is None:
        raise NoKernel(f"a kernel cannot be compiled, so what needs it is interpreted: {complaint}")
    if complaint:
        warn_once(
            "not kept",
            f"compiled kernels cannot be kept in {disk_cache.folder()}: {complaint}. They are compiled anew in every process; set "
            "TAPEGRAD_CACHE_DIR to a folder that can be written",
        )
    return unpacked


def warn_once(kind: str, text: str) -> None:
    """Give a warning, the first time that there is one of its kind."""
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(f"tapegrad: {text}.", RuntimeWarning, stacklevel=2)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _after_fork() -> None:
    """In a forked child: whoever held the lock is not here."""
    global _lock
    _lock = threading.RLock()
    native._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
