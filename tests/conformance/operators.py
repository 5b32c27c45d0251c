"""PyTorch's database of operators: each with samples of its arguments, and arguments for which it raises."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

from . import translation

DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.float64, torch.float32, torch.int64, torch.bool)}
DTYPES.update(complex128=torch.complex128, float16=torch.float16, bfloat16=torch.bfloat16, uint8=torch.uint8, int32=torch.int32)


class Operator:
    """An operation of the database; its name is PyTorch's, and that of the variant after a dot."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        self.name = entry.name + (f".{entry.variant_test_name}" if entry.variant_test_name else "")
        self.is_elementwise = isinstance(entry, BinaryUfuncInfo | UnaryUfuncInfo)
        self.has_second_derivative = bool(entry.supports_gradgrad)

    def in_torch(self) -> Callable[..., Any]:
        return self.entry.op  # type: ignore[no-any-return]

    def in_tapegrad(self) -> Callable[..., Any]:
        """Return tapegrad's function, or raise AttributeError if there is none."""
        place: Any = torch
        for part in self.entry.name.split("."):
            place = getattr(place, part, None)
        if place is self.entry.op:
            return translation.attribute(self.entry.name)  # type: ignore[no-any-return]
        return translation.find(self.entry.op)  # type: ignore[no-any-return]

    def supports(self, dtype: str) -> bool:
        return DTYPES[dtype] in self.entry.dtypes

    def samples(self, dtype: str, limit: int | None = None, *, reference: bool = False) -> list[Any]:
        """Return samples of this dtype, at most `limit` of them, from all over the list."""
        wanted = DTYPES[dtype]
        requires_grad = bool(self.entry.supports_autograd) and (wanted.is_floating_point or wanted.is_complex)
        _seed()
        make = self.entry.reference_inputs if reference else self.entry.sample_inputs
        found = list(make("cpu", wanted, requires_grad=requires_grad))
        if limit is None or len(found) <= limit:
            return found
        return [found[place * len(found) // limit] for place in range(limit)]

    def errors(self) -> Iterator[Any]:
        """Return samples for which the operation raises, each with the error's class and a pattern of its text."""
        _seed()
        return iter(self.entry.error_inputs("cpu")) if self.entry.error_inputs_func is not None else iter(())


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@cache
def all_operators() -> dict[str, Operator]:
    """Return the operations of the database by name."""
    return {operator.name: operator for operator in map(Operator, op_db)}


def names_in(text: str) -> list[str]:
    """Return the names of operations in a list of them such as ``add*, sub*``, in which `*` means: differentiable."""
    return [name for name in re.split(r"[,\s]+", text.replace("*", "")) if name]
