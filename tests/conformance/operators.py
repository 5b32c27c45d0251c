"""PyTorch's database of operators: each with samples of its arguments, and arguments for which it raises."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

from . import translation

Function = Callable[..., Any]
DTYPES = {
    name: getattr(torch, name)
    for name in ("float64", "float32", "int64", "bool", "complex128", "complex64", "float16", "bfloat16", "uint8", "int32")
}


class Form:
    """One way to call an operation: the function, a method, an in-place method, an alias."""

    def __init__(self, label: str, in_torch: Function, in_tapegrad: Function) -> None:
        self.label = label
        self.in_torch = in_torch
        self.in_tapegrad = in_tapegrad

    def result(self, returned: Any) -> Any:
        """Return the operation's result in what was returned: some forms say too which tensor it is."""
        return returned[1] if isinstance(returned, _Identified) else returned


class _Identified(list[Any]):
    """Whether a result is the tensor that it was to be, and the result."""


class Operator:
    """An operation of the database; its name is PyTorch's, and that of the variant after a dot."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        self.name: str = entry.name + (f".{entry.variant_test_name}" if entry.variant_test_name else "")
        self.is_elementwise = isinstance(entry, BinaryUfuncInfo | UnaryUfuncInfo)
        self.has_second_derivative = bool(entry.supports_gradgrad)
        self.free_choice = _FREE_CHOICES.get(entry.name)

    def function_of(self, dtype: str) -> Form:
        """Return the function; one of Hermitian or triangular matrices only is made to depend on no more than these.

        PyTorch's gradients of such functions have parts that mean nothing: its own tests look at them in this way.
        """
        wrapper = self.entry.gradcheck_wrapper
        called = (wrapper.__name__, *wrapper.__code__.co_names)
        hermitian = any("hermitian_input" in name for name in called) and DTYPES[dtype].is_complex
        if not hermitian and not any("triangular_input" in name for name in called):
            return self.function
        ours = self.function.in_tapegrad
        return Form("function", partial(wrapper, self.entry.op), partial(translation.with_tapegrad(wrapper), ours))

    @property
    def function(self) -> Form:
        """The function, or AttributeError if tapegrad has none."""
        place: Any = torch
        for part in self.entry.name.split("."):
            place = getattr(place, part, None)
        ours = translation.attribute(self.entry.name) if place is self.entry.op else translation.find(self.entry.op)
        return Form("function", self.entry.op, ours)

    def other_forms(self) -> Iterator[Form]:
        """Yield the methods, in-place methods and operators, ``out=``, and the same of aliases."""
        yield from _forms("", self.entry)
        if self.entry.operator_variant is not None:
            yield Form("operator", self.entry.operator_variant, self.entry.operator_variant)
        if self.entry.inplace_operator_variant is not None:
            change = _on_copy(self.entry.inplace_operator_variant)
            yield Form("in-place operator", change, change)
        if self.entry.supports_out:
            yield Form("out", _into_out(self.entry.op), _into_out(self.function.in_tapegrad))
        for alias in self.entry.aliases:
            name = alias.name.removeprefix("torch.")
            yield Form(f"alias {name}", alias.op, _found(translation.attribute, name))
            yield from _forms(f"alias {name}, ", alias)

    def supports(self, dtype: str) -> bool:
        return DTYPES[dtype] in self.entry.dtypes

    def samples(self, dtype: str, limit: int | None = None, *, reference: bool = False) -> list[Any]:
        """Return samples of this dtype, at most `limit` of them, from all over the list."""
        wanted = DTYPES[dtype]
        requires_grad = bool(self.entry.supports_autograd) and (wanted.is_floating_point or wanted.is_complex)
        _seed()
        if reference:  # not all of these can be made with grad
            found = [_with_grad(sample, requires_grad) for sample in self.entry.reference_inputs("cpu", wanted, set_seed=False)]
        else:
            found = list(self.entry.sample_inputs("cpu", wanted, requires_grad=requires_grad, set_seed=False))
        if limit is None or len(found) <= limit:
            return found
        return [found[place * len(found) // limit] for place in range(limit)]

    def errors(self) -> Iterator[Any]:
        """Return samples for which the operation raises, each with the error's class and a pattern of its text."""
        _seed()
        return iter(self.entry.error_inputs("cpu", set_seed=False)) if self.entry.error_inputs_func is not None else iter(())


