"""RMSprop: steps scaled by the mean of past gradients' squares."""

from __future__ import annotations

from typing import Any

from .optimizer import Group, as_scalar
from .options import check_not_negative, check_rate
from .updating import ParameterwiseOptimizer, advance, as_real, blend, check_capturable, count, direction, put

__all__ = ["RMSprop"]


class RMSprop(ParameterwiseOptimizer):
    """RMSprop: each element moves against its gradient, divided by the root of the mean of its squares.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate.
        alpha: how much of the mean is kept at each step.
        eps: added to the divisor.
        weight_decay: the factor of the penalty, half the sum of squares of the parameters.
        momentum: how much of the last step's direction is kept.
        centered: divide by the standard deviation of past gradients instead.
        capturable, foreach: PyTorch's implementations; here there is one.
        maximize: go up, not down.
        differentiable: record the step for the reverse sweep.

    >>> import tapegrad
    >>> w = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _later = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, parameter: Any, group: Group) -> Group:
        """Return the state of a parameter before the first step."""
        from ..functions.creation import zeros_like

        state = {"step": count(), "square_avg": zeros_like(parameter)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)
        return state

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        check_capturable(group)
        state = self.state[parameter]
        if not state:
            state.update(self._start(parameter, group))  # all at once: an interrupt leaves no half of it
        alpha, momentum, rate = group["alpha"], group["momentum"], as_scalar(group["lr"])
        advance(state["step"])
        gradient = direction(parameter, gradient, group["maximize"], group["weight_decay"])
        parameter, gradient, square = as_real(parameter, gradient, state["square_avg"])
        put(square, square * alpha + gradient * gradient * (1 - alpha))
        if group["centered"]:
            (mean,) = as_real(state["grad_avg"])
            put(mean, blend(mean, gradient, 1 - alpha))
            square = square - mean * mean
        scaled = gradient / (square.sqrt() + group["eps"])
        if momentum > 0:
            (buffer,) = as_real(state["momentum_buffer"])
            put(buffer, buffer * momentum + scaled)
            scaled = buffer
        put(parameter, parameter - scaled * rate)
