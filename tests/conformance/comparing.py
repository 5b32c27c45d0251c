"""Running one sample of an operation in a library, and comparing what two libraries gave."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .translation import as_array

TOLERANCES = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


class Outcome:
    """What a sample gave: an error, or results and the derivatives of a contraction of them."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.results: Any = None
        self.compared: Any = None
        self.gradients: Any = None
        self.connected: list[bool] = []  # whether each gradient can be differentiated again
        self.second: Any = None


def run(
    library: Any,
    function: Callable[..., Any],
    sample: Any,
    process: Callable[[Any], Any] = lambda results: results,
    *,
    second: bool = False,
) -> Outcome:
    """Apply a function to a sample, a tuple of (input, arguments, options), and differentiate.

    `process` takes from the results what does not depend on choices that are free (the signs of singular vectors).
    """
    outcome = Outcome()
    first, arguments, options = sample
    seed(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = function(first, *arguments, **options)
            outcome.results = described(results)
            processed = process(results)
            outcome.compared = outcome.results if processed is results else described(processed)
            _differentiate(library, outcome, processed, tensors_in(sample), second)
        except Exception as error:
            outcome.error = error.with_traceback(None)
    return outcome


def seed(library: Any) -> None:
    """Put the library's generator in a known state; PyTorch's own manual_seed takes milliseconds."""
    (library.default_generator if hasattr(library, "default_generator") else library).manual_seed(0)


def _differentiate(library: Any, outcome: Outcome, results: Any, operands: list[Any], second: bool) -> None:
    inputs = [operand for operand in operands if operand.requires_grad]
    outputs = [result for result in tensors_in(results) if result.requires_grad]
    if not inputs or not outputs:
        return
    weights = [weight(library, output, place) for place, output in enumerate(outputs)]
    gradients = library.autograd.grad(outputs, inputs, weights, create_graph=second, allow_unused=True)
    outcome.gradients = [_values(gradient) for gradient in gradients]
    outcome.connected = [gradient is not None and gradient.requires_grad for gradient in gradients]
    outputs = [gradient for gradient in gradients if gradient is not None and gradient.requires_grad]
    if second and outputs:
        weights = [weight(library, output, place + 7) for place, output in enumerate(outputs)]
        gradients = library.autograd.grad(outputs, inputs, weights, materialize_grads=True)
        outcome.second = [_values(gradient) for gradient in gradients]
    elif second:
        outcome.second = [np.zeros_like(_values(operand)) for operand in inputs]


def _values(tensor: Any) -> Any:
    return None if tensor is None else np.array(as_array(tensor))


def weight(library: Any, like: Any, seed: int) -> Any:
    """Return a fixed tensor, of the shape and dtype of another, to contract it with."""
    shape = tuple(like.shape)
    angles = np.arange(int(np.prod(shape))).reshape(shape) * 1.7 + 0.631 * seed + 0.3
    values = np.exp(1j * angles) if like.dtype.is_complex else np.sin(angles)
    return library.from_numpy(np.array(values)).to(like.dtype)


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in nested values, in order, each once."""
    found: dict[int, Any] = {}
    _collect(value, found)
    return list(found.values())


def _collect(value: Any, found: dict[int, Any]) -> None:
    if hasattr(value, "requires_grad"):
        found[id(value)] = value
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, found)
    elif isinstance(value, dict):
        _collect(list(value.values()), found)


def described(value: Any) -> Any:
    """Return nested results as lists, dicts, arrays and other plain values."""
    if hasattr(value, "requires_grad"):
        return {
            "dtype": str(value.dtype),
            "requires_grad": value.requires_grad,
            "values": np.array(as_array(value)),
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"fields": list(value._fields), "parts": [described(part) for part in value]}
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    if isinstance(value, dict):
        return {name: described(part) for name, part in value.items()}
    if isinstance(value, bool | int | str | None):
        return value
    return np.asarray(value) if isinstance(value, float | complex) else str(value)


# Comparing


class Comparison:
    """How an outcome is compared with the one expected.

    Elements of an elementwise function differ by so much of themselves, those of others and of gradients of the largest one.
    """

    def __init__(self, elementwise: bool = False, tolerances: dict[str, float] | None = None) -> None:
        self.elementwise = elementwise
        self.tolerances = TOLERANCES | (tolerances or {})

    def difference(self, ours: Outcome, theirs: Outcome) -> str | None:
        """Return the first difference in words, or None."""
        if ours.error is None and is_missing_derivative(theirs.error):
            return None
        if theirs.error is not None or ours.error is not None:
            return error_difference(ours.error, theirs.error)
        for aspect in ("results", "compared", "gradients", "second"):
            found = self._nested(getattr(ours, aspect), getattr(theirs, aspect), aspect)
            if found is not None and not (aspect == "results" and found.is_of_values and theirs.results is not theirs.compared):
                return found.text
        for place, (mine, other) in enumerate(zip(ours.connected, theirs.connected, strict=True)):
            if other and not mine:  # the other way round, a second derivative is zero where PyTorch raises
                return f"gradients.{place} has no second derivative"
        return None

    def _nested(self, ours: Any, theirs: Any, where: str) -> _Difference | None:
        if isinstance(theirs, np.ndarray) and isinstance(ours, np.ndarray):
            return self._of_arrays(ours, theirs, where)
        if type(ours) is not type(theirs):
            return _Difference(f"{where}: {_short(ours)}, not {_short(theirs)}")
        if not isinstance(theirs, dict | list):
            return None if ours == theirs else _Difference(f"{where}: {ours!r}, not {theirs!r}")
        if isinstance(theirs, list):
            ours, theirs = dict(enumerate(ours)), dict(enumerate(theirs))
        if list(ours) != list(theirs):
            return _Difference(f"{where}: {list(ours)}, not {list(theirs)}")
        parts = [self._nested(ours[key], theirs[key], f"{where}.{key}") for key in theirs]
        found = [part for part in parts if part is not None]
        return min(found, key=lambda part: part.is_of_values, default=None)

    def _of_arrays(self, ours: Any, theirs: Any, where: str) -> _Difference | None:
        if ours.shape != theirs.shape:
            return _Difference(f"{where}: shape {ours.shape}, not {theirs.shape}")
        elementwise = self.elementwise and where.startswith(("results", "compared"))
        if is_near(ours, theirs, self.tolerances.get(str(theirs.dtype), 0.0), elementwise):
            return None
        return _Difference(f"{where}: {_short(ours)}, not {_short(theirs)}", is_of_values=True)


class _Difference:
    def __init__(self, text: str, is_of_values: bool = False) -> None:
        self.text = text
        self.is_of_values = is_of_values


def is_near(ours: Any, theirs: Any, tolerance: float, elementwise: bool) -> bool:
    """Return whether arrays agree up to a tolerance, relative to what is greater than one."""
    if tolerance == 0 or theirs.size == 0:
        return bool(np.array_equal(ours, theirs))
    is_finite = np.isfinite(theirs)
    mine, other = ours[is_finite], theirs[is_finite]
    if theirs.dtype.kind != "c":
        mine, other = mine.astype(np.float64), other.astype(np.float64)
    scale = 1.0 if elementwise or not other.size else max(1.0, float(np.abs(other).max()))
    if not np.allclose(mine, other, rtol=tolerance, atol=tolerance * scale):
        return False
    mine, other = ours[~is_finite], theirs[~is_finite]
    if theirs.dtype.kind != "c":
        return bool(np.array_equal(mine.astype(np.float64), other.astype(np.float64), equal_nan=True))
    return all(np.array_equal(part(mine), part(other), equal_nan=True) for part in (np.real, np.imag))


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) < 300 else text[:300] + "..."


# Errors


def error_difference(ours: Exception | None, theirs: Exception | None, pattern: str | None = None) -> str | None:
    """Return in words how an error differs from the one expected, or None.

    The texts are the same, or ours fits `pattern`, except that PyTorch's argument parser says things of its own.
    """
    if theirs is None and ours is None:
        return None
    if theirs is None or ours is None:
        return None if is_of_python(theirs) else f"raised {ours!r}, not {theirs!r}"
    mine, other = text_of(ours), text_of(theirs)
    if _kind(ours) != _kind(theirs):
        return f"raised {ours!r}, not {theirs!r}"
    if mine == other or _is_of_parser(other) or is_of_python(theirs):
        return None
    if pattern is not None and re.search(pattern, str(ours)):
        return None
    return f"raised {type(ours).__name__}: {mine}\nand not {' ' * len(type(ours).__name__)}: {other}"


def _kind(error: Exception) -> str:
    return type(error).__name__.lstrip("_")  # PyTorch's LinAlgError is _LinAlgError


def text_of(error: Exception) -> str:
    """Return an error's text without positions in PyTorch's sources."""
    text = re.sub(r"\s*Exception raised from .*", "", str(error), flags=re.DOTALL)
    return re.sub(r" \(Triggered internally at [^)]*\)\.?", "", text).strip()


def is_of_python(error: Exception | None) -> bool:
    """Return whether Python raised this because a method of a class written in C was called on something else."""
    texts = "descriptor '.*' for '.*' objects doesn't apply to|'int' object has no attribute"
    return isinstance(error, TypeError | AttributeError) and bool(re.match(texts, str(error)))


def is_missing_derivative(error: Exception | None) -> bool:
    """Return whether PyTorch has no derivative of an in-place form only: tapegrad has, the same as of the other forms."""
    return isinstance(error, NotImplementedError) and "the derivative for 'inplace version of" in str(error)


def _is_of_parser(text: str) -> bool:
    return "invalid combination of arguments" in text or "required positional argument" in text
