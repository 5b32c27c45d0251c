"""Machine code in this process: object files are loaded with llvmlite, and called through ctypes.

numba is not needed for it (its import would take longer than many a program): it is imported where a kernel is compiled.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

Function = Callable[[int, int, int], int]
_SIGNATURE = (ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_ssize_t)
_PROTOTYPE, _WITH_LOCK = ctypes.CFUNCTYPE(*_SIGNATURE), ctypes.PYFUNCTYPE(*_SIGNATURE)

_lock = threading.Lock()  # after a fork, kernels.py makes another
_engine: Any = None


def load(symbol: str, code: bytes) -> int:
    """Return the address of a function of an object file, which stays loaded.

    Raises RuntimeError if it is no object file for this machine, or needs what this process does not have.
    """
    import llvmlite.binding as llvm

    with _lock:
        engine = _open_engine(llvm)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address: int = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"the object file has no function {symbol!r}")
    return address


def function_at(address: int, keeps_lock: bool = False) -> Function:
    """Return a Python function that calls machine code with three integers, without the interpreter's lock unless it `keeps_lock`."""
    return (_WITH_LOCK if keeps_lock else _PROTOTYPE)(address)


def _open_engine(llvm: Any) -> Any:
    global _engine
    if _engine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        _engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    return _engine
