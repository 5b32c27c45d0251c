"""A schedule that goes from one rate to another in a straight line."""

from __future__ import annotations

from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler

__all__ = ["LinearLR"]


class LinearLR(LRScheduler):
    """Multiplies the learning rates by a factor that goes linearly from one value to another, and stays there.

    Args:
        optimizer: the optimiser.
        start_factor: the factor of the first epoch.
        end_factor: the factor that it ends with.
        total_iters: the number of epochs until then.
        last_epoch: the epoch to resume after; -1 begins.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled_rates(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present_rates()
        way = self.end_factor - self.start_factor
        return self._scaled_rates(1.0 + way / (self.total_iters * self.start_factor + (self.last_epoch - 1) * way))

    def _get_closed_form_lr(self) -> list[Any]:
        way = self.end_factor - self.start_factor
        factor = self.start_factor + way * min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * factor for rate in self.base_lrs]
