"""Kernels: from source to the address of machine code, through memory and the cache on disk.

A kernel is known by its text. Its object file lies in the cache folder under the hash of the text, of what the text
imports, and of what compiled it (numba, llvmlite, the CPU): TAPEGRAD_CACHE_DIR, or the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import struct
import sys
import tempfile
import threading
import warnings
from functools import cache
from importlib import metadata
from pathlib import Path

from . import native

_MAGIC = b"tapegrad kernel 1\n"
_addresses: dict[str, int] = {}
_lock = threading.Lock()
_warned = False


def address_of(source: str) -> int:
    """Return the address of the kernel of this source: loaded, from the disk, or compiled now."""
    found = _addresses.get(source)
    if found is not None:
        return found
    with _lock:
        found = _addresses.get(source)
        if found is None:
            found = _addresses[source] = _from_disk(source) or _compiled(source)
    return found


def sources() -> list[str]:
    """Return the sources of the kernels that this process has loaded."""
    return list(_addresses)


def folder() -> Path:
    """Return the folder of the kernel cache."""
    chosen = os.environ.get("TAPEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home())
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tapegrad"


def path_of(source: str) -> Path:
    """Return where the object file of a source lies, or would."""
    return folder() / f"{hashlib.sha256((_surroundings() + source).encode()).hexdigest()[:40]}.kernel"


@cache
def _surroundings() -> str:
    """Return what a kernel's machine code depends on besides its text."""
    import llvmlite.binding as llvm

    written = hashlib.sha256()
    here = Path(__file__).parent
    for file in [here / "compiling.py", *sorted((here / "vector_maths").glob("*.py"))]:
        written.update(file.read_bytes())
    features = sorted(name for name, has in llvm.get_host_cpu_features().items() if has)
    versions = [metadata.version("numba"), metadata.version("llvmlite"), platform.machine(), sys.platform]
    return "\n".join([*versions, llvm.get_host_cpu_name(), *features, written.hexdigest(), ""])


def _from_disk(source: str) -> int | None:
    """Return the address of a kernel from the cache; None if it is not there, or damaged."""
    try:
        content = path_of(source).read_bytes()
    except OSError:
        return None
    unpacked = unpack(content)
    if unpacked is None:
        return None
    try:
        return native.load(*unpacked)
    except RuntimeError:
        return None


def _compiled(source: str) -> int:
    from .compiling import compile_kernel

    symbol, code = compile_kernel(source)
    keep(source, symbol, code)
    return native.load(symbol, code)


def keep(source: str, symbol: str, code: bytes) -> None:
    """Write an object file to the cache: at once or not at all, so that no other process reads a half of it."""
    global _warned
    path = path_of(source)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(pack(symbol, code, source))
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        if not _warned:
            _warned = True
            warnings.warn(
                f"tapegrad cannot keep compiled kernels in {path.parent}: {error}. They are compiled anew in every process; set "
                "TAPEGRAD_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )


def pack(symbol: str, code: bytes, source: str) -> bytes:
    """Return a cache entry: its parts with their lengths, behind a hash of all of them."""
    parts = [symbol.encode(), code, source.encode()]
    body = struct.pack("<3Q", *map(len, parts)) + b"".join(parts)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(content: bytes) -> tuple[str, bytes] | None:
    """Return the symbol and object file of a cache entry, or None if it is damaged."""
    begin = len(_MAGIC) + 32
    body = content[begin:]
    if not content.startswith(_MAGIC) or len(body) < 24 or hashlib.sha256(body).digest() != content[len(_MAGIC) : begin]:
        return None
    symbol, code, _ = struct.unpack("<3Q", body[:24])
    return body[24 : 24 + symbol].decode(), body[24 + symbol : 24 + symbol + code]


def source_of(content: bytes) -> str | None:
    """Return the source in a cache entry, or None if it is damaged."""
    if unpack(content) is None:
        return None
    body = content[len(_MAGIC) + 32 :]
    symbol, code, _ = struct.unpack("<3Q", body[:24])
    return body[24 + symbol + code :].decode()
