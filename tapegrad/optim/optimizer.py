"""What optimizers have in common: groups of parameters with their options, and a state for each parameter."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor

if TYPE_CHECKING:
    from ..nn.modules.hooks import Hook, RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Group = dict[str, Any]


class _Required:
    """Stands as the default of an option that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_post_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(optimizer, arguments, options)`` called before each step of every optimizer."""
    return _add(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(optimizer, arguments, options)`` called after each step of every optimizer."""
    return _add(_post_hooks, hook)


def _add(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook, and return the handle that removes it."""
    from ..nn.modules.hooks import add  # not before a hook is registered: it brings all modules

    return add(hooks, hook, prepend=prepend)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a class's `step`, with the hooks called around it."""

    @functools.wraps(step)
    def hooked(self: Any, *arguments: Any, **options: Any) -> Any:
        if not (_pre_hooks or self._optimizer_step_pre_hooks or _post_hooks or self._optimizer_step_post_hooks):
            return step(self, *arguments, **options)
        given: tuple[Any, ...] = (self, *arguments)
        for hook in [*_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            changed = hook(self, given, options)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                given, options = changed
        result = step(*given, **options)
        for hook in [*self._optimizer_step_post_hooks.values(), *_post_hooks.values()]:
            hook(self, given, options)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Changes parameters, step by step, such that a loss becomes smaller; subclasses define `step`.

    Args:
        params: the parameters (or pairs of a name and a parameter), or dicts with these as "params", and options for them.
        defaults: the options of groups that do not have their own.

    Raises:
        ValueError: there are no parameters, some are in two groups or no leaves.
        TypeError: something is no tensor.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init__(self, params: Any, defaults: Group) -> None:
        self.defaults = defaults
        self._add_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {_typename(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _add_hooks(self) -> None:
        for kind_of_hook in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{kind_of_hook}_hooks", OrderedDict())
        kind: Any = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = _with_hooks(kind.step)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._add_hooks()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            text += f"\nParameter Group {number}\n{''.join(options)}"
        return text + ")"

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss again, which is returned."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters; with `set_to_none` False, set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                    continue
                gradient = parameter._grad
                if gradient is None:
                    continue
                if gradient.grad_fn is not None:
                    gradient.detach_().zero_()
                else:
                    gradient.requires_grad_(False).zero_()

    # Groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, with its options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _name_parameters(param_group)
        parameters = param_group["params"]
        for parameter in parameters:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(parameter)}")
            if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(parameters) != len(set(parameters)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        self._check_other_groups(param_group)
        self.param_groups.append(param_group)

    def _check_other_groups(self, param_group: Group) -> None:
        present: set[Any] = set()
        for group in self.param_groups:
            present.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                names = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{names} to the optimizer"
                )
        if not present.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # State

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups; parameters are numbered."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(parameter)] for parameter in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` returned; its groups must have as many parameters as those here."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        parameters: dict[Any, Any] = {}
        for group, other in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(other["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
            parameters.update(zip(other["params"], group["params"], strict=True))
            other["params"] = group["params"]
            if "param_names" in group:
                other.setdefault("param_names", group["param_names"])
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _in_dtype_of(parameters[key], value)
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(optimizer, arguments, options)`` called before each step."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(optimizer, arguments, options)`` called after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called before `state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called after `state_dict`; what it returns (if not None) is returned instead."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called before a state is loaded; what it returns is loaded instead."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called after a state is loaded."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _name_parameters(group: Group) -> None:
    """Let a group's parameters be a list, and their names, if they have any, another one."""
    given = group["params"]
    if isinstance(given, Tensor):
        given = [given]
    if isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    given = list(given)
    names = [entry[0] for entry in given if isinstance(entry, tuple)]
    group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in given]
    if names:
        if len(names) != len(given):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = names


def _in_dtype_of(parameter: Any, value: Any, key: Any = None) -> Any:
    """Return part of a loaded state, its tensors in the dtype of the parameter; but the count of steps as it is."""
    if isinstance(value, Tensor):
        is_cast = key != "step" and parameter.is_floating_point()
        return value.to(parameter.dtype) if is_cast else value
    if isinstance(value, dict):
        return {name: _in_dtype_of(parameter, part, name) for name, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)([_in_dtype_of(parameter, part) for part in value])  # type: ignore[call-arg]
    return value


def _typename(value: Any) -> str:
    """Return the name of a tensor's type, or of a class, as PyTorch's errors show it."""
    from ..functions.properties import typename

    return typename(value)


def as_scalar(value: Any) -> Any:
    """Return an option that may be a tensor of one element as a number or 0-d tensor."""
    return value.squeeze() if isinstance(value, Tensor) and value.ndim else value
