"""tapegrad.compile: a function of tensors whose calls are put on the tape at once, without being run again."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any

from . import dtypes, random
from .tape.capture import CannotCapture, Capture, Captured
from .tape.modes import mode
from .tape.segment import state
from .tape.trace import CAPTURE_LIMIT, Root, path_to
from .tape.types import number_type
from .tensor import Tensor

_ATTEMPTS = 3  # the first calls of a training step make an optimiser's state
_MOST_CAPTURES = 64
_NUMBERS = (float, int, complex)


def compile(function: Callable[..., Any] | None = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return the function with its calls captured: one with arguments of the same types is not run, but replayed.

    The contract is that of ``jax.jit``. What is captured is what the function does to tensors; tensors that it holds, such as
    parameters, are read afresh at every call and may be written in place, and Python numbers are inputs. Other effects, and
    whatever it depends on besides its arguments and the tensors it holds, are those of the call that was captured. A function
    that reads values or draws random numbers runs as ordinary code, with one warning that says why. With the environment variable
    TAPEGRAD_CHECK_COMPILED=1 each call is run all the same, and RuntimeError raised where it records something else.

    Args:
        function: what to compile: a function, or a module; without it, a decorator is returned.

    >>> import tapegrad
    >>> square = compile(lambda x: x * x)
    >>> square(tapegrad.tensor(3.0)), square(tapegrad.tensor(4.0))
    (tensor(9.), tensor(16.))
    """
    return compile if function is None else CompiledFunction(function)


class CompiledFunction:
    """A function that `compile` returned; attributes are those of the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._captures: dict[Any, Captured | None] = {}
        self._roots: dict[Any, Root] = {}  # of what is recorded for arguments of these types
        self._attempts: dict[Any, int] = {}
        self._has_warned = False
        functools.update_wrapper(self, function, updated=())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Replay the captured call for arguments of these types, or run the function and capture it."""
        if state.capture is not None or mode.eager:
            return self._function(*arguments, **options)
        leaves: list[Any] = []
        structure = _flatten((arguments, options), leaves)
        key = (structure, state.grad_enabled, state.inference, dtypes.get_default_dtype(), _form_of(self._function))
        captured = self._captures.get(key)
        if captured is not None and captured.fits(leaves):
            if os.environ.get("TAPEGRAD_CHECK_COMPILED") == "1":
                return self._check(captured, structure, leaves)
            return _restored(captured.replay(leaves), self._shapes[key])
        if self._attempts.get(key, 0) >= _ATTEMPTS:
            return self._function(*arguments, **options)
        return self._capture(key, structure, leaves)

    @property
    def _shapes(self) -> dict[Any, Any]:
        """The structures of the results."""
        found: dict[Any, Any] = self.__dict__.setdefault("_result_structures", {})
        return found

    def _capture(self, key: Any, structure: Any, leaves: list[Any]) -> Any:
        """Run the function, and keep what it records."""
        if len(self._captures) >= _MOST_CAPTURES:
            self._captures.clear()
            self._attempts.clear()
            self._roots.clear()
        randomness = random.get_rng_state().tobytes()
        capture = Capture(leaves, self._roots.setdefault(key, Root(eager=False, limit=CAPTURE_LIMIT)))
        results: list[Any] = []
        try:
            arguments, options = _restored(list(leaves), structure)
            result = self._function(*arguments, **options)
        finally:
            state.capture = None
        form = _flatten(result, results, strict=False)
        try:
            captured = capture.finish(results)
            if random.get_rng_state().tobytes() != randomness:
                raise CannotCapture("it draws random numbers")
            earlier = self._captures.get(key)
            if earlier is not None:
                captured.confirm(earlier)
            self._captures[key] = captured
            self._shapes[key] = form
            self._attempts.pop(key, None)
        except CannotCapture as reason:
            self._attempts[key] = self._attempts.get(key, 0) + 1
            if self._attempts[key] == _ATTEMPTS and not self._has_warned:
                self._has_warned = True
                name = getattr(self._function, "__name__", type(self._function).__name__)
                warnings.warn(f"tapegrad.compile: {name} runs as ordinary code: {reason}", RuntimeWarning, stacklevel=3)
        return result

    def _check(self, captured: Captured, structure: Any, leaves: list[Any]) -> Any:
        """Run the function all the same, and raise where it records something else than what was captured."""
        capture = Capture(leaves, captured.trace.root)
        try:
            arguments, options = _restored(list(leaves), structure)
            result = self._function(*arguments, **options)
        finally:
            state.capture = None
        node = None if capture.is_broken else capture.segment.node
        if node is not captured.trace:
            found = [] if node is None else path_to(node)
            for place, (ours, theirs) in enumerate(zip(path_to(captured.trace), found, strict=False)):
                if ours is not theirs:
                    raise RuntimeError(f"tapegrad.compile: record {place} is {_shown(theirs)}, where {_shown(ours)} was captured")
            raise RuntimeError("tapegrad.compile: the call does not record as many operations as were captured")
        return result


def _form_of(function: Any) -> Any:
    """Return what a module's calls depend on besides its tensors' values: which tensors it has, and whether it is in training."""
    if not hasattr(function, "named_modules"):
        return None
    tensors = [id(tensor) for tensors in (function.parameters(), function.buffers()) for tensor in tensors]
    return (tuple(tensors), tuple([module.training for module in function.modules()]))


def _shown(node: Any) -> str:
    operands = ", ".join([repr(operand.type) for operand in node.operands])
    return f"{node.primitive.name}({operands}) of {node.type!r}"


class _Leaf:
    """Stands in a structure for a tensor or a number: with the type that it has to have."""

    __slots__ = ("place", "kind")

    def __init__(self, place: int, kind: Any) -> None:
        self.place = place
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Leaf) and self.place == other.place and self.kind == other.kind

    def __hash__(self) -> int:
        return hash((self.place, self.kind))


def _flatten(value: Any, leaves: list[Any], strict: bool = True) -> Any:
    """Collect the tensors and numbers of nested tuples, lists and dicts; return the structure they stood in, to compare."""
    if isinstance(value, Tensor):
        place = next((place for place, leaf in enumerate(leaves) if leaf is value), len(leaves))
        if place == len(leaves):
            leaves.append(value)
        return _Leaf(place, (value._node.type, value._home is None, value.__class__))
    if value.__class__ in _NUMBERS and strict:
        number = Tensor._wrap(value, number_type(value.__class__))
        leaves.append(number)
        return _Leaf(len(leaves) - 1, value.__class__)
    if value.__class__ in (tuple, list):
        return (value.__class__, *[_flatten(part, leaves, strict) for part in value])
    if value.__class__ is dict:
        return (dict, *[(key, _flatten(part, leaves, strict)) for key, part in value.items()])
    return (None, value)


def _restored(leaves: list[Any], structure: Any) -> Any:
    """Put tensors and numbers back into a structure."""
    if structure.__class__ is _Leaf:
        return leaves[structure.place]
    kind, *parts = structure
    if kind is None:
        return parts[0]
    if kind is dict:
        return {key: _restored(leaves, part) for key, part in parts}
    return kind([_restored(leaves, part) for part in parts])
