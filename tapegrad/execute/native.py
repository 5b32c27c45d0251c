"""Machine code in this process: object files are loaded with llvmlite, and called through ctypes.

numba is not needed for it (its import would take longer than many a program): it is imported where a kernel is compiled.
An engine of LLVM gives its code back when it goes, all at once. One has a few object files: it takes a while to make.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

Function = Callable[[int, int, int], int]
_SIGNATURE = (ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_ssize_t)
_PROTOTYPE, _WITH_LOCK = ctypes.CFUNCTYPE(*_SIGNATURE), ctypes.PYFUNCTYPE(*_SIGNATURE)

_FILES = 64  # object files of an engine

_lock = threading.Lock()  # after a fork, kernels.py makes another
_library: Library | None = None  # the one that is not full yet


class Library:
    """Object files that are loaded together, for as long as there is an address of one of their functions."""

    def __init__(self, llvm: Any) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self.files = 0


class Address(int):
    """Where a function is, which is there as long as this object."""

    library: Library

    def __new__(cls, value: int, library: Library) -> Address:
        made = super().__new__(cls, value)
        made.library = library
        return made


def load(symbol: str, code: bytes) -> Address:
    """Return the address of a function of an object file, which stays loaded as long as somebody has the address.

    Raises RuntimeError if it is no object file for this machine, or needs what this process does not have.
    """
    global _library
    import llvmlite.binding as llvm

    with _lock:
        if _library is None or _library.files >= _FILES:
            _library = Library(llvm)
        library = _library
        library.files += 1
        library.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        library.engine.finalize_object()
        address = library.engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"the object file has no function {symbol!r}")
    return Address(address, library)


def function_at(address: int, keeps_lock: bool = False) -> Function:
    """Return a Python function that calls machine code with three integers, without the interpreter's lock unless it `keeps_lock`."""
    return (_WITH_LOCK if keeps_lock else _PROTOTYPE)(address)
