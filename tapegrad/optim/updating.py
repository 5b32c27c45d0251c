"""Optimizers that change each parameter by itself, and what their rules are written with.

The rules are written in tensor operators, and run without grad: a step is records on the tape, as all else is. Learning
rates, and what depends on the number of the step, are Python numbers, so every step has the structure of the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..functions.in_place import write
from ..primitives.casting import cast
from ..tape.aliases import in_place
from ..tape.checks import check_writable
from ..tape.record import read, wrap
from ..tape.segment import in_grad_mode
from ..tape.segment import state as thread
from ..tape.types import make_type
from ..tensor import Tensor
from .optimizer import Group, Optimizer


class ParameterwiseOptimizer(Optimizer):
    """An optimizer whose rule for a parameter looks at this parameter alone: a subclass defines it in `_update`."""

    # Options that PyTorch added later, and their values for states that were saved before.
    _later: Group = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self._later.items():
                group.setdefault(name, value)
        for kept in self.state.values():
            if isinstance(kept, dict) and isinstance(kept.get("step"), (int, float)):
                kept["step"] = count(kept["step"])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter by its gradient; one without a gradient stays as it is.

        Args:
            closure: computes the loss, and its gradients, anew; it is called first.

        Returns:
            What the closure returned.
        """
        loss = None if closure is None else in_grad_mode(True, None, closure)
        in_grad_mode(bool(self.defaults["differentiable"]), None, self._update_all)
        return loss

    def _update_all(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None:
                    self._update(parameter, gradient, group)

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        """Change one parameter, and the state kept for it, by its gradient."""
        raise NotImplementedError


def put(tensor: Any, result: Any) -> None:
    """Give a tensor a new value, in place."""
    check_writable(tensor)
    write(tensor, result)


def direction(parameter: Any, gradient: Any, maximize: bool, weight_decay: Any) -> Any:
    """Return the gradient of what is to become smaller, the penalty for large weights included."""
    if maximize:
        gradient = -gradient
    if weight_decay != 0:
        gradient = gradient + parameter * weight_decay
    return gradient


def blend(mean: Any, value: Any, weight: Any) -> Any:
    """Return a mean moved by a weight towards a value, as `lerp` does."""
    if isinstance(weight, float) and weight < 0.5:  # the usual case, without what else `lerp` looks at
        return mean + (value - mean) * weight
    return mean.lerp(value, weight)


def as_real(*tensors: Any) -> tuple[Any, ...]:
    """Return complex tensors as views of real ones, so that each part counts by itself; real ones as they are."""
    if not tensors[0].dtype.is_complex:
        return tensors
    from ..functions.complex_numbers import view_as_real

    return tuple([view_as_real(tensor) for tensor in tensors])


def count(steps: float = 0.0, fused: bool | None = False) -> Any:
    """Return a tensor that counts steps; in float64 only where that is the default dtype."""
    is_double = dtypes.get_default_dtype() is dtypes.float64 and not fused
    dtype = dtypes.float64 if is_double else dtypes.float32
    return Tensor._wrap(np.asarray(steps, dtypes.array_type(dtype)), make_type(dtype, ()))


def advance(steps: Any) -> Any:
    """Add one to a tensor that counts steps, in place, and return the number.

    This is not recorded: the tensor is never pending, so that reading it computes nothing. But in a call that is being
    captured it is, and the number is a tensor then: the next call has another.
    """
    if thread.capture is not None:
        put(steps, steps + 1)
        return cast(steps, dtype=dtypes.float64)
    array = read(steps)
    number = array.item() + 1
    in_place(steps, wrap(np.asarray(number, array.dtype), steps._node.type))
    return number


def check_capturable(group: Group) -> None:
    """Raise AssertionError for a group that asks for steps in an accelerator's graph, as PyTorch does on a CPU."""
    if group["capturable"]:
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
        )
