"""Functions that are written as Python source: plans' and programs'. Those with the same text are compiled by Python once.

What a plan does to another shape has the same text, as what differs is among the names: Python's compiler takes longer for it
than for anything else in a plan. The code is kept as long as a function with that text is there.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakValueDictionary

_codes: WeakValueDictionary[str, CodeType] = WeakValueDictionary()


def function_of(source: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """Return the function that a source defines, for which these names are the global ones."""
    code = _codes.get(source)
    if code is None:
        module = compile(source, "<tapegrad>", "exec")
        code = _codes[source] = next(part for part in module.co_consts if isinstance(part, CodeType))
    # Each has a copy to run: Python notes in the code where it has found the names.
    return FunctionType(code.replace(), {**names, "the code it shares": code})
