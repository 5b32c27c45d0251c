"""Creation: every way to make a tensor, against golden outcomes of PyTorch 2.13, and PyTorch against the golden ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.layout import memory_order, preserved_strides
from tests.functions import outcomes

FILES = ("creation", "from_data", "legacy", "ranges", "sampling")
CASES = [pytest.param(expression, golden, id=expression) for name in FILES for expression, golden in outcomes.read(name).items()]


@pytest.mark.parametrize(("expression", "golden"), CASES)
def test_outcome_is_golden(expression: str, golden: str) -> None:
    found = outcomes.outcome(tg, expression)
    assert outcomes.agrees(found, golden), f"{found}\n--- golden:\n{golden}"


@pytest.mark.peer
@pytest.mark.parametrize(("expression", "golden"), CASES)
def test_golden_outcome_is_torch(torch: Any, expression: str, golden: str) -> None:
    assert outcomes.outcome(torch, expression) == golden


# What expressions alone do not show


@pytest.mark.parametrize("make", [lambda **o: tg.zeros(2, **o), lambda **o: tg.tensor([1.0], **o), lambda **o: tg.rand(2, **o)])
def test_leaf_that_requires_grad_is_made_in_every_grad_mode(make: Any) -> None:
    with tg.no_grad():
        made = make(requires_grad=True)
    assert made.requires_grad and made.is_leaf and not made.is_inference()
    with tg.inference_mode():
        made = make(requires_grad=True)
    assert made.requires_grad and made.is_leaf and made.is_inference()


def test_default_dtype_is_that_of_floats_at_the_time() -> None:
    tg.set_default_dtype(tg.float64)
    try:
        assert [
            x.dtype for x in (tg.zeros(1), tg.tensor(1.0), tg.arange(1.0), tg.rand(1), tg.Tensor([1]), tg.full((1,), 2.0))
        ] == [tg.float64] * 6
        assert tg.tensor(1j).dtype is tg.complex128
        assert tg.full((1,), 2).dtype is tg.int64
    finally:
        tg.set_default_dtype(tg.float32)


def test_out_is_returned_and_takes_on_the_shape(mode: str) -> None:
    out = tg.empty(5)
    assert tg.ones(2, 3, out=out) is out
    assert out.tolist() == [[1.0] * 3] * 2
    assert tg.arange(6, out=out) is out
    assert out.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] and out.dtype is tg.float32


def test_out_that_is_a_view_writes_to_its_base(mode: str) -> None:
    base = tg.zeros(2, 3)
    tg.ones(3, out=base[1])
    assert base.tolist() == [[0.0] * 3, [1.0] * 3]


def test_out_that_requires_grad_is_refused_but_under_no_grad() -> None:
    out = tg.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
        tg.ones(2, out=out)
    with tg.no_grad():
        tg.ones(2, out=out)
    assert out.tolist() == [1.0, 1.0] and out.requires_grad and out.is_leaf


def test_broadcast_error_names_the_sizes() -> None:
    message = r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0"
    for function in (tg.complex, tg.normal):
        with pytest.raises(RuntimeError, match=message):
            function(tg.ones(2), tg.ones(3))


def test_large_nested_list_is_what_numpy_makes_of_it() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 400))
    assert np.array_equal(tg.tensor(rows.tolist(), dtype=tg.float64).numpy(), rows)
    assert np.array_equal(tg.tensor(rows.tolist()).numpy(), rows.astype(np.float32))
    integers = (rows * 1000).astype(np.int64)
    assert np.array_equal(tg.tensor(integers.tolist()).numpy(), integers)
    assert np.array_equal(tg.tensor(list(integers)).numpy(), integers)


def test_polar_and_its_gradient(mode: str) -> None:
    radius = tg.tensor([2.0, 3.0], dtype=tg.float64, requires_grad=True)
    angle = tg.tensor([0.5, -1.0], dtype=tg.float64, requires_grad=True)
    result = tg.polar(radius, angle)
    assert result.grad_fn.name() == "PolarBackward0"
    assert np.allclose(result.detach().numpy(), [2 * np.exp(0.5j), 3 * np.exp(-1j)], rtol=1e-15)
    tg.complex(result.real, result.imag).real.sum().backward()
    assert np.allclose(radius.grad.numpy(), np.cos([0.5, -1.0]), rtol=1e-15)
    assert np.allclose(angle.grad.numpy(), [-2 * np.sin(0.5), 3 * np.sin(1.0)], rtol=1e-15)


def test_creation_leaves_what_is_pending_alone() -> None:
    x = tg.ones(3)
    y = x * 2
    segment = y._segment
    tg.zeros(2), tg.tensor([1.0]), tg.rand(3), tg.arange(3), tg.zeros_like(y), y.new_ones(2)
    assert y._segment is segment


@pytest.mark.peer
def test_layout_of_a_tensor_like_another_is_torchs(torch: Any) -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        x = torch.empty(generator.choice([0, 1, 1, 2, 3], generator.integers(0, 5)).tolist())
        for _ in range(3):
            x = x.permute(generator.permutation(x.ndim).tolist())
            x = x[tuple([slice(None, None, step) for step in generator.choice([1, 1, 2], x.ndim)])]
            x = x.expand([2 if length == 1 and generator.random() < 0.3 else length for length in x.shape])
        assert preserved_strides(tuple(x.shape), x.stride()) == torch.empty_like(x).stride(), (x.shape, x.stride())


def test_memory_order_of_a_permuted_array() -> None:
    assert memory_order((2, 3, 4), (12, 4, 1)) == [0, 1, 2]
    assert memory_order((4, 2, 3), (1, 12, 4)) == [1, 2, 0]


@pytest.mark.peer
@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64"])
def test_spaced_numbers_are_torchs_to_the_last_bit(torch: Any, name: str) -> None:
    generator = np.random.default_rng(0)
    for _ in range(60):
        start, end = sorted(generator.uniform(-10, 10, 2).tolist())
        count, step = int(generator.integers(0, 70)), float(generator.uniform(0.05, 1))
        expected = torch.linspace(start, end, count, dtype=getattr(torch, name))
        assert np.array_equal(tg.linspace(start, end, count, dtype=getattr(tg, name)).numpy(), expected.numpy())
        if name.startswith("float"):
            expected = torch.arange(start, end, step, dtype=getattr(torch, name))
            assert np.array_equal(tg.arange(start, end, step, dtype=getattr(tg, name)).numpy(), expected.numpy())
