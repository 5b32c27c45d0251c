"""LRScheduler: what schedules of the learning rate are instances of."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensor import Tensor
from ..optimizer import Optimizer
from ..updating import number

__all__ = ["LRScheduler"]

_EPOCH_IS_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_STEP_IS_ANOTHER = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
    "`optimizer.step()` before `lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_STEPPED_FIRST = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    "first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


class LRScheduler:
    """Sets the learning rates of an optimiser's groups, epoch by epoch.

    A subclass defines `get_lr`: the rates of the epoch ``self.last_epoch``, from the present ones, in
    ``self.optimizer.param_groups``, or from those of the start, in ``self.base_lrs``.

    Args:
        optimizer: the optimiser.
        last_epoch: the epoch to resume after; -1 begins.

    Raises:
        TypeError: it is no optimiser.
        KeyError: it is to be resumed, but the groups do not say what rates they began with (`initial_lr`).
    """

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _step_count: int
    _last_lr: list[Any]
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = [own(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimiser."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the rates that the last step set, by group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the rates that a step sets now, by group; `get_last_lr` is what to call outside a step."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=2
            )
        return self._rates()

    def _rates(self) -> list[Any]:
        """Return the rates of the epoch `last_epoch`, by group."""
        raise NotImplementedError

    def _present_rates(self) -> list[Any]:
        return [own(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled_rates(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or, deprecated, to `epoch`) and set its learning rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch()
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn where the optimiser was not stepped first."""
        if getattr(self.optimizer, "_watched_step", None) is not _function_of(self.optimizer.step):
            warnings.warn(_STEP_IS_ANOTHER, UserWarning, stacklevel=3)
        elif not self.optimizer._opt_called:
            warnings.warn(_STEPPED_FIRST, UserWarning, stacklevel=3)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._present_rates()


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def own(rate: Any) -> Any:
    """Return a rate that a later change of the group's does not change: a copy of one that is a tensor."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Set a group's rate: in place where it is a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(number(rate))
    else:
        group["lr"] = rate


def warn_of_epoch() -> None:
    """Warn that the argument `epoch` of a step is deprecated."""
    warnings.warn(_EPOCH_IS_DEPRECATED, UserWarning, stacklevel=3)


def _watch(optimizer: Any) -> None:
    """Note from now on whether the optimiser is stepped, and by what function."""
    if not hasattr(optimizer, "_watched_step"):
        optimizer._watched_step = _function_of(optimizer.step)
        optimizer._opt_called = False


def _function_of(method: Any) -> Any:
    return getattr(method, "__func__", method)
