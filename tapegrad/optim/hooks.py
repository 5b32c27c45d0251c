"""Hooks of optimisers: functions that are called before and after a step, and when state is taken out or put in."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., Any]

# Hooks of all optimisers
_step_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_step_post_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> Any:
    """Have ``hook(optimizer, arguments, options)`` called before each step of every optimiser."""
    return _add(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> Any:
    """Have ``hook(optimizer, arguments, options)`` called after each step of every optimiser."""
    return _add(_step_post_hooks, hook)


def _add(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> Any:
    """Add a hook, and return the handle that removes it."""
    from ..nn.modules.hooks import add

    return add(hooks, hook, prepend=prepend)


def calling_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a class's method `step` that also calls the hooks; within a subclass's step, which does so itself, it does not."""

    @functools.wraps(step)
    def hooked(self: Any, *arguments: Any, **options: Any) -> Any:
        self._opt_called = True  # for schedules, which are to be stepped after the optimiser
        if type(self).step is not hooked:
            return step(self, *arguments, **options)
        given: tuple[Any, ...] = (self, *arguments)
        for hook in (*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, given, options)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            given, options = changed
        result = step(*given, **options)
        for hook in (*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()):
            hook(self, given, options)
        return result

    return hooked


class Hooks:
    """The hooks of one optimiser."""

    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the step that a subclass defines call the hooks."""
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = calling_hooks(cls.__dict__["step"])  # type: ignore[attr-defined]

    def _forget_hooks(self) -> None:
        """Begin without hooks: an optimiser that was copied or pickled has none."""
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()

    def register_step_pre_hook(self, hook: Hook) -> Any:
        """Have ``hook(optimizer, arguments, options)`` called before each step; it may return the pair to use instead.

        The optimiser is the first of the arguments.

        Returns:
            A handle, of which `remove()` takes the hook away again.
        """
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> Any:
        """Have ``hook(optimizer, arguments, options)`` called after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> Any:
        """Have ``hook(optimizer)`` called before `state_dict`; with `prepend`, before the other hooks."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> Any:
        """Have ``hook(optimizer, state)`` called with what `state_dict` will return; it may return another."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> Any:
        """Have ``hook(optimizer, state)`` called before `load_state_dict`; it may return another state to load."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> Any:
        """Have ``hook(optimizer)`` called after `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)
