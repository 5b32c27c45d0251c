"""What schedules have in common: they set the learning rate of each group of an optimizer, step by step."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..optimizer import Group, Optimizer, as_scalar

__all__ = ["LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
    f"`optimizer.step()` before `lr_scheduler.step()`. {_SEE}"
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first "
    f"value of the learning rate schedule. {_SEE}"
)
_NOT_RESUMABLE = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


def values_of(optimizer: Any, key: str) -> list[Any]:
    """Return an option of each group."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_value(group: Group, key: str, value: Any) -> None:
    """Set an option of a group; one that is a tensor gets the value in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(as_scalar(value))
    else:
        group[key] = value


def one_for_each_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """Return one value a group, from a list or one value for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {groups}."
        )
    return list(value)


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Sets the learning rate of an optimizer's groups; subclasses define `get_lr`.

    Args:
        optimizer: whose learning rates to set.
        last_epoch: the number of the last step; -1 begins anew.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _get_closed_form_lr: Callable[[], list[Any]] | None = None

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(_NOT_RESUMABLE.format(place))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the first learning rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return the schedule's state: everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that were set last."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the learning rates for the step `last_epoch`, from those that are set."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates for the next step."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = self._get_closed_form_lr
        self._set_rates(closed_form if epoch is not None and closed_form is not None else self.get_lr)

    def _set_rates(self, compute: Callable[[], list[Any]]) -> None:
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3
            )

    def _rates(self, factor: float | None = None) -> list[Any]:
        """Return the learning rates that are set, times a factor."""
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def _note_steps(optimizer: Any) -> None:
    """Have the optimizer note that `step` was called, for the warning about calls in the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__

    @functools.wraps(function)
    def step(*arguments: Any, **options: Any) -> Any:
        self = reference()
        self._opt_called = True  # type: ignore[union-attr]
        return function(self, *arguments, **options)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step
