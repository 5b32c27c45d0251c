"""tapegrad.compile: a function of tensors whose calls are put on the tape at once, without being run again."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any

from . import dtypes, random
from .compiled_call import CHECK, OTHERWISE, Call, write_call
from .structures import flatten, restored
from .tape.capture import CannotCapture, Capture, Captured
from .tape.modes import mode
from .tape.record import read
from .tape.segment import state
from .tape.trace import CAPTURE_LIMIT, Root, path_to

_FAILURES = 3  # to capture a call; the first ones of a training step make an optimiser's state
_MISFITS = 16  # calls that were captured in a row, since nothing fitted the one before
_MOST_VARIANTS = 4
_MOST_KNOWN = 64  # types of arguments


def compile(function: Callable[..., Any] | None = None) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return the function with its calls captured: one with arguments of the same types is not run, but replayed.

    The contract is that of ``jax.jit``. What is captured is what the function does to tensors; tensors that it holds, such as
    parameters, are read afresh at every call and may be written in place, and Python numbers are inputs. Other effects, and
    whatever it depends on besides its arguments and the tensors it holds, are those of the call that was captured: a learning
    rate that a scheduler changes has to be a tensor. A function that reads values or draws random numbers runs as ordinary code,
    with one warning that says why. With the environment variable TAPEGRAD_CHECK_COMPILED=1 each call is run all the same, and
    RuntimeError raised where it records something else.

    Args:
        function: what to compile: a function, or a module; without it, a decorator is returned.

    >>> import tapegrad
    >>> square = compile(lambda x: x * x)
    >>> square(tapegrad.tensor(3.0)), square(tapegrad.tensor(4.0))
    (tensor(9.), tensor(16.))
    """
    return compile if function is None else CompiledFunction(function)


class _Variant:
    """A captured call, the structure of its results, and the straight-line function that repeats it."""

    __slots__ = ("captured", "results", "call")

    def __init__(self, captured: Captured, results: Any) -> None:
        self.captured = captured
        self.results = results
        self.call: Call | None = None


class _Known:
    """What is known of the calls with arguments of the same types."""

    def __init__(self) -> None:
        self.root = Root(eager=False, limit=CAPTURE_LIMIT)
        self.variants: list[_Variant] = []  # such as with gradients that are there, and that are not; the newest comes first
        self.failures = 0  # captures that failed since one has not
        self.misfits = 0  # captures since a call was like the one that was captured


class CompiledFunction:
    """A function that `compile` returned; attributes are those of the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._known: dict[Any, _Known] = {}
        self._last: tuple[Call | None, Any] = (None, None)  # the straight-line function that was taken last, and the module's form
        self._is_module = hasattr(function, "named_modules")
        self._has_warned = False
        functools.update_wrapper(self, function, updated=())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Replay the captured call for arguments of these types, or run the function and capture it."""
        call, form = self._last
        if call is not None and (not self._is_module or form == _form_of(self._function)):
            result = call(arguments, options)
            if result is not OTHERWISE:
                return result
        if state.capture is not None or mode.eager:
            return self._function(*arguments, **options)
        leaves: list[Any] = []
        structure = flatten((arguments, options), leaves)
        modes = (state.grad_enabled, state.inference, dtypes.get_default_dtype())
        form = _form_of(self._function) if self._is_module else None
        key = (structure, modes, form)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = _Known()
        variant = next((variant for variant in known.variants if variant.captured.fits(leaves)), None)
        if variant is not None:
            known.misfits = 0
            if os.environ.get(CHECK) == "1":
                return self._check(variant.captured, structure, leaves)
            return self._replay(variant, key, arguments, options, leaves)
        if known.failures >= _FAILURES or known.misfits >= _MISFITS:
            return self._function(*arguments, **options)
        return self._capture(known, structure, leaves)

    def _replay(self, variant: _Variant, key: Any, arguments: Any, options: Any, leaves: list[Any]) -> Any:
        """Replay a captured call: by a straight-line function, where there is one for it by now."""
        structure, modes, form = key
        if variant.call is not None:
            self._last = variant.call, form
            for leaf in leaves:
                if leaf._segment is not None:
                    read(leaf)
            result = variant.call(arguments, options)
            if result is not OTHERWISE:
                return result
        result = restored(variant.captured.replay(leaves), variant.results)
        if variant.call is None:
            variant.call = write_call(variant.captured, structure, variant.results, modes)
        return result

    def _capture(self, known: _Known, structure: Any, leaves: list[Any]) -> Any:
        """Run the function, and keep what it records."""
        randomness = random.get_rng_state().tobytes()
        capture = Capture(leaves, known.root)
        results: list[Any] = []
        try:
            arguments, options = restored(list(leaves), structure)
            result = self._function(*arguments, **options)
        finally:
            state.capture = None
        form = flatten(result, results, strict=False)
        try:
            captured = capture.finish(results)
            if random.get_rng_state().tobytes() != randomness:
                raise CannotCapture("it draws random numbers")
            for variant in known.variants:
                captured.confirm(variant.captured)
            others = [variant for variant in known.variants if variant.captured.trace is not captured.trace]
            known.variants = [_Variant(captured, form), *others[: _MOST_VARIANTS - 1]]
            known.failures = 0
            known.misfits += 1
            self._last = None, None
            if known.misfits == _MISFITS:
                self._warn(f"{_MISFITS} calls in a row had other tensors, views of them or gradients than the call before")
        except CannotCapture as reason:
            known.failures += 1
            if known.failures == _FAILURES:
                self._warn(str(reason))
        return result

    def _warn(self, reason: str) -> None:
        """Say once why the function's calls are not replayed."""
        if not self._has_warned:
            self._has_warned = True
            name = getattr(self._function, "__name__", type(self._function).__name__)
            warnings.warn(f"tapegrad.compile: {name} runs as ordinary code: {reason}", RuntimeWarning, stacklevel=4)

    def _check(self, captured: Captured, structure: Any, leaves: list[Any]) -> Any:
        """Run the function all the same, and raise where it records something else than what was captured."""
        capture = Capture(leaves, captured.trace.root)
        try:
            arguments, options = restored(list(leaves), structure)
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
    tensors = [id(tensor) for tensors in (function.parameters(), function.buffers()) for tensor in tensors]
    return (tuple(tensors), tuple([module.training for module in function.modules()]))


def _shown(node: Any) -> str:
    operands = ", ".join([repr(operand.type) for operand in node.operands])
    return f"{node.primitive.name}({operands}) of {node.type!r}"
