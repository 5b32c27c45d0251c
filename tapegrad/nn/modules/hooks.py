"""Calling a module that has hooks: functions that are called before and after its `forward`."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = [
    "RemovableHandle",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Hook = Callable[..., Any]
_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()`, or leaving a `with` block, takes the hook away again."""

    def __init__(self, hooks: Any, *marks: Any) -> None:
        self.id = next(_numbers)
        self._dicts = tuple([weakref.ref(found) for found in (hooks, *marks)])

    def remove(self) -> None:
        """Take the hook away."""
        for reference in self._dicts:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def add(hooks: OrderedDict[int, Hook], hook: Hook, *marks: tuple[OrderedDict[int, bool], bool], prepend: bool = False) -> RemovableHandle:
    """Add a hook, and mark it in each of the dicts where the mark is set."""
    handle = RemovableHandle(hooks, *[marked for marked, _ in marks])
    hooks[handle.id] = hook
    for marked, is_set in marks:
        if is_set:
            marked[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


# Hooks of all modules

forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_hooks: OrderedDict[int, Hook] = OrderedDict()
_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_always_called: OrderedDict[int, bool] = OrderedDict()
buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, arguments)`` called before the `forward` of every module."""
    return add(forward_pre_hooks, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Have ``hook(module, arguments, result)`` called after the `forward` of every module."""
    return add(forward_hooks, hook, (_with_kwargs, with_kwargs), (_always_called, always_call))


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, buffer)`` called when a module gets a buffer; what it returns (if not None) is kept instead."""
    return add(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, submodule)`` called when a module gets a submodule; what it returns is kept instead."""
    return add(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, parameter)`` called when a module gets a parameter; what it returns is kept instead."""
    return add(parameter_registration_hooks, hook)


def registered(hooks: OrderedDict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """Return what is to be kept under the name, after the hooks for what is registered."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


# Calling


def call_with_hooks(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call `forward` between the hooks that come before it and those that come after it."""
    call = _Call(module, arguments, options)
    try:
        call.before()
        call.result = module.forward(*call.arguments, **call.options)
        call.after()
    except Exception:
        call.after_error()
        raise
    return call.result


class _Call:
    """One call of a module: what hooks may still change."""

    def __init__(self, module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.module = module
        self.arguments = arguments
        self.options = options
        self.result: Any = None
        self.called: set[int] = set()

    def before(self) -> None:
        module = self.module
        for number, hook in [*forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
            if number not in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, self.arguments)
                if changed is not None:
                    self.arguments = changed if isinstance(changed, tuple) else (changed,)
                continue
            changed = hook(module, self.arguments, self.options)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            self.arguments, self.options = changed

    def after(self) -> None:
        for number, hook in [*forward_hooks.items(), *self.module._forward_hooks.items()]:
            self.called.add(number)
            self._call(number, hook)

    def _call(self, number: int, hook: Hook) -> None:
        module = self.module
        if number in module._forward_hooks_with_kwargs or number in _with_kwargs:
            changed = hook(module, self.arguments, self.options, self.result)
        else:
            changed = hook(module, self.arguments, self.result)
        if changed is not None:
            self.result = changed

    def after_error(self) -> None:
        """Call the hooks that are always called and were not yet; an error of theirs is only a warning."""
        for kind, hooks, always in (
            ("global module", forward_hooks, _always_called),
            ("module", self.module._forward_hooks, self.module._forward_hooks_always_called),
        ):
            for number, hook in hooks.items():
                if number in always and number not in self.called:
                    try:
                        self._call(number, hook)
                    except Exception as error:
                        warnings.warn(
                            f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another error "
                            f"was raised in forward: {error}",
                            stacklevel=4,
                        )
