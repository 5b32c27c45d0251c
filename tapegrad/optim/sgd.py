"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tape.aliases import in_place
from ..tape.segment import GradMode
from ..tensor import Tensor
from .optimizer import Group, Optimizer, as_scalar, loss_of

__all__ = ["SGD"]


class SGD(Optimizer):
    """Subtract from each parameter its gradient times a learning rate; with momentum, a running sum of gradients.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate.
        momentum: what the running sum is multiplied by before the gradient is added; 0 for none.
        dampening: which share of the gradient is not added to the running sum.
        weight_decay: how much of the parameter is added to its gradient.
        nesterov: whether the gradient is that at the place where the momentum leads.
        maximize: whether the loss is to become larger.
        foreach: accepted for PyTorch's sake.
        differentiable: whether steps are recorded for the reverse sweep.
        fused: accepted for PyTorch's sake.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.], requires_grad=True)
    """

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
        if isinstance(lr, Tensor) and lr.numel() != 1:  # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in (("nesterov", False), ("maximize", False), ("foreach", None), ("fused", False)):
                group.setdefault(name, default)
            group.setdefault("differentiable", False)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss again, which is returned."""
        loss = loss_of(closure)
        for group in self.param_groups:
            with GradMode(group["differentiable"]):
                self._update(group)
        return loss

    def _update(self, group: Group) -> None:
        decay, momentum, maximize = group["weight_decay"], group["momentum"], group["maximize"]
        factor = -as_scalar(group["lr"])
        for parameter in group["params"]:
            gradient = parameter._grad
            if gradient is None:
                continue
            if maximize:
                gradient = -gradient
            if decay.__class__ is Tensor or decay != 0:
                gradient = gradient + parameter * decay
            if momentum != 0:
                gradient = self._with_momentum(parameter, gradient, group)
            in_place(parameter, parameter + gradient * factor)

    def _with_momentum(self, parameter: Any, gradient: Any, group: Group) -> Any:
        """Add a gradient to the running sum, and return that (or, with Nesterov's momentum, where it leads)."""
        state, momentum = self.state[parameter], group["momentum"]
        total = state.get("momentum_buffer")
        if total is None:
            total = state["momentum_buffer"] = gradient.detach().clone()
        else:
            share = gradient if group["dampening"] == 0 else gradient * (1 - group["dampening"])
            in_place(total, total * momentum + share)
        return gradient + total * momentum if group["nesterov"] else total
