"""How losses are reduced: the arguments that say it, and the sums and means."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...functions.declare import require_tensor
from ...functions.reductions import mean, sum
from ...primitives.reductions import reduce_sum
from ...tape.record import record

__all__ = ["chosen", "reduced", "reduced_as_one", "warn_of_sizes"]


def chosen(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return "none", "mean" or "sum", also from PyTorch's old arguments; raise ValueError for another reduction."""
    if size_average is not None or reduce is not None:
        average, reducing = size_average is not False, reduce is not False
        found = "none" if not reducing else "mean" if average else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=3
        )
        return found
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """Return the losses, their mean or their sum: an operation of its own."""
    if reduction == "mean":
        return mean(loss)
    return sum(loss) if reduction == "sum" else loss


def reduced_as_one(loss: Any, reduction: str) -> Any:
    """Return the losses, their mean or their sum, as part of the operation that made them."""
    if reduction == "none":
        return loss
    shape = loss._node.type.shape
    total = record(reduce_sum, (loss,), (tuple(range(len(shape))), False))
    return total / math.prod(shape) if reduction == "mean" else total


def warn_of_sizes(name: str, input: Any, target: Any) -> None:
    """Warn of a target of another size than the input, which is broadcast."""
    require_tensor(name, input)
    require_tensor(name, target, "target", 2)
    if target._node.type.shape != input._node.type.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
