"""Adagrad: steps scaled by the sum of all past gradients' squares."""

from __future__ import annotations

from typing import Any

from .optimizer import Group, as_scalar
from .options import check_fused, check_not_negative, check_rate
from .updating import ParameterwiseOptimizer, advance, as_real, count, direction, put

__all__ = ["Adagrad"]


class Adagrad(ParameterwiseOptimizer):
    """Adagrad: each element moves against its gradient, divided by the root of the sum of all its squares so far.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate.
        lr_decay: how fast the learning rate falls: after n steps it is ``lr / (1 + n * lr_decay)``.
        weight_decay: the factor of the penalty, half the sum of squares of the parameters.
        initial_accumulator_value: what the sums begin with.
        eps: added to the divisor.
        foreach, fused: PyTorch's implementations; here there is one.
        maximize: go up, not down.
        differentiable: record the step for the reverse sweep.

    >>> import tapegrad
    >>> w = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _later = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self._start(parameter, group)

    def _start(self, parameter: Any, group: Group) -> Group:
        """Return the state of a parameter before the first step."""
        from ..functions.creation import full_like

        begin = self.defaults["initial_accumulator_value"]
        total = full_like(parameter, complex(begin, begin) if parameter.dtype.is_complex else begin)
        return {"step": count(fused=group["fused"]), "sum": total}

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        state = self.state[parameter]
        if not state:
            state.update(self._start(parameter, group))  # all at once: an interrupt leaves no half of it
        step = advance(state["step"])
        rate = as_scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        gradient = direction(parameter, gradient, group["maximize"], group["weight_decay"])
        parameter, gradient, total = as_real(parameter, gradient, state["sum"])
        put(total, total + gradient * gradient)
        put(parameter, parameter - gradient / (total.sqrt() + group["eps"]) * rate)
