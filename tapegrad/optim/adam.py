"""Adam: steps scaled by means of past gradients and of their squares."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .optimizer import Group, as_scalar
from .options import check_fused, check_not_negative, check_rate
from .updating import ParameterwiseOptimizer, advance, as_real, blend, check_capturable, count, direction, put

__all__ = ["Adam"]


class Adam(ParameterwiseOptimizer):
    """Adam: each element moves against the mean of past gradients, divided by the root of the mean of their squares.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate: about how far an element moves in a step.
        betas: how much is kept of the two means at each step.
        eps: added to the divisor.
        weight_decay: the factor of the penalty, half the sum of squares of the parameters.
        amsgrad: divide by the largest mean of squares so far.
        foreach, fused, capturable: PyTorch's implementations; here there is one.
        maximize: go up, not down.
        differentiable: record the step for the reverse sweep.
        decoupled_weight_decay: shrink the parameters instead of adding the penalty's gradient, as AdamW does.

    >>> import tapegrad
    >>> w = tapegrad.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _later = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        only_numbers = bool(foreach and not capturable)
        if isinstance(lr, Tensor) and only_numbers:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        for index in (0, 1):
            if not 0.0 <= betas[index] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
        check_not_negative("weight_decay value", weight_decay)
        _check_betas(betas, only_numbers)
        defaults = {
            "lr": lr,
            "betas": tuple([as_scalar(beta) for beta in betas]),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _start(self, parameter: Any, group: Group) -> Group:
        """Return the state of a parameter before the first step."""
        from ..functions.creation import zeros_like

        state = {"step": count(fused=group["fused"]), "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter)
        return state

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        check_capturable(group)
        state = self.state[parameter]
        if not state:
            state.update(self._start(parameter, group))  # all at once: an interrupt leaves no half of it
        beta1, beta2 = group["betas"]
        rate, decay = as_scalar(group["lr"]), group["weight_decay"]
        steps = advance(state["step"])
        shrunk = parameter
        if decay != 0 and group["decoupled_weight_decay"]:
            shrunk = parameter * (1 - rate * decay)
            decay = 0
        gradient = direction(parameter, gradient, group["maximize"], decay)
        parameter, shrunk, gradient = as_real(parameter, shrunk, gradient)
        mean, square = as_real(state["exp_avg"], state["exp_avg_sq"])
        put(mean, blend(mean, gradient, 1 - beta1))
        put(square, square * beta2 + gradient * gradient * (1 - beta2))
        if group["amsgrad"]:
            (largest,) = as_real(state["max_exp_avg_sq"])
            put(largest, largest.maximum(square))
            square = largest
        divisor = square.sqrt() / (1 - beta2**steps) ** 0.5 + group["eps"]
        put(parameter, shrunk - mean / divisor * (rate / (1 - beta1**steps)))


def _check_betas(betas: tuple[Any, Any], only_numbers: bool) -> None:
    """Raise ValueError unless both are floats, or both tensors of one element."""
    if not any(all(isinstance(beta, kind) for beta in betas[:2]) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas[:2]):
        if isinstance(beta, Tensor):
            if only_numbers:
                raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{index}] must be 1-element")
