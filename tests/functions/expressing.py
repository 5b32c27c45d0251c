"""Expressions, and what they give in PyTorch: values, dtypes, layouts, names of operations, gradients, errors.

A file in ``expressions/`` lists expressions, one a line, each followed by its outcome in PyTorch, indented. In them `t` is
the library, `T` its function `tensor`, and the other letters are the tensors that `operands` makes. What comes before a
semicolon is executed first. Run this module to write the outcomes anew: ``python -m tests.functions.expressing [file]``.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "expressions"
TOLERANCE = 1e-5
# The same of all tensors, so that it is not written down: contiguous, without history.
PLAIN = {"dtype": "float32", "strides": None, "grad_fn": None}


def operands(library: Any) -> dict[str, Any]:
    """Return the tensors that expressions are about, new ones each time."""

    def tensor(array: Any, requires_grad: bool = False) -> Any:
        made = library.tensor(array.tolist(), dtype=getattr(library, array.dtype.name))
        return made.requires_grad_() if requires_grad else made

    def grid(*shape: int) -> Any:
        return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    return {
        "x": tensor(grid(2, 3) - 1.5, True),
        "p": tensor(grid(2, 3) / 4 + 0.25, True),
        "a": tensor(np.array([0.5, -1.0, 2.0], np.float32), True),
        "c": tensor(np.array([[1 + 2j, -1j], [0.5, 2 - 1j]], np.complex64), True),
        "s": tensor(np.array(2.0, np.float32), True),
        "w": tensor(grid(2, 3)),
        "v": tensor(grid(4)),
        "y": tensor(grid(2, 3, 4)),
        "d": tensor(np.array([1.0, 2.0, 3.0])),
        "n": tensor(np.array([1.0, np.nan, -np.inf, np.inf, 0.0], np.float32)),
        "e": tensor(grid(0, 3)),
        "i": tensor(np.array([[0, 1, 1], [1, 0, 0]])),
        "k": tensor(np.array([1, 0])),
        "j": tensor(np.array([3, -1, 2, 2])),
        "u": tensor(np.array([1, 2, 200], np.uint8)),
        "m": tensor(grid(2, 3) > 2),
        "b": tensor(np.array([True, False, True])),
    }


def outcome(library: Any, source: str) -> Any:
    """Return what an expression gives, as plain values."""
    tensors = operands(library)
    named = {name: tensor for name, tensor in tensors.items() if re.search(rf"\b{name}\b", source)}
    space = {"t": library, "T": library.tensor, "inf": float("inf"), "nan": float("nan"), **tensors}
    statements, _, expression = source.rpartition(";")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(statements, space)
            result = eval(expression.strip(), space)
            found: dict[str, Any] = {"result": _described(result)}
            gradients = _gradients(library, result, named)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {_message(error)}"}
    if gradients:
        found["gradients"] = gradients
    return found


def _gradients(library: Any, result: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of the results, contracted with fixed weights, for the leaves that are in the expression."""
    leaves = {name: tensor for name, tensor in named.items() if tensor.requires_grad and tensor.is_leaf}
    outputs = [part for part in _tensors(result) if part.requires_grad and part.grad_fn is not None]
    if not leaves or not outputs:
        return {}
    weights = [_weight(library, output) for output in outputs]
    gradients = library.autograd.grad(outputs, list(leaves.values()), weights, allow_unused=True)
    return {name: None if g is None else _numbers(g) for name, g in zip(leaves, gradients, strict=True)}


def _weight(library: Any, like: Any) -> Any:
    values = np.cos(np.arange(np.prod(tuple(like.shape), dtype=int)) * 1.7 + 0.3).reshape(tuple(like.shape))
    return library.tensor(values.tolist()).reshape(tuple(like.shape)).to(like.dtype)


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in _tensors(part)]
    return [value] if hasattr(value, "requires_grad") else []


def _described(value: Any) -> Any:
    """Return a result as plain values; of a tensor, what is not as it is of most."""
    if isinstance(value, (tuple, list)):
        names = [value.__class__.__name__] if hasattr(value, "__match_args__") or hasattr(value, "fields") else []
        return [*names, *[_described(part) for part in value]]
    if not hasattr(value, "requires_grad"):
        return value if isinstance(value, (bool, int, str, type(None))) else repr(value)
    grad_fn = None if value.grad_fn is None else type(value.grad_fn).__name__
    found = {"dtype": str(value.dtype).removeprefix("torch."), "strides": _strides(value), "grad_fn": grad_fn}
    shape = {"shape": list(value.shape)} if value.numel() == 0 else {}
    return {**{key: entry for key, entry in found.items() if entry != PLAIN[key]}, **shape, "values": _numbers(value)}


def _strides(value: Any) -> list[int] | None:
    """Return the strides of the dimensions that have any, or None for a contiguous tensor."""
    if value.is_contiguous() or value.numel() == 0:
        return None
    return [stride for stride, length in zip(value.stride(), value.shape, strict=True) if length > 1]


def _numbers(tensor: Any) -> Any:
    values = tensor.detach()
    if values.dtype.is_complex:
        array = np.array(values.tolist())
        return {"real": _rounded(array.real.tolist()), "imag": _rounded(array.imag.tolist())}
    return _rounded(values.tolist())


def _rounded(values: Any) -> Any:
    if isinstance(values, list):
        return [_rounded(value) for value in values]
    return float(f"{values:.7g}") if isinstance(values, float) else values


def _message(error: Exception) -> str:
    """Return an error's message, without what only PyTorch's argument parser says."""
    message = str(error)
    if isinstance(error, TypeError) and ("invalid combination" in message or "required positional" in message):
        return "..."
    return re.sub(r" \(position \d+\)", "", message).strip()


# Comparing


def agrees(found: Any, golden: Any) -> bool:
    """Whether an outcome is the golden one, numbers up to a small relative error."""
    if isinstance(golden, dict) and isinstance(found, dict):
        if "error" in golden and "error" in found:
            return bool(found["error"].startswith(golden["error"].removesuffix("...")))  # ours may add what it is about
        return found.keys() == golden.keys() and all(agrees(found[key], golden[key]) for key in golden)
    if isinstance(golden, list) and isinstance(found, list):
        return len(found) == len(golden) and all(map(agrees, found, golden))
    if isinstance(golden, float) and isinstance(found, float):
        return bool(np.isclose(found, golden, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
    return type(found) is type(golden) and bool(found == golden)


# Files


def read(path: Path) -> dict[str, Any]:
    """Return the expressions of a file and their golden outcomes."""
    found: dict[str, Any] = {}
    source = ""
    for line in path.read_text().splitlines():
        if line.startswith("    "):
            found[source] = json.loads(line)
        elif line and not line.startswith("#"):
            source = line
            found[source] = None
    return found


def _write(library: Any, path: Path) -> None:
    """Write the outcomes of all expressions of a file; comments and blank lines stay."""
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith("    "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines.append("    " + json.dumps(outcome(library, line)))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    import torch

    for file in sorted(FOLDER.glob("*.txt")):
        if not sys.argv[1:] or file.stem in sys.argv[1:]:
            _write(torch, file)
