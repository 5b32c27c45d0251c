"""Schedules that fall at certain epochs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler

__all__ = ["MultiStepLR", "StepLR"]


class StepLR(LRScheduler):
    """Multiplies the learning rates by `gamma` every `step_size` epochs.

    Args:
        optimizer: the optimiser.
        step_size: the number of epochs with one rate.
        gamma: the factor.
        last_epoch: the epoch to resume after; -1 begins.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._present_rates()
        return self._scaled_rates(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the learning rates by `gamma` at each of certain epochs.

    Args:
        optimizer: the optimiser.
        milestones: the epochs; one that is listed twice counts twice.
        gamma: the factor.
        last_epoch: the epoch to resume after; -1 begins.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return self._present_rates()
        return self._scaled_rates(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]
