"""Steps that change each parameter by itself, and what their rules are written with.

The rules are written in tensor operators, and run without grad: a step is records on the tape as all else is. Learning
rates, and what depends on the number of the step, are Python numbers, so that every step has the structure of the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..functions.in_place import write
from ..tape.aliases import in_place
from ..tape.checks import check_writable
from ..tape.record import read, wrap
from ..tape.segment import GradMode
from ..tensor import Tensor
from .optimizer import Optimizer


class ParameterwiseOptimizer(Optimizer):
    """An optimiser whose rule for a parameter looks at this parameter alone: a subclass defines it in `_update`."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter by its gradient; one without a gradient stays as it is.

        Args:
            closure: computes the loss and its gradients anew; called first.

        Returns:
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with GradMode(True):
                loss = closure()
        with GradMode(bool(self.defaults["differentiable"])):
            for group in self.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        self._update(parameter, gradient, group)
        return loss

    def _update(self, parameter: Any, gradient: Any, group: dict[str, Any]) -> None:
        """Change one parameter, and the state kept for it, by its gradient."""
        raise NotImplementedError


def put(tensor: Any, result: Any) -> None:
    """Give a tensor a new value, in place."""
    check_writable(tensor)
    write(tensor, result)


def advance(count: Any) -> Any:
    """Add one to a tensor that counts steps, in place, and return the count.

    This is not recorded, so that the tensor always has its value and reading it computes nothing.
    """
    array = read(count)
    value = array.item() + 1
    in_place(count, wrap(np.asarray(value, array.dtype), count._node.type))
    return value


def direction(parameter: Any, gradient: Any, maximize: bool, weight_decay: Any) -> Any:
    """Return the gradient of what is to be minimised, the penalty for large weights included."""
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


def number(value: Any) -> Any:
    """Return an option, which may be a tensor of one element, as a number or a 0-d tensor."""
    return value.squeeze() if isinstance(value, Tensor) and value.ndim else value


def as_real(*tensors: Any) -> tuple[Any, ...]:
    """Return complex tensors as views of real ones, whose parts are parameters of their own; real ones as they are."""
    if not tensors[0].dtype.is_complex:
        return tensors
    from ..functions.complex_numbers import view_as_real

    return tuple([view_as_real(tensor) for tensor in tensors])


def check_capturable(group: dict[str, Any]) -> None:
    """Raise AssertionError for a group that asks for steps in a graph of an accelerator, as PyTorch does on a CPU."""
    if group["capturable"]:
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
        )
