"""The state of an optimiser as a dict that can be saved, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from .. import dtypes
from ..tape.constants import full
from ..tensor import Tensor
from .hooks import Hooks


class State(Hooks):
    """What an optimiser keeps: options and parameters by group, and the state of each parameter."""

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    # Options that states saved by early releases of PyTorch lack, with the values they stood for.
    _added_options: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._forget_hooks()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self._added_options.items():
                group.setdefault(name, value)
        for kept in self.state.values():
            if isinstance(kept, dict) and isinstance(kept.get("step"), (int, float)):
                kept["step"] = count_tensor(kept["step"])

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options, where numbers (in order) stand for the parameters.

        >>> import tapegrad
        >>> w = tapegrad.ones(2, requires_grad=True)
        >>> tapegrad.optim.SGD([w], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for number, parameter in enumerate(group["params"], start):
                numbers.setdefault(id(parameter), number)
            start += len(group["params"])
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(parameter)] for parameter in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: kept for key, kept in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what the `state_dict` of an optimiser with groups of the same lengths returned.

        Raises:
            ValueError: the groups are not as many, or not as long.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_groups(saved_groups)
        parameters: dict[Any, tuple[Any, dict[str, Any]]] = {}
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            for parameter, number in zip(group["params"], saved["params"], strict=True):
                parameters[number] = (parameter, saved)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, kept in state_dict["state"].items():
            if key in parameters:
                parameter, saved = parameters[key]
                state[parameter] = _fitted(kept, parameter, saved)
            else:
                state[key] = kept
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_groups(self, saved_groups: list[dict[str, Any]]) -> None:
        if len(self.param_groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")


def _fitted(value: Any, parameter: Any, group: dict[str, Any], name: Any = None) -> Any:
    """Return saved state with its tensors in the dtype that they have for this parameter."""
    if isinstance(value, Tensor):
        return _fitted_tensor(value, parameter, group, name)
    if isinstance(value, dict):
        return {name: _fitted(part, parameter, group, name) for name, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)([_fitted(part, parameter, group) for part in value])  # type: ignore[call-arg]
    return value


def _fitted_tensor(value: Any, parameter: Any, group: dict[str, Any], name: Any) -> Any:
    if name == "step":  # counts steps, in a dtype of its own
        return value.to(dtypes.float32) if group.get("capturable") or group.get("fused") else value
    return value.to(parameter.dtype) if parameter.dtype.is_floating_point else value


def count_tensor(count: float, fused: bool | None = False) -> Any:
    """Return a tensor that counts steps: in float64 where that is the default dtype, else in float32."""
    double = dtypes.get_default_dtype() is dtypes.float64 and not fused
    return full((), count, dtypes.float64 if double else dtypes.float32)
