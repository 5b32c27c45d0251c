"""Schedules that go up and down, of the momentum too."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from .base import LRScheduler, check_optimizer, one_for_each_group, set_value

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """A schedule that may set the momentum (the first beta of Adam) too."""

    cycle_momentum: bool
    use_beta1: bool

    def _set_up_momentum(self, optimizer: Any, base: Any, most: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Let the momentum of each group begin at its largest value; return the smallest and largest of each."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        least = one_for_each_group("base_momentum", optimizer, base)
        largest = one_for_each_group("max_momentum", optimizer, most)
        if last_epoch == -1:
            for low, high, group in zip(least, largest, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return least, largest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """The rate from `base_lr` to `max_lr` in `step_size_up` steps, and back in `step_size_down`, again and again.

    Args:
        optimizer: whose learning rates to set.
        base_lr: the lowest rate; one for all groups, or a list.
        max_lr: the highest rate.
        step_size_up: how many steps it takes to go up.
        step_size_down: how many to go down; by default as many.
        mode: "triangular" (all cycles alike), "triangular2" (each half as high as the last), "exp_range" (each step `gamma`
            times as high as the last).
        gamma: for "exp_range".
        scale_fn: a function for the height instead of a mode.
        scale_mode: whether that is one of the number of the "cycle" or of the steps ("iterations").
        cycle_momentum: whether the momentum goes the other way, from `max_momentum` to `base_momentum`.
        base_momentum: its lowest value.
        max_momentum: its highest value.
        last_epoch: the number of the last step; -1 begins anew.
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = one_for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = "iterations" if scale_fn is None and mode == "exp_range" else "cycle" if scale_fn is None else scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        height: float = 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x
        return height

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for low, high, group in zip(self.base_momentums, self.max_momentums, groups, strict=True):
                self._set_momentum(group, high - (high - low) * share * scale)
        return [low + (high - low) * share * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the schedule's state; of a function for the height, what a callable object has."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        is_object = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` returned."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


# One phase of OneCycleLR: its last step, and the names of where rate and momentum begin and end.
Phase = dict[str, Any]


class OneCycleLR(_WithMomentum):
    """The rate up to `max_lr` once, and down to far below where it began; the momentum the other way.

    Args:
        optimizer: whose learning rates to set.
        max_lr: the highest rate; one for all groups, or a list.
        total_steps: the number of steps; or else `epochs` times `steps_per_epoch`.
        epochs: see total_steps.
        steps_per_epoch: see total_steps.
        pct_start: which share of the steps goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether the momentum is set too.
        base_momentum: its lowest value.
        max_momentum: its highest value.
        div_factor: the rate begins at `max_lr` divided by this.
        final_div_factor: it ends at that divided by this.
        three_phase: whether the way down is first as long as the way up.
        last_epoch: the number of the last step; -1 begins anew.
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        rates = one_for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(rates, optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phases = self._schedule_phases
        place = next((i for i, phase in enumerate(phases) if step <= phase["end_step"]), len(phases) - 1)
        phase = phases[place]
        first = phases[place - 1]["end_step"] if place else 0.0
        share = (step - first) / (phase["end_step"] - first)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(start, end, share))
        return rates


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    def checked(name: str, value: Any) -> int:
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total_steps is not None:
        return checked("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return checked("epochs", epochs) * checked("steps_per_epoch", steps_per_epoch)


def _phases(share: float, total: int, three_phase: bool) -> list[Phase]:
    def phase(end_step: float, rates: str, momentums: str) -> Phase:
        names = dict(zip(("start_lr", "end_lr"), rates.split(), strict=True))
        return {"end_step": end_step, **names, **dict(zip(("start_momentum", "end_momentum"), momentums.split(), strict=True))}

    up = phase(float(share * total) - 1, "initial_lr max_lr", "max_momentum base_momentum")
    if not three_phase:
        return [up, phase(total - 1, "max_lr min_lr", "base_momentum max_momentum")]
    return [
        up,
        phase(float(2 * share * total) - 2, "max_lr initial_lr", "base_momentum max_momentum"),
        phase(total - 1, "initial_lr min_lr", "max_momentum max_momentum"),
    ]
