"""A module's state as a dict, to save and to load again."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from ..parameter import Parameter
from .hooks import Hook, RemovableHandle, add

_EXTRA = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The keys that a state lacked, and those that it had without need."""

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    __str__ = __repr__


class State:
    """The part of `Module` that saves and loads its state."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    def get_extra_state(self) -> Any:
        """Return what else belongs to the module's state; a class may define this, and `set_extra_state`."""
        raise RuntimeError("Module.get_extra_state() is for classes that define it")

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned."""
        raise RuntimeError("Module.set_extra_state() is for classes that define it")

    # Saving

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers by name, those of submodules with the path to them in front.

        Args:
            *args: deprecated.
            destination: a dict to put them in; a new one by default.
            prefix: goes before each name.
            keep_vars: whether to return the very tensors, and not detached ones.

        >>> from tapegrad import nn
        >>> list(nn.Sequential(nn.Linear(1, 1)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if changed is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the module's own tensors into the dict; a class may override this."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _own_state(self) -> dict[str, Any]:
        """Return the module's own parameters and persistent buffers."""
        buffers = {name: buffer for name, buffer in self._buffers.items() if name not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in (self._parameters | buffers).items() if tensor is not None}

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(module, state_dict, prefix, local_metadata)`` called after `state_dict`; it may change the dict."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(module, prefix, keep_vars)`` called before `state_dict`."""
        return add(self._state_dict_pre_hooks, hook)

    # Loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy the tensors of a state into the module's.

        Args:
            state_dict: what `state_dict` returned.
            strict: whether the names must be the same.
            assign: whether to take over the tensors themselves, and not copy their values.

        Returns:
            The keys that are missing and those that are not expected.

        Raises:
            RuntimeError: names (if strict) or sizes do not match; the others are loaded.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(getattr(state_dict, "_metadata", None), assign)
        loading.load(self, OrderedDict(state_dict), "")
        keys, errors = loading.keys, loading.errors
        if strict:
            for kind, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    listed = ", ".join([f'"{name}"' for name in names])
                    errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the module's own tensors, and note what does not fit in the lists; a class may override this."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        for name, tensor in own.items():
            if prefix + name in state_dict:
                assign = local_metadata.get("assign_to_params_buffers", False)
                self._load_one(name, tensor, prefix + name, state_dict[prefix + name], assign, error_msgs)
            elif strict:
                missing_keys.append(prefix + name)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra and self._is_unknown(key[len(prefix) :], own):
                    unexpected_keys.append(key)

    def _is_unknown(self, key: str, own: dict[str, Any]) -> bool:
        name, _, rest = key.partition(".")
        return name not in (self._modules if rest or key.endswith(".") else own)

    def _load_one(self, name: str, tensor: Any, key: str, given: Any, assign: bool, errors: list[str]) -> None:
        """Load one tensor, or note why that is not possible."""
        if not isinstance(given, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received '
                f"{type(given)}"
            )
            return
        if tensor.ndim == 0 and tuple(given.shape) == (1,):
            given = given[0]
        if given.shape != tensor.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is "
                f"{tensor.shape}."
            )
            return
        try:
            with no_grad():
                if assign:
                    setattr(self, name, _as_same_kind(given, tensor))
                else:
                    tensor.copy_(given)
        except Exception as error:  # every tensor is tried, and all errors are reported together
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose dimensions in '
                f"the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, _OfModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(module, state_dict, prefix, ...)`` called before the module's own state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(module, incompatible_keys)`` called after a state is loaded; it may change the lists of keys."""
        return add(self._load_state_dict_post_hooks, hook)


class _OfModule:
    """A hook that gets its module as the first argument."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *arguments: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *arguments)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.module = weakref.ref(state["module"])


class _Loading:
    """One `load_state_dict`: what was found to be wrong so far."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.errors: list[str] = []

    def load(self, module: Any, state_dict: Any, prefix: str) -> None:
        """Load a module's own state, and that of its submodules."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state_dict, prefix, local, True, self.keys.missing_keys, self.keys.unexpected_keys, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state_dict.items() if key.startswith(path)}, path)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                    "incompatible_keys need to be modified, it should be done inplace."
                )


def _as_same_kind(given: Any, tensor: Any) -> Any:
    """Return a tensor to assign in place of another: a parameter for a parameter."""
    if not isinstance(tensor, Parameter):
        return given
    return given.requires_grad_(tensor.requires_grad) if isinstance(given, Parameter) else Parameter(given, tensor.requires_grad)
