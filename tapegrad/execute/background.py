"""Compiling in the background: the parent's side of the compiling process (`worker.py`).

The process is started when the first kernel is asked for, and ends with this one. Where none can be started, or it has died,
there is none any more, and kernels are compiled here, when they are needed.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .worker import Reply, read_message, write_message

_PIPE = 1 << 20  # bytes of sources that fit in the pipe before the worker has started to read
_CRASHES = [getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGILL", "SIGBUS", "SIGFPE")]


class Background:
    """At most one compiling process. Callers see to it that one thread at a time uses it."""

    def __init__(self) -> None:
        self.process: Any = None
        self.is_possible = True
        self.sent: set[str] = set()

    def request(self, source: str) -> None:
        """Let the process compile a kernel, some time."""
        if self._starts() and source not in self.sent:
            self.sent.add(source)
            self._send((source, False))

    def fetch(self, source: str) -> Reply | None:
        """Return a kernel as soon as the process has compiled it; None if there is no process."""
        if not self._starts() or not self._send((source, True)):
            return None
        try:
            reply: Reply = read_message(self.process.stdout)
        except (EOFError, OSError):
            return self._ended()
        except BaseException:  # an interrupt: the answer will come when nobody waits for it
            self.stop()
            raise
        return reply

    def stop(self) -> None:
        """End the process, if there is one; the next request starts another."""
        process, self.process = self.process, None
        self.sent.clear()
        if process is not None:
            process.kill()
            process.stdin.close()
            process.stdout.close()
            process.wait()

    def forget(self) -> None:
        """In a forked child: the process is the parent's. The pipes are closed, so that it ends with the parent alone."""
        process, self.process = self.process, None
        self.sent.clear()
        if process is not None:
            process.stdin.close()
            process.stdout.close()
            process.returncode = 0  # it is not this process that waits for it

    def _starts(self) -> bool:
        """Whether there is a process, or one could be started now."""
        if self.process is None and self.is_possible:
            self.is_possible = _has_interpreter()
            try:
                if self.is_possible:
                    self.process = _start()
                    self._send(sys.path)
            except (OSError, ValueError):
                self.is_possible = False
        return self.process is not None

    def _send(self, message: Any) -> bool:
        try:
            write_message(self.process.stdin, message)
        except OSError:
            self._give_up()
            return False
        return True

    def _ended(self) -> Reply | None:
        """Return what to make of a process that has ended while it was waited for: a compiler that crashes would do so here too."""
        code = self.process.wait()
        if -code in _CRASHES:
            self.stop()
            return None, f"the compiler crashed ({signal.Signals(-code).name})"
        self._give_up()
        return None

    def _give_up(self) -> None:
        self.stop()
        self.is_possible = False


def _has_interpreter() -> bool:
    """Whether the executable is Python, and no program that has Python in it."""
    return bool(sys.executable) and "python" in Path(sys.executable).name.lower() and not getattr(sys, "frozen", False)


def _start() -> Any:
    process = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(process.stdin.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)  # type: ignore[union-attr]
        except OSError:  # the user may not have that much
            pass
    return process


background = Background()
atexit.register(background.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.forget)
