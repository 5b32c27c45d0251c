"""Running a program in a library, and comparing what came out.

A program is a list of statements as text. In them `t` is the library, `np` NumPy, and `seen` a list that statements
append what they read to; ``values(seed, shape)`` makes data and ``c(number)`` a number, both others in each round. A
statement that raises leaves its name as it was, and the next one runs; so any part of a program is a program.
"""

from __future__ import annotations

import builtins
import warnings
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

SECOND_TIME = "Trying to backward through the graph a second time"
FIRST_NAMES = ("t", "np", "values", "c", "compiled", "__builtins__", "__warningregistry__")
INTERIOR = "leaf variable has been moved into the graph interior"
VERSION = "has been modified by an inplace operation"


class Failed:
    """An error that a statement raised: the line's number, the error's class and its text."""

    def __init__(self, line: int, error: Exception) -> None:
        self.line = line
        self.kind = type(error).__name__
        self.text = str(error)

    def __repr__(self) -> str:
        return f"line {self.line}: {self.kind}: {self.text}"

    @property
    def is_refusal(self) -> bool:
        """Whether PyTorch gave up where a leaf has become another operation's result, which tapegrad copes with."""
        return self.text == INTERIOR

    @property
    def is_of_sweep(self) -> bool:
        """Whether a reverse sweep raised because of what was released or modified."""
        return self.text.startswith(SECOND_TIME) or VERSION in self.text or self.is_refusal


class Outcome:
    """What a program did: the errors, in order, and what is there in the end, by name."""

    def __init__(self, failed: list[Failed], found: dict[str, Any]) -> None:
        self.failed = failed
        self.found = found


def values(seed: int, shape: tuple[int, ...], round_number: int = 0) -> np.ndarray[Any, Any]:
    """Return numbers in (-1, 1), no two of them alike."""
    size = int(np.prod(shape))
    return np.sin(np.arange(1.0, size + 1) * 1.7 + seed * 0.631 + round_number * 0.2113).reshape(shape)


def namespace(library: Any, round_number: int = 0) -> dict[str, Any]:
    """Return the names that a program finds in the beginning."""
    wrap = library.compile if hasattr(library, "kernels") else lambda function: function  # PyTorch's compiler takes minutes
    return {
        "t": library,
        "np": np,
        "seen": [],
        "values": lambda seed, shape: values(seed, shape, round_number),
        "c": lambda number: number + 0.0137 * round_number,
        "compiled": cache(lambda text: wrap(eval(text, {"t": library}))),  # noqa: S307 - texts of operations.py
    }


@cache
def compiled(statement: str) -> CodeType:
    """Return a statement's code."""
    return builtins.compile(statement, f"<{statement}>", "exec")


def execute(statement: str, names: dict[str, Any]) -> Exception | None:
    """Run one statement; return what it raised, without the frames, which would hold references."""
    try:
        exec(compiled(statement), names)
    except Exception as error:
        return error.with_traceback(None)
    return None


def run(library: Any, program: list[str], round_number: int = 0) -> Outcome:
    """Run a program and describe everything that it left."""
    names = namespace(library, round_number)
    failed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for line, statement in enumerate(program):
                error = execute(statement, names)
                if error is not None:
                    failed.append(Failed(line, error))
                del error
        finally:
            library.set_grad_enabled(True)
            library.set_default_dtype(library.float32)
        found = {name: describe(value) for name, value in names.items() if name not in FIRST_NAMES}
    return Outcome(failed, found)


def describe(value: Any) -> Any:
    """Return a value as numbers, strings, arrays and dicts of them."""
    if hasattr(value, "requires_grad") and hasattr(value, "stride"):
        return _describe_tensor(value)
    if isinstance(value, list | tuple):
        return [describe(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return {"dtype": str(value.dtype), "value": np.array(value)}
    return value


def _describe_tensor(tensor: Any) -> dict[str, Any]:
    described = {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": tuple(tensor.shape),
        "stride": tuple(tensor.stride()),
        "requires_grad": tensor.requires_grad,
        "is_leaf": is_leaf(tensor),
        "value": _value(tensor),
    }
    if tensor.numel() == 0 or 1 in tensor.shape:
        del described["stride"]
    grad = tensor.grad
    described["grad"] = None if grad is None else _describe_tensor(grad)
    if grad is not None and not np.any(described["grad"]["value"]):
        del described["grad"]["requires_grad"], described["grad"]["is_leaf"]  # whether zeros depend on something is free
    return described


def is_leaf(tensor: Any) -> bool | str:
    """Return whether a tensor is a leaf, or the error of a view that has no history of its root's new value."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError as error:
        return type(error).__name__


def _value(tensor: Any) -> Any:
    """Return a tensor's value, or, where reading it raises, the error (which no other run has)."""
    try:
        return np.array(tensor.tolist()).reshape(tuple(tensor.shape))
    except Exception as error:
        return error.with_traceback(None)


def difference(ours: Any, theirs: Any, tolerance: float, where: str = "") -> str | None:
    """Return the first difference of two descriptions in words, or None.

    Numbers differ by at most `tolerance` of the largest number that they stand with.
    """
    if isinstance(theirs, float) or isinstance(ours, float):
        ours, theirs = np.array(ours), np.array(theirs)
    if type(ours) is not type(theirs):
        return f"{where}: {ours!r}, not {theirs!r}"
    if isinstance(theirs, np.ndarray):
        return None if _near(ours, theirs, tolerance) else f"{where}:\n{ours!r}, not\n{theirs!r}"
    if isinstance(theirs, dict):
        keys = [*theirs, *[key for key in ours if key not in theirs]]
        missing = "nothing of that name"
        parts = [(f"{where}.{key}", ours.get(key, missing), theirs.get(key, missing)) for key in keys]
    elif isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} of them, not {len(theirs)}"
        parts = [(f"{where}[{place}]", ours[place], theirs[place]) for place in range(len(theirs))]
    else:
        return None if ours == theirs else f"{where}: {ours!r}, not {theirs!r}"
    for name, first, second in parts:
        found = difference(first, second, tolerance, name)
        if found is not None:
            return found
    return None


def _near(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], tolerance: float) -> bool:
    if ours.shape != theirs.shape:
        return False
    if tolerance == 0 or theirs.size == 0:
        return np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc")
    finite = theirs[np.isfinite(theirs)]
    scale = max(1.0, float(np.abs(finite).max())) if finite.size else 1.0
    return bool(np.allclose(ours, theirs, rtol=0, atol=tolerance * scale, equal_nan=True))


def first_other_error(ours: list[Failed], theirs: list[Failed], before: int) -> str | None:
    """Return the first line, of those before a number, that raised in one run and not alike in the other."""
    for mine, other in zip([*ours, None], [*theirs, None], strict=False):
        mine = None if mine is None or mine.line >= before else mine
        other = None if other is None or other.line >= before else other
        if (mine is None) != (other is None) or mine and other and (mine.line, mine.kind) != (other.line, other.kind):
            return f"raised {mine}, not {other}"
    return None
