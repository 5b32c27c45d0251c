"""The compiling process: it gets the sources of kernels on its standard input, and fills the cache on disk.

`background.py` runs this file as a script, so that it listens before it imports what takes long. Messages are pickled, behind
their length: first the module search path, then pairs of a source and whether it is waited for. What is waited for is compiled
first, and answered by a `Reply`. The process ends with its input, that is, with its parent.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import sys
import threading
from collections import deque
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")
Reply = tuple[bytes | None, str]  # the cache entry, or None; and why there is none, or why it could not be kept on disk


def write_message(stream: BinaryIO, message: Any) -> None:
    """Write a message. Raises OSError if nobody reads it."""
    content = pickle.dumps(message)
    left = memoryview(_LENGTH.pack(len(content)) + content)
    while left:
        left = left[stream.write(left) :]


def read_message(stream: BinaryIO) -> Any:
    """Return the next message. Raises EOFError if there will be none."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return pickle.loads(_read(stream, length))  # noqa: S301 - the other end is tapegrad too


def _read(stream: BinaryIO, length: int) -> bytes:
    parts = []
    while length:
        part = stream.read(length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


class _Inbox:
    """What is to be compiled: first what is waited for, then the rest, each in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.waited_for: deque[str] = deque()
        self.others: deque[str] = deque()
        self.arrived = threading.Semaphore(0)

    def listen(self) -> None:
        """Take in messages until the parent ends, and this process with it."""
        try:
            while True:
                source, waits = read_message(self.stream)
                (self.waited_for if waits else self.others).append(source)
                self.arrived.release()
        finally:
            os._exit(0)

    def next(self) -> tuple[str, bool]:
        """Return the next source, and whether it is waited for."""
        self.arrived.acquire()
        return (self.waited_for.popleft(), True) if self.waited_for else (self.others.popleft(), False)


def _serve(inbox: _Inbox, output: BinaryIO) -> None:
    replies: dict[str, Reply] = {}  # which the disk does not have
    while True:
        source, waits = inbox.next()
        reply = replies.pop(source, None) or compile_entry(source)
        if waits:
            write_message(output, reply)
        elif reply[1]:
            replies[source] = reply


def compile_entry(source: str) -> Reply:
    """Compile a kernel, unless the disk has it, and keep it there."""
    from tapegrad.execute import disk_cache

    try:
        path = disk_cache.path_of(source)
        try:
            found = disk_cache.read(path)
        except ValueError:
            found = None
        if found is not None:
            return disk_cache.pack(*found, source), ""
        from tapegrad.execute.compiling import compile_kernel

        entry = disk_cache.pack(*compile_kernel(source), source)
    except Exception as error:  # whatever it is, the parent will say it
        return None, f"{type(error).__name__}: {error}"
    try:
        disk_cache.keep(path, entry)
    except OSError as error:
        return entry, str(error)
    return entry, ""


def main() -> None:
    """Compile what the input asks for, until it ends."""
    output = open(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever else is printed is no message
    stream = open(0, "rb", buffering=0, closefd=False)
    try:
        sys.path[:] = read_message(stream)
    except EOFError:
        return
    gc.set_threshold(100_000, 50, 50)  # compiling makes many objects, and most of them stay
    inbox = _Inbox(stream)
    threading.Thread(target=inbox.listen, daemon=True).start()
    _serve(inbox, output)


if __name__ == "__main__":
    main()
