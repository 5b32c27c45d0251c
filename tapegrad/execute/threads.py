"""Threads: helpers that take chunks of large instructions, so that all cores work on them.

Which chunks there are depends on sizes alone, and their results go by the chunk's number: who computes which does not matter.
A helper is a Python thread that stays in machine code (`executor.HELP`). It sleeps by reading from a pipe, where the executor
writes. They share large matrix products too; BLAS, whose threads would take the processors from them, has one meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

from . import kernels, native
from .executor import HELP, PLACES, SMALL

_MOST = 64  # threads: as many bytes wake them
_lock = threading.Lock()


def usable_cores() -> int:
    """Return how many cores this process may use, which a container or `taskset` can make fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _from_environment() -> int:
    given = os.environ.get("TAPEGRAD_NUM_THREADS")
    if given is None:
        return min(usable_cores(), _MOST)
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"TAPEGRAD_NUM_THREADS is {given!r}: set it to a positive number, or unset it")
    return min(int(given), _MOST)


class Pool:
    """The helpers, and the memory in which the executor and they agree."""

    def __init__(self, threads: int) -> None:
        self.threads = threads  # with the one that asks for help
        self.helpers: list[threading.Thread] = []
        self.is_ready = False
        self.ends: tuple[int, ...] = ()
        self.memory = np.zeros(PLACES["BYTES"] // 8 + _MOST // 8 + 8, np.int64)
        address = self.memory.__array_interface__["data"][0]
        self.first = -address % 64 // 8  # no word shares a cache line with what is not the pool's
        self.address = address + 8 * self.first

    def word(self, name: str, value: int) -> None:
        """Write a word that machine code reads."""
        self.memory[self.first + PLACES[name] // 8] = value

    def ready(self) -> int:
        """Return the pool's address, with the helpers there; 0 if there are none."""
        if not self.is_ready:
            with _lock:
                if not self.is_ready:
                    self._start()
                    self.is_ready = True
        return self.address if self.helpers else 0

    def _start(self) -> None:
        if self.threads < 2 or os.name != "posix":
            return
        if not self.ends:
            self.ends = os.pipe()
            library: Any = ctypes.CDLL(None)
            for name, function in [("READ", library.read), ("WRITE", library.write), ("YIELD", library.sched_yield)]:
                self.word(name, ctypes.cast(function, ctypes.c_void_p).value or 0)
            self.word("READ_END", self.ends[0])
            self.word("WRITE_END", self.ends[1])
        self.word("STOP", 0)
        self.word("ASLEEP", 0)
        help_at = kernels.address_of(HELP)
        for number in range(1, self.threads):
            helper = threading.Thread(target=_help, args=(help_at, self.address), name=f"tapegrad-{number}", daemon=True)
            try:
                helper.start()
            except RuntimeError:  # no more threads, or the interpreter is about to end
                break
            self.helpers.append(helper)

    def stop(self) -> None:
        """End the helpers; the next large instruction starts others."""
        with _lock:
            if self.helpers:
                self.word("STOP", 1)
                os.write(self.ends[1], bytes(len(self.helpers)))
                for helper in self.helpers:
                    helper.join()
            self.helpers = []
            self.is_ready = False

    def forget(self) -> None:
        """In a forked child: the helpers and the pipe are the parent's."""
        for end in self.ends:
            os.close(end)
        self.ends = ()
        self.helpers = []
        self.is_ready = False
        self.memory[:] = 0


def _help(help_at: native.Address, address: int) -> None:
    import signal

    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the threads of the program
    native.function_at(help_at)(address, 0, 0)


def get_num_threads() -> int:
    """Return how many threads share large instructions.

    >>> get_num_threads() >= 1
    True
    """
    return pool.threads


def set_num_threads(number: int) -> None:
    """Choose how many threads share large instructions (as TAPEGRAD_NUM_THREADS does); results are the same with any number.

    Raises RuntimeError for what is no positive int. NumPy has threads of its own, which interpreted plans use.

    >>> set_num_threads(get_num_threads())
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    number = min(number, _MOST)
    if number != pool.threads:
        pool.stop()
        pool.threads = number


def is_large(count: int, step: int) -> bool:
    """Whether an instruction is shared with helpers."""
    return count > SMALL * step


pool = Pool(_from_environment())


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
