"""The kernel cache on disk: one file a kernel, which processes may share.

A file lies under the hash of the kernel's text, of what the text imports, and of what compiled it (numba, llvmlite, the CPU), in
the folder TAPEGRAD_CACHE_DIR or the user's cache folder. It is there at once or not at all, and is looked at with suspicion:
what is damaged is not there. The files that have not been used for longest go when all of them take too much space.
"""

from __future__ import annotations

import hashlib
import os
import platform
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SIZE_LIMIT = 256 << 20  # bytes that all entries may take
_ENDING = ".kernel"
_UNFINISHED = ".part"
_MAGIC = b"tapegrad kernel 1\n"
_HEAD = len(_MAGIC) + 32
_EVERY = 64  # so many writes of a process come before the next look at the size
_STALE = 3600  # seconds after which an unfinished file belongs to a process that was killed

_writes = 0


@dataclass(frozen=True)
class Entry:
    """A file of the cache: where it is, its size, and when it was last used (seconds since 1970)."""

    path: Path
    size: int
    used: float


def folder() -> Path:
    """Return the folder of the kernel cache."""
    chosen = os.environ.get("TAPEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or str(Path.home())
        elif sys.platform == "darwin":
            base = str(Path.home() / "Library" / "Caches")
        else:
            base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return Path(_temporary().name)
    return Path(base) / "tapegrad"


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is this process's own and goes with it."""
    return tempfile.TemporaryDirectory(prefix="tapegrad-", ignore_cleanup_errors=True)


def path_of(source: str) -> Path:
    """Return where the object file of a source lies, or would. Raises ImportError where no compiler is installed."""
    return folder() / f"{hashlib.sha256((_surroundings() + source).encode()).hexdigest()[:40]}{_ENDING}"


@cache
def _surroundings() -> str:
    """Return what a kernel's machine code depends on besides its text."""
    import llvmlite
    import llvmlite.binding as llvm

    written = hashlib.sha256()
    here = Path(__file__).parent
    for file in [here / "compiling.py", *sorted((here / "vector_maths").glob("*.py"))]:
        written.update(file.read_bytes())
    features = sorted(name for name, has in llvm.get_host_cpu_features().items() if has)
    versions = [_version_of_numba(), llvmlite.__version__, platform.machine(), sys.platform]
    return "\n".join([*versions, llvm.get_host_cpu_name(), *features, written.hexdigest(), ""])


def _version_of_numba() -> str:
    """Return what tells numba's versions apart: importing numba, or what reads packages' metadata, takes longer than loading kernels."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        raise ImportError("numba is not installed")
    written = Path(spec.origin).with_name("_version.py")
    if written.exists():
        return written.read_text(encoding="utf-8")
    from importlib import metadata

    return metadata.version("numba")


def read(path: Path) -> tuple[str, bytes] | None:
    """Return the symbol and the object file at a path, or None if there are none. Raises ValueError if they are damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    unpacked = unpack(content)
    if unpacked is None:
        raise ValueError(f"{path} is damaged")
    try:
        os.utime(path)  # it is used: others go before it
    except OSError:
        pass
    return unpacked


def keep(path: Path, entry: bytes) -> None:
    """Write an entry: at once or not at all, so that no other process reads a half of it. Raises OSError if it cannot be."""
    global _writes
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # what is in it will be run
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if _writes % _EVERY == 0:
        evict()
    _writes += 1


def entries() -> list[Entry]:
    """Return the entries of the cache, the longest unused first."""
    return sorted(_files(_ENDING), key=lambda entry: entry.used)


def _files(ending: str) -> list[Entry]:
    found = []
    try:
        with os.scandir(folder()) as listing:
            for item in listing:
                if item.name.endswith(ending):
                    try:
                        status = item.stat()
                    except OSError:  # another process has deleted it meanwhile
                        continue
                    found.append(Entry(Path(item.path), status.st_size, status.st_mtime))
    except OSError:  # there is no such folder yet
        pass
    return found


def evict(limit: int | None = None) -> None:
    """Delete the entries that have not been used for longest, until the rest is within the limit."""
    limit = SIZE_LIMIT if limit is None else limit
    before = time.time() - _STALE
    _delete([entry for entry in _files(_UNFINISHED) if entry.used < before])
    found = entries()
    excess = sum(entry.size for entry in found) - limit
    chosen = []
    for entry in found:
        if excess <= 0:
            break
        chosen.append(entry)
        excess -= entry.size
    _delete(chosen)


def clear() -> list[Entry]:
    """Delete all entries and return them."""
    found = entries()
    return _delete(found + _files(_UNFINISHED))[: len(found)]


def _delete(chosen: list[Entry]) -> list[Entry]:
    deleted = []
    for entry in chosen:
        try:
            entry.path.unlink(missing_ok=True)
        except OSError:
            continue
        deleted.append(entry)
    return deleted


# The content of a file


def pack(symbol: str, code: bytes, source: str) -> bytes:
    """Return a cache entry: its parts with their lengths, behind a hash of all of them."""
    parts = [symbol.encode(), code, source.encode()]
    body = struct.pack("<3Q", *map(len, parts)) + b"".join(parts)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(content: bytes) -> tuple[str, bytes] | None:
    """Return the symbol and object file of a cache entry, or None if it is damaged."""
    parts = _parts(content)
    return None if parts is None else (parts[0].decode(), parts[1])


def source_of(content: bytes) -> str | None:
    """Return the source in a cache entry, or None if it is damaged."""
    parts = _parts(content)
    return None if parts is None else parts[2].decode()


def _parts(content: bytes) -> tuple[bytes, bytes, bytes] | None:
    body = content[_HEAD:]
    if not content.startswith(_MAGIC) or len(body) < 24 or hashlib.sha256(body).digest() != content[len(_MAGIC) : _HEAD]:
        return None
    symbol, code, _ = struct.unpack("<3Q", body[:24])
    end = 24 + symbol
    return body[24:end], body[end : end + code], body[end + code :]