def _with_grad(sample: Any, requires_grad: bool) -> Any:
    def changed(value: Any) -> Any:
        differentiable = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
        return value.detach().requires_grad_(requires_grad) if differentiable else value

    return sample.transform(changed)


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)


@cache
def all_operators() -> dict[str, Operator]:
    """Return the operations of the database by name."""
    return {operator.name: operator for operator in map(Operator, op_db)}


# Forms


def _forms(prefix: str, entry: Any) -> Iterator[Form]:
    method, change = entry.method_variant, entry.inplace_variant
    if method is not None:
        yield Form(f"{prefix}method", method, _found(translation.find, method))
    if change is not None:
        yield Form(f"{prefix}in-place method", _on_copy(change), _on_copy(_found(translation.find, change)))


def _found(find: Function, wanted: Any) -> Function:
    """Return what was found, or else a function that raises the AttributeError."""
    try:
        return find(wanted)  # type: ignore[no-any-return]
    except AttributeError as error:
        missing = AttributeError(str(error))

    def function(*_arguments: Any, **_options: Any) -> Any:
        raise missing

    return function


def _on_copy(change: Function) -> Function:
    """Return an in-place method as a function, which returns whether the method returned its tensor, and the tensor."""

    def function(first: Any, *arguments: Any, **options: Any) -> Any:
        copy = first.clone()
        result = change(copy, *arguments, **options)
        return _Identified([result is copy, result])

    return function


def _into_out(function: Function) -> Function:
    """Return a function that lets another one write its result into tensors of the right shape and dtype."""

    def writing(first: Any, *arguments: Any, **options: Any) -> Any:
        first, arguments, options = _without_history((first, arguments, options))
        expected = function(first, *arguments, **options)
        outs = tuple([part.clone() for part in expected]) if isinstance(expected, tuple) else expected.clone()
        for part in _parts(outs):
            part.zero_()
        result = function(first, *arguments, **options, out=outs)
        returned = outs if result is None else result  # some return nothing in PyTorch
        return _Identified([[part is out for part, out in zip(_parts(returned), _parts(outs), strict=True)], outs])

    return writing


def _parts(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


def _without_history(value: Any) -> Any:
    if hasattr(value, "requires_grad"):
        return value.detach()
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([_without_history(part) for part in value])
    if isinstance(value, dict):
        return {name: _without_history(part) for name, part in value.items()}
    return value


# What PyTorch leaves open: which of equal elements an index points to, what is in memory that was not set.


def _values_at(results: Any, first: Any, arguments: Any, options: Any) -> Any:
    """Return values, and in place of indices what they point to."""
    values, indices = results
    return results if options.get("stable") else [values, _pointed_to(indices, first, arguments, options)]


def _pointed_to(indices: Any, first: Any, arguments: Any, options: Any, place: int = 0) -> Any:
    dim = options.get("dim", arguments[place] if len(arguments) > place else -1)
    if first.ndim == 0:
        return first.reshape(1)[indices.reshape(-1)]
    kept = indices if indices.ndim == first.ndim else indices.unsqueeze(dim)
    return first.detach().gather(dim, kept)


def _after_count(results: Any, first: Any, arguments: Any, options: Any) -> Any:
    return [results[0], _pointed_to(results[1], first, arguments, options, 1)]


def _nothing(results: Any, *_sample: Any) -> Any:
    return []


_FREE_CHOICES: dict[str, Callable[..., Any]] = {
    "sort": _values_at,
    "msort": lambda results, *_sample: results,
    "argsort": _pointed_to,
    "topk": _after_count,
    "kthvalue": _after_count,
    **dict.fromkeys(("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"), _nothing),
}
