"""Schedules that are a formula of the step."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .base import LRScheduler

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "PolynomialLR", "StepLR",
]

Factor = Callable[[int], float]

# By functions of the user's


class _ByFunctions(LRScheduler):
    """A schedule by one function a group."""

    def __init__(self, optimizer: Any, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(given) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(given)}")
        self.lr_lambdas = list(given)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the schedule's state; of the functions, what callable objects have."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy() for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` returned."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(_ByFunctions):
    """The initial rate times ``lr_lambda(step)``.

    >>> import tapegrad
    >>> optimizer = tapegrad.optim.SGD([tapegrad.zeros(1)], lr=1.0)
    >>> schedule = LambdaLR(optimizer, lambda step: 0.5**step)
    >>> optimizer.step(), schedule.step(), schedule.get_last_lr()
    (None, None, [0.5])
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The last rate times ``lr_lambda(step)``."""

    def __init__(self, optimizer: Any, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        groups = self.optimizer.param_groups
        return [group["lr"] * function(self.last_epoch) for function, group in zip(self.lr_lambdas, groups, strict=True)]


# Stairs


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return self._rates(None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the `milestones`."""

    def __init__(self, optimizer: Any, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch)
        return self._rates(None if times is None else self.gamma**times)

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` until step `total_iters`, then as it was."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._rates(self.factor)
        return self._rates(1.0 / self.factor if self.last_epoch == self.total_iters else None)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for rate in self.base_lrs]


# Slopes


class LinearLR(LRScheduler):
    """The rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._rates(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        slope = self.end_factor - self.start_factor
        return self._rates(1.0 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope))

    def _get_closed_form_lr(self) -> list[Any]:
        slope = self.end_factor - self.start_factor
        done = min(self.total_iters, self.last_epoch)
        return [rate * (self.start_factor + slope * done / self.total_iters) for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` at each step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return self._rates(None if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times ``(1 - step / total_iters) ** power``."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left, left_before = (1.0 - step / self.total_iters for step in (self.last_epoch, self.last_epoch - 1))
        return self._rates((left / left_before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * left**self.power for rate in self.base_lrs]


# Cosines


class CosineAnnealingLR(LRScheduler):
    """The rate along half a cosine, from the initial one to `eta_min` in `T_max` steps (and back)."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step, period, groups = self.last_epoch, self.T_max, self.optimizer.param_groups
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and step > 0:
            return [self.eta_min + (rate - self.eta_min) * (1 + math.cos(step * math.pi / period)) / 2 for rate in self.base_lrs]
        if (step - 1 - period) % (2 * period) == 0:
            lift = 1 - math.cos(math.pi / period)
            return [
                group["lr"] + (rate - self.eta_min) * lift / 2 for rate, group in zip(self.base_lrs, groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * step / period)) / (1 + math.cos(math.pi * (step - 1) / period))
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * height for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate along half a cosine, from the initial one to `eta_min`, again and again.

    The first time takes `T_0` steps, each further one `T_mult` times as many as the one before.
    """

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates for the next step, or for one given as a number that need not be whole."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            times = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**times - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**times
