"""A schedule that falls along half a cosine."""

from __future__ import annotations

from math import cos, pi
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler

__all__ = ["CosineAnnealingLR"]


class CosineAnnealingLR(LRScheduler):
    """Lets the learning rates fall to `eta_min` along half a cosine, and rise again after it.

    Args:
        optimizer: the optimiser.
        T_max: the number of epochs until they are at the lowest.
        eta_min: the lowest rate.
        last_epoch: the epoch to resume after; -1 begins.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803 - PyTorch's name for it
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return self._present_rates()
        epoch, lowest = self.last_epoch, self.eta_min
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # just after the lowest point, from which no factor leads away
            rise = (1 - cos(pi / self.T_max)) / 2
            groups = zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            return [group["lr"] + (base - lowest) * rise for base, group in groups]
        factor = (1 + cos(pi * epoch / self.T_max)) / (1 + cos(pi * (epoch - 1) / self.T_max))
        return [factor * (group["lr"] - lowest) + lowest for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + cos(pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]
