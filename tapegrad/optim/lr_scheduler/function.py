"""A schedule that is a function of the epoch."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler

__all__ = ["LambdaLR"]


class LambdaLR(LRScheduler):
    """Multiplies the learning rates that the groups began with by a function of the epoch.

    Args:
        optimizer: the optimiser.
        lr_lambda: a function from the epoch to the factor, or a list of them, one for each group.
        last_epoch: the epoch to resume after; -1 begins.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], Any]]
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimiser; of the functions, the attributes of those that are objects of a class."""
        result = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambdas")}
        result["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy() for function in self.lr_lambdas
        ]
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; the functions stay, and those that are objects get their attributes."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)

    def _rates(self) -> list[Any]:
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]
