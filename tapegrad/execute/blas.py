"""The BLAS that multiplies matrices in machine code: addresses of `gemm` in the library that NumPy itself has loaded.

So there is one library with one pool of threads. Where NumPy's does not show its routines, SciPy's are taken.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_LETTERS = {"f4": "s", "f8": "d"}
# How the routine may be called (with ? for the letter), and the convention: its order of elements and bits of an integer.
_NAMES = {
    "scipy_cblas_?gemm64_": "rows64",
    "cblas_?gemm64_": "rows64",
    "cblas_?gemm$NEWLAPACK$ILP64": "rows64",
    "scipy_cblas_?gemm": "rows32",
    "cblas_?gemm": "rows32",
}


# How BLAS is asked for its number of threads, and told another.
_THREADS = [
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
]
_MANY = 1 << 18  # multiplications in a product that OpenBLAS would share with its threads
_guard = np.zeros(5, np.int64)  # see `begin_alone` in compiling


class Routine(NamedTuple):
    """A `gemm`: its address, and the name of what calls it (see compiling)."""

    address: int
    caller: str


@cache
def gemm(kind: str) -> Routine | None:
    """Return the routine for a kind of element, or None if there is none for it."""
    return (_of_numpy(kind) or _of_scipy(kind)) if kind in _LETTERS else None


def _of_numpy(kind: str) -> Routine | None:
    for library in _libraries():
        for name, convention in _NAMES.items():
            found = getattr(library, name.replace("?", _LETTERS[kind]), None)
            if found is not None:
                return Routine(_address(found), f"product_{convention}_{kind}")
    return None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def is_large(multiplications: int) -> bool:
    """Whether OpenBLAS would share a product with its threads, which would take the processors from our helpers."""
    return multiplications > _MANY


@cache
def guard() -> int:
    """Return the address of the words with which runs keep BLAS to one thread (see `begin_alone`); 0 if there is no way."""
    for library in _libraries():
        for names in _THREADS:
            found = [getattr(library, name, None) for name in names]
            if None not in found:
                _guard[3:] = [_address(function) for function in found]
                return int(_guard.ctypes.data)
    return 0


def _after_fork() -> None:
    """In a forked child: whoever was in a kernel is not here."""
    if _guard[1]:
        ctypes.CFUNCTYPE(None, ctypes.c_int)(int(_guard[4]))(int(_guard[2]))
    _guard[:3] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _libraries() -> list[Any]:
    """Return the libraries to search: NumPy's module finds what it depends on, but on Windows, where a wheel has it beside NumPy."""
    try:
        from numpy._core import _multiarray_umath as module  # type: ignore[attr-defined]
    except ImportError:
        return []
    beside = Path(np.__file__).parents[1] / "numpy.libs"
    libraries = []
    for path in [module.__file__, *sorted(beside.glob("*openblas*.dll"))]:
        try:
            libraries.append(ctypes.CDLL(str(path)))
        except OSError:
            continue
    return libraries


def _of_scipy(kind: str) -> Routine | None:
    try:
        from scipy.linalg import cython_blas
    except ImportError:
        return None
    capsule = getattr(cython_blas, "__pyx_capi__", {}).get(f"{_LETTERS[kind]}gemm")
    if capsule is None:
        return None
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Routine(pointer_of(capsule, name_of(capsule)), f"product_columns_{kind}")
