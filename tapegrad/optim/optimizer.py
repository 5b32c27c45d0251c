"""Optimizer: what optimisers are instances of."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ..functions.properties import typename
from ..tensor import Tensor
from .hooks import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .state import State

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


class _Required:
    """Stands as the default of an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer(State):
    """Changes parameters, in groups with options of their own, by their gradients.

    A subclass defines `step`.

    Args:
        params: the tensors to optimise, or pairs of their names and them (`named_parameters()`), or dicts, each a group:
            ``{"params": [...], "lr": 0.1}``.
        defaults: the options of groups that do not give them.

    Raises:
        ValueError: there are no parameters, or one is not a leaf, or is in two groups.
        TypeError: what is given are no tensors.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._forget_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines.extend([f"    {name}: {group[name]}" for name in sorted(group) if name != "params"])
        return "\n".join([*lines, ")"])

    # Groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with `params`, and options where they are not the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_parameters(param_group)
        for parameter in param_group["params"]:
            self._check_parameter(parameter)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_against_others(param_group)
        self.param_groups.append(param_group)

    def _check_parameter(self, parameter: Any) -> None:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(parameter)}")
        if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_against_others(self, group: dict[str, Any]) -> None:
        own = {id(parameter) for parameter in group["params"]}
        if len(own) != len(group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                named = "with names" if "param_names" in group else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {named} to the optimizer"
                )
        if any(id(parameter) in own for other in self.param_groups for parameter in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # Gradients

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                    continue
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                gradient.zero_()

    # Steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; every subclass defines this.

        Args:
            closure: computes the loss and its gradients anew; called first.

        Returns:
            What the closure returned.
        """
        raise NotImplementedError


def _list_parameters(group: dict[str, Any]) -> None:
    """Let the parameters of a group be a list, and their names, if they came with names, another."""
    given = group["params"]
    if isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    given = [given] if isinstance(given, Tensor) else list(given)
    names = [entry[0] for entry in given if isinstance(entry, tuple)]
    group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in given]
    if names:
        if len(names) != len(given):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = names
