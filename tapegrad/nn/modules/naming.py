"""Names of what a module has inside, and of classes in its errors."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor


def typename(value: Any) -> str:
    """Return a class's name as PyTorch's errors show it: ``torch.FloatTensor``, ``int``, ``package.Class``."""
    if isinstance(value, Tensor):
        name: str = value.type()
        return name
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", None) else f"{module}.{kind.__qualname__}"


def check_name(kind: str, name: Any, module: Any, present: dict[str, Any]) -> None:
    """Raise for a name that a parameter, buffer or submodule cannot have."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if kind == "module" and hasattr(module, name) and name not in present:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f"{kind} name can't contain \".\"" + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in present:
        raise KeyError(f"attribute '{name}' already exists")


def indented(text: str, spaces: int) -> str:
    """Return a text with all lines but the first indented."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in rest]])
