"""Golden outcomes: what expressions give in PyTorch, kept in text files so that tests need no PyTorch.

A file in ``golden/`` is a list of expressions, each followed by its outcome, indented. In an expression `t` is the library
and `np` NumPy. Run this module to write the outcomes anew after adding expressions: ``python -m tests.functions.outcomes``.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

# Of these warnings, PyTorch shows the first only, so whether an expression gives one depends on what ran before.
ONCE = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow",
    "This type of warning will be suppressed for the rest of this program",
    "unspecified requires_grad now defaults to obj.requires_grad",
    "Converting a tensor with requires_grad=True to a scalar",
    "Casting complex values to real discards the imaginary part",
)
FOLDER = Path(__file__).parent / "golden"


def read(name: str) -> dict[str, str]:
    """Return the expressions of a file and their outcomes."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if line.startswith("    "):
            lines.append(line[4:])
        elif line and not line.startswith("#"):
            lines = found[line] = []
    return {expression: "\n".join(outcome) for expression, outcome in found.items()}


def outcome(library: Any, expression: str) -> str:
    """Return what an expression gives from seed 0: the tensor, other value or error, and the warnings before it."""
    library.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = _show(eval(expression, {"t": library, "np": np}))
        except Exception as error:
            shown = f"{type(error).__name__}: {_message(error)}"
    shown_warnings = [f"{entry.category.__name__}: {_message(entry.message)}" for entry in caught]
    return "\n".join([line for line in shown_warnings if not any(part in line for part in ONCE)] + [shown])


def agrees(found: str, golden: str) -> bool:
    """Whether an outcome is the golden one; where that has no message, the error's class is all that counts."""
    kind, _, message = golden.partition(": ")
    return found.startswith(kind + ": ") if message == "..." else found == golden


def _message(error: Any) -> str:
    """Return an error's message, without what only PyTorch's argument parser and sources say."""
    message = str(error)
    if "invalid combination of arguments" in message or "required positional argument" in message:
        return "..."
    return re.sub(r" \(Triggered internally at .*?\)\.?$", "", message).strip()


def _show(value: Any) -> str:
    if hasattr(value, "requires_grad") and hasattr(value, "stride"):
        name = str(value.dtype).removeprefix("torch.")
        grad = ", requires grad" if value.requires_grad else ""
        return f"{name} {list(value.shape)}, strides {list(value.stride())}{grad}\n{value.tolist()}"
    return repr(value)


def _write(library: Any) -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
        blocks = [
            "\n".join([expression, *["    " + line for line in outcome(library, expression).splitlines()]])
            for expression in read(path.stem)
        ]
        path.write_text("\n".join([*comments, *blocks]) + "\n")


if __name__ == "__main__":
    import torch

    _write(torch)
