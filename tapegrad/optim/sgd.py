"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .optimizer import Group, as_scalar
from .options import check_fused, check_not_negative, check_rate
from .updating import ParameterwiseOptimizer, direction, put

__all__ = ["SGD"]


class SGD(ParameterwiseOptimizer):
    """Stochastic gradient descent: each parameter moves against its gradient, with `momentum` against a mean of past ones.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate: how far, in gradients.
        momentum: how much of the last step's direction is kept.
        dampening: how much of the gradient is left out of the direction.
        weight_decay: the factor of the penalty, half the sum of squares of the parameters.
        nesterov: go by the gradient where momentum would lead.
        maximize: go up, not down.
        foreach, fused: PyTorch's implementations; here there is one.
        differentiable: record the step for the reverse sweep.

    >>> import tapegrad
    >>> w = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    _later = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        gradient = direction(parameter, gradient, group["maximize"], group["weight_decay"])
        if group["momentum"] != 0:
            gradient = self._with_momentum(parameter, gradient, group)
        rate = as_scalar(group["lr"])
        if rate.__class__ is float:
            parameter.add_(gradient, alpha=-rate)
        else:
            put(parameter, parameter - gradient * rate)

    def _with_momentum(self, parameter: Any, gradient: Any, group: Group) -> Any:
        momentum, dampening = group["momentum"], group["dampening"]
        state = self.state[parameter]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = gradient.detach().clone()
        else:
            put(buffer, buffer * momentum + (gradient if dampening == 0 else gradient * (1 - dampening)))
        return gradient + buffer * momentum if group["nesterov"] else buffer
