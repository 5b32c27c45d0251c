"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..functions.creation import zeros_like
from ..primitives.arithmetic import sqrt
from ..primitives.complex_pairs import view_as_complex, view_as_real
from ..primitives.selection import maximum
from ..tape.aliases import in_place
from ..tape.record import record
from ..tape.segment import GradMode
from ..tensor import Tensor
from .optimizer import Group, Optimizer, as_scalar, counted, loss_of, next_count

__all__ = ["Adam", "AdamW"]

# Options that PyTorch added later, and their defaults for states that were saved before.
_LATER = (
    ("amsgrad", False), ("maximize", False), ("foreach", None), ("capturable", False), ("differentiable", False),
    ("decoupled_weight_decay", False), ("fused", None),
)


class Adam(Optimizer):
    """Change each parameter by a running mean of its gradients, divided by the root of a running mean of their squares.

    Args:
        params: the parameters, or groups of them.
        lr: the learning rate.
        betas: how much of the running means stays with each step.
        eps: is added to the root.
        weight_decay: how much of the parameter is added to its gradient.
        amsgrad: whether the largest mean of squares so far counts.
        foreach: accepted for PyTorch's sake.
        maximize: whether the loss is to become larger.
        capturable: accepted for PyTorch's sake.
        differentiable: whether steps are recorded for the reverse sweep.
        fused: accepted for PyTorch's sake.
        decoupled_weight_decay: whether the weight decay is subtracted from the parameter, and not added to its gradient.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000], requires_grad=True)
    """

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
        if isinstance(lr, Tensor) and lr.numel() != 1:  # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "betas": tuple(map(as_scalar, betas)),
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in _LATER:
                group.setdefault(name, default)
            for parameter in group["params"]:
                own = self.state.get(parameter)
                if own and not isinstance(own["step"], Tensor):
                    own["step"] = counted(float(own["step"]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss again, which is returned."""
        loss = loss_of(closure)
        for group in self.param_groups:
            with GradMode(group["differentiable"]):
                for parameter in group["params"]:
                    if parameter._grad is not None:
                        self._update(parameter, parameter._grad, group)
        return loss

    def _state_of(self, parameter: Any, amsgrad: bool) -> Group:
        state: Group = self.state[parameter]
        if not state:
            state["step"] = counted(0.0)
            for name in ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ())):
                state[name] = zeros_like(parameter)
        return state

    def _update(self, parameter: Any, gradient: Any, group: Group) -> None:
        state = self._state_of(parameter, group["amsgrad"])
        lr, decay = as_scalar(group["lr"]), group["weight_decay"]
        start: Any = parameter
        if group["maximize"]:
            gradient = -gradient
        if decay != 0 and group["decoupled_weight_decay"]:
            start = parameter * (1 - lr * decay)
        elif decay != 0:
            gradient = gradient + parameter * decay
        beta1, beta2 = group["betas"]
        count = next_count(state)
        mean = _moved(state["exp_avg"], gradient, beta1)
        root = self._root_of_squares(state, gradient, beta2, group["amsgrad"])
        divisor = root / (1 - beta2**count) ** 0.5 + group["eps"]
        change = _parts(mean) / divisor * -(lr / (1 - beta1**count))
        in_place(parameter, start + (record(view_as_complex, (change,)) if parameter.dtype.is_complex else change))

    def _root_of_squares(self, state: Group, gradient: Any, beta: Any, amsgrad: bool) -> Any:
        """Move the running mean of squares (of the parts, for complex numbers), and return its root."""
        old, parts = _parts(state["exp_avg_sq"]), _parts(gradient)
        squares = old * beta + parts * parts * (1 - beta)
        _set(state["exp_avg_sq"], squares)
        if amsgrad:
            squares = record(maximum, (_parts(state["max_exp_avg_sq"]), squares))
            _set(state["max_exp_avg_sq"], squares)
        return record(sqrt, (squares,))


class AdamW(Adam):
    """Do what `Adam` does, but with the weight decay subtracted from the parameter, and not added to its gradient."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _moved(mean: Any, value: Any, beta: Any) -> Any:
    """Move a running mean towards a value, in place, and return it."""
    return in_place(mean, mean + (value - mean) * (1 - beta))


def _parts(tensor: Any) -> Any:
    """Return the real and imaginary parts of a complex tensor, a real one as it is."""
    return record(view_as_real, (tensor,)) if tensor._node.type.dtype.is_complex else tensor


def _set(tensor: Any, parts: Any) -> None:
    in_place(tensor, record(view_as_complex, (parts,)) if tensor._node.type.dtype.is_complex else parts)
