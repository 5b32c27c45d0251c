"""Functions of neural networks give the values, derivatives and nodes that PyTorch's do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad
from tests.nn import expressions

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

TOLERANCE = {"float64": 1e-10, "float32": 2e-5}
# In half precision PyTorch's fused functions round once, and what is composed here rounds a few times.
HALF_TOLERANCE = {"float16": 2**-8, "bfloat16": 2**-5}
# PyTorch computes the derivative of these with a factor in single precision.
IMPRECISE = {"F.hardsigmoid(x)": 1e-7}
# PyTorch has no second derivative of these, or another one than that of the function.
NO_SECOND = ("F.batch_norm(image, mean4, variance4, None, v)", "F.pdist(", "F.lp_pool", "float(\"inf\")", "F.normalize(x * 0")


def array_of(tensor: Any) -> Any:
    found = tensor.detach()
    return (found.float() if "bfloat16" in str(found.dtype) else found).numpy(force=True)


def cotangent_for(library: Any, tensor: Any) -> Any:
    array = np.random.default_rng(7).normal(size=tuple(tensor.shape))
    return library.tensor(array).to(tensor.dtype)


def outcome(library: Any, text: str, dtype: str, order: int = 1) -> tuple[Any, list[Any]]:
    """Return the result, and its gradients (up to this order) with respect to the floating point operands."""
    library.manual_seed(3)
    operands = expressions.tensors(library, text, dtype)
    result = expressions.run(library, text, operands)
    leaves = [tensor for tensor in operands.values() if tensor.requires_grad]
    found: list[Any] = []
    value = result
    for number in range(order):
        if not value.requires_grad:
            break
        total = (value * cotangent_for(library, value)).sum()
        gradients = library.autograd.grad(total, leaves, create_graph=number + 1 < order, allow_unused=True)
        found += gradients
        parts = [(g * cotangent_for(library, g)).sum() for g in gradients if g is not None]
        value = sum(parts) if parts else total.detach()
    return result, found


def assert_same(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    if ours is None or theirs is None:
        present = theirs if ours is None else ours
        assert present is None or not array_of(present).any(), f"{what}: one library has none"
        return
    mine, expected = array_of(ours), array_of(theirs)
    assert str(ours.dtype) == str(theirs.dtype), what
    assert mine.shape == expected.shape, what
    size = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
    np.testing.assert_allclose(mine, expected, rtol=tolerance, atol=tolerance * size, err_msg=what)


def compare(torch: Any, text: str, dtype: str, tolerance: float, order: int = 1) -> None:
    ours, our_gradients = outcome(tapegrad, text, dtype, order)
    theirs, their_gradients = outcome(torch, text, dtype, order)
    assert_same(ours, theirs, tolerance, "result")
    assert ours.requires_grad == theirs.requires_grad
    assert ours.is_leaf == theirs.is_leaf
    if not theirs.is_leaf:
        assert ours.grad_fn.name() == theirs.grad_fn.name()
    for place, (mine, expected) in enumerate(zip(our_gradients, their_gradients, strict=False)):
        assert_same(mine, expected, tolerance, f"gradient {place}")


@pytest.mark.parametrize("text", expressions.ALL)
def test_values_derivatives_and_node(torch: Any, mode: str, text: str) -> None:
    for dtype, tolerance in TOLERANCE.items():
        compare(torch, text, dtype, max(tolerance, IMPRECISE.get(text, 0.0)))


@pytest.mark.parametrize("text", [text for text in expressions.ALL if not any(part in text for part in NO_SECOND)])
def test_second_derivatives(torch: Any, text: str) -> None:
    try:
        outcome(torch, text, "float64", order=2)
    except RuntimeError as error:
        assert "derivative" in str(error) or "does not require grad" in str(error)
        return
    compare(torch, text, "float64", 1e-9, order=2)


@pytest.mark.parametrize("dtype", HALF_TOLERANCE)
@pytest.mark.parametrize("text", expressions.ALL)
def test_half_precision(torch: Any, text: str, dtype: str) -> None:
    try:
        theirs = expressions.run(torch, text, expressions.tensors(torch, text, dtype, requires_grad=False))
    except (RuntimeError, NotImplementedError, TypeError):
        return  # PyTorch does not have it for this dtype
    ours = expressions.run(tapegrad, text, expressions.tensors(tapegrad, text, dtype, requires_grad=False))
    assert_same(ours, theirs, HALF_TOLERANCE[dtype], "result")


@pytest.mark.parametrize("text", expressions.RANDOM)
def test_random_functions_draw_the_same_numbers(torch: Any, mode: str, text: str) -> None:
    for dtype, tolerance in TOLERANCE.items():
        compare(torch, text, dtype, tolerance)


@pytest.mark.parametrize("momentum", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_are_moved_in_place(torch: Any, mode: str, name: str, momentum: float) -> None:
    found = []
    for library in (tapegrad, torch):
        x = library.tensor(expressions.OPERANDS["image"], requires_grad=True)
        mean, variance = library.zeros(4, dtype=library.float64), library.ones(4, dtype=library.float64)
        function = getattr(library.nn.functional, name)
        for _ in range(3):
            function(x, mean, variance, None, None, True, momentum).sum().backward()
            x = x.detach() + 1
            x.requires_grad_()
        assert not mean.requires_grad and not variance.requires_grad
        found.append((mean.numpy(), variance.numpy()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_indices_of_max_pooling(torch: Any, mode: str) -> None:
    for text in ("F.max_pool2d(image, 3, 2, 1, return_indices=True)[1]", "F.adaptive_max_pool1d(signal, 3, return_indices=True)[1]"):
        operands = [expressions.tensors(library, text, "float32") for library in (tapegrad, torch)]
        ours, theirs = (expressions.run(library, text, found) for library, found in zip((tapegrad, torch), operands, strict=True))
        assert ours.tolist() == theirs.tolist() and not ours.requires_grad


def test_max_norm_scales_the_rows_that_are_used(torch: Any, mode: str) -> None:
    found = []
    for library in (tapegrad, torch):
        weight = library.tensor(expressions.OPERANDS["table"], requires_grad=True)
        index = library.tensor([[1, 3], [3, 4]])
        library.nn.functional.embedding(index, weight, max_norm=0.5).sum().backward()
        found.append((weight.detach().numpy(), weight.grad.numpy()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_one_hot(torch: Any, mode: str) -> None:
    for classes in (-1, 5):
        ours, theirs = (
            library.nn.functional.one_hot(library.tensor([[0, 2], [4, 1]]), classes) for library in (tapegrad, torch)
        )
        assert ours.tolist() == theirs.tolist() and str(ours.dtype) == str(theirs.dtype)


def test_a_wrong_class_is_an_error_at_once_where_it_is_known_and_else_when_the_loss_is_read() -> None:
    logits = tapegrad.zeros(2, 3, requires_grad=True)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        tapegrad.nn.functional.cross_entropy(logits, tapegrad.tensor([0, 3]))
    before = tapegrad.get_mode()
    tapegrad.set_mode("interpret")
    try:
        loss = tapegrad.nn.functional.cross_entropy(logits, tapegrad.tensor([0, 2]) + 1)
        with pytest.raises(IndexError, match="Target 3 is out of bounds"):
            loss.item()
    finally:
        tapegrad.set_mode(before)


def test_losses_of_old_arguments_warn(torch: Any) -> None:
    for library in (tapegrad, torch):
        x, y = library.ones(2), library.zeros(2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loss = library.nn.functional.mse_loss(x, y, size_average=False)
        assert loss.item() == 2.0
        assert [str(entry.message) for entry in caught] == [
            "size_average and reduce args will be deprecated, please use reduction='sum' instead."
        ]
