"""Compiling in the background: the parent's side of the compiling processes (`worker.py`).

The first process is started when the first kernel is asked for, others where many are asked for at once, and all of them end
with this one. Where none can be started, or one was killed, there is none any more, and kernels are compiled here, when they
are needed.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .threads import usable_cores
from .worker import Reply, read_message, write_message

_PIPE = 1 << 20  # bytes of sources that fit in the pipe before the worker has started to read
_SHARE = 8  # kernels for which a process more is worth its start
_MOST = 4  # processes
_CRASHES = [getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGILL", "SIGBUS", "SIGFPE")]


class Worker:
    """A compiling process. OSError and EOFError tell that it is no more."""

    def __init__(self) -> None:
        self.process = _start()
        self.sent = 0
        self.send(sys.path)

    def send(self, message: Any) -> None:
        self.sent += 1
        write_message(self.process.stdin, message)

    def receive(self) -> Reply:
        reply: Reply = read_message(self.process.stdout)
        return reply

    def end(self) -> None:
        self.process.kill()
        self._close()
        self.process.wait()

    def abandon(self) -> None:
        """In a forked child: the process is the parent's. The pipes are closed, so that it ends with the parent alone."""
        self._close()
        self.process.returncode = 0  # it is not this process that waits for it

    def _close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()


class Background:
    """The compiling processes. Callers see to it that one thread at a time uses them."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.is_possible = True
        self.pending: dict[str, Worker] = {}  # what has been sent, and is not loaded yet

    def request(self, source: str) -> None:
        """Let a process compile a kernel, some time."""
        if source not in self.pending:
            self._send(source, False)

    def fetch(self, source: str) -> Reply | None:
        """Return a kernel as soon as a process has compiled it; None if there is no process."""
        worker = self._send(source, True)
        if worker is None:
            return None
        try:
            return worker.receive()
        except (EOFError, OSError):
            return self._ended(worker)
        except BaseException:  # an interrupt: the answer will come when nobody waits for it
            self.stop()
            raise

    def done(self, source: str) -> None:
        """Take note that a kernel is loaded. When all are, one process is enough."""
        if self.pending.pop(source, None) is not None and not self.pending:
            for worker in self.workers[1:]:
                worker.end()
            del self.workers[1:]

    def stop(self) -> None:
        """End the processes; the next request starts another."""
        workers, self.workers, self.pending = self.workers, [], {}
        for worker in workers:
            worker.end()

    def forget(self) -> None:
        """In a forked child: the processes are the parent's."""
        workers, self.workers, self.pending = self.workers, [], {}
        for worker in workers:
            worker.abandon()

    def _send(self, source: str, waits: bool) -> Worker | None:
        """Send a source to the process that has it already, or has least to do; return None if there is none."""
        worker = self.pending.get(source) or self._least_busy()
        if worker is None:
            return None
        try:
            worker.send((source, waits))
        except OSError:
            if self._ended(worker) is None:
                return None
            return self._send(source, waits)  # it was another kernel that the compiler crashed at
        self.pending[source] = worker
        return worker

    def _least_busy(self) -> Worker | None:
        wanted = min(1 + len(self.pending) // _SHARE, usable_cores(), _MOST)
        if len(self.workers) < wanted and self.is_possible:
            try:
                if not _has_interpreter():
                    raise OSError("there is no Python to start")
                self.workers.append(Worker())
            except (OSError, ValueError):
                self.is_possible = False
        return min(self.workers, key=lambda worker: worker.sent, default=None)

    def _ended(self, worker: Worker) -> Reply | None:
        """Return what to make of a process that has ended while it was waited for: a compiler that crashes would do so here too."""
        code = worker.process.wait()
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
        process_group=0 if os.name == "posix" else None,  # Ctrl-C is for the parent
    )
    if sys.platform == "linux" and process.stdin is not None:
        import fcntl

        try:
            fcntl.fcntl(process.stdin.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:  # the user may not have that much
            pass
    return process


background = Background()
atexit.register(background.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.forget)
