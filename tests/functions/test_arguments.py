"""Arguments that must be ints or bools and are not: PyTorch's TypeError, at once, and nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad

NO_INTEGERS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda t: t.ones(2, 3).sum(1.0),
    "sum of several": lambda t: t.ones(2, 3).sum((0, 1.0)),
    "sum by a word": lambda t: t.ones(2, 3).sum("a"),
    "amax": lambda t: t.ones(2, 3).amax(1.0),
    "argmax": lambda t: t.ones(2, 3).argmax(1.5),
    "max": lambda t: t.ones(2, 3).max(1.0),
    "std": lambda t: t.ones(2, 3).std(1.0),
    "softmax": lambda t: t.ones(2, 3).softmax(1.0),
    "functional softmax": lambda t: t.nn.functional.softmax(t.ones(2, 3), 1.0),
    "cumsum": lambda t: t.ones(2, 3).cumsum(1.0),
    "sort": lambda t: t.ones(2, 3).sort(1.0),
    "topk": lambda t: t.ones(2, 3).topk(1.5),
    "kthvalue": lambda t: t.ones(2, 3).kthvalue(1.5),
    "tril": lambda t: t.ones(2, 3).tril(1.5),
    "diagonal": lambda t: t.ones(2, 3).diagonal(1.0),
    "narrow length": lambda t: t.ones(2, 3).narrow(0, 0, 1.5),
    "narrow start": lambda t: t.ones(2, 3).narrow(0, 0.5, 1),
    "select": lambda t: t.ones(2, 3).select(0, 0.5),
    "split": lambda t: t.ones(2, 3).split([1.5, 0.5]),
    "chunk": lambda t: t.ones(2, 3).chunk(1.5),
    "unfold": lambda t: t.ones(2, 3).unfold(1, 1.5, 1),
    "transpose": lambda t: t.ones(2, 3).transpose(0, 1.0),
    "unsqueeze": lambda t: t.ones(2, 3).unsqueeze(1.0),
    "squeeze": lambda t: t.ones(2, 3).squeeze(1.0),
    "unflatten": lambda t: t.ones(2, 3).unflatten(0, (1.5,)),
    "rot90": lambda t: t.ones(2, 3).rot90(1.5, (0, 1)),
    "cat": lambda t: t.cat([t.ones(2, 3)], 1.0),
    "bool for an int": lambda t: t.ones(2, 3).topk(1, True),
    "diff by name": lambda t: t.ones(2, 3).diff(n="a"),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor([1]), 2.5),
    "max_pool2d": lambda t: t.nn.functional.max_pool2d(t.ones(1, 2, 2), 1.5),
    "avg_pool2d": lambda t: t.nn.functional.avg_pool2d(t.ones(1, 2, 2), 1.5),
    "conv2d": lambda t: t.nn.functional.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 1), stride=1.5),
    "layer_norm": lambda t: t.nn.functional.layer_norm(t.ones(2, 3), (3.0,)),
    "interpolate": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 2, 2), 1.5),
    "pixel_shuffle": lambda t: t.nn.functional.pixel_shuffle(t.ones(1, 4, 2, 2), 1.5),
    "fold": lambda t: t.nn.functional.unfold(t.ones(1, 1, 2, 2), 1.5),
    "keepdim": lambda t: t.ones(2, 3).max(0, "a"),
    "descending": lambda t: t.ones(2, 3).sort(descending="a"),
    "unbiased": lambda t: t.ones(2, 3).var(unbiased="a"),
    "requires_grad_": lambda t: t.ones(2, 3).requires_grad_(1),
    "set_grad_enabled": lambda t: t.set_grad_enabled("a"),
    "expand_as": lambda t: t.ones(2, 3).expand_as(3),
    "view_as": lambda t: t.ones(2, 3).view_as(3),
    "type": lambda t: t.ones(2, 3).type(3),
    "einsum": lambda t: t.einsum(3, t.ones(2, 3)),
}


@pytest.mark.parametrize("what", NO_INTEGERS)
def test_type_error_names_the_function(mode: str, what: str) -> None:
    with pytest.raises(TypeError, match=r"^\w+\(\)|dtype must be"):
        NO_INTEGERS[what](tapegrad)
    assert tapegrad.ones(2).sum().item() == 2


@pytest.mark.peer
@pytest.mark.parametrize("what", NO_INTEGERS)
def test_pytorch_raises_the_same(torch: Any, what: str) -> None:
    with pytest.raises(TypeError):
        NO_INTEGERS[what](torch)


def test_texts_are_those_of_pytorch() -> None:
    x = tapegrad.ones(2, 3)
    with pytest.raises(TypeError, match=r"^topk\(\): argument 'k' \(position 2\) must be int, not float$"):
        tapegrad.topk(x, 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^diff\(\): argument 'n' must be int, not str$"):
        tapegrad.diff(x, n="a")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"^amax\(\): .* must be tuple of ints, not float$"
    ):
        tapegrad.amax(x, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("integer", [np.int64(1), tapegrad.tensor(1)])
def test_other_integers_will_do(integer: Any) -> None:
    x = tapegrad.arange(6.0).reshape(2, 3)
    assert x.sum(integer).tolist() == x.sum(1).tolist()
    assert x.topk(integer).values.tolist() == x.topk(1).values.tolist()
    assert x.unsqueeze(integer).shape == (2, 1, 3)


def test_the_attribute_requires_grad_is_a_bool() -> None:
    x = tapegrad.ones(2)
    with pytest.raises(RuntimeError, match="^requires_grad must be a bool$"):
        x.requires_grad = 1  # type: ignore[assignment]
    assert not x.requires_grad
