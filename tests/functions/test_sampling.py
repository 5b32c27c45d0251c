"""Random tensors, beyond their golden outcomes: generators, gradients, in-place filling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

FILLS: dict[str, Callable[[Any], Any]] = {
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "cauchy_": lambda x: x.cauchy_(),
    "exponential_": lambda x: x.exponential_(),
    "geometric_": lambda x: x.geometric_(0.5),
    "log_normal_": lambda x: x.log_normal_(),
    "normal_": lambda x: x.normal_(),
    "random_": lambda x: x.random_(10),
    "uniform_": lambda x: x.uniform_(),
}
GRAD_NAMES = {name: "".join(map(str.capitalize, name.split("_"))) + "Backward0" for name in FILLS}


def test_generator_has_a_stream_of_its_own() -> None:
    generator = tg.Generator().manual_seed(3)
    tg.manual_seed(0)
    first = [tg.rand(2, generator=generator), tg.randperm(5, generator=generator), tg.empty(2).normal_(generator=generator)]
    from_default = tg.rand(2).tolist()
    generator.manual_seed(3)
    again = [tg.rand(2, generator=generator), tg.randperm(5, generator=generator), tg.empty(2).normal_(generator=generator)]
    assert [x.tolist() for x in first] == [x.tolist() for x in again]
    tg.manual_seed(0)
    assert tg.rand(2).tolist() == from_default


def test_state_continues_the_stream() -> None:
    tg.manual_seed(5)
    tg.randn(3)  # leaves a normal number waiting
    state = tg.get_rng_state()
    drawn = tg.randn(4).tolist()
    assert state.dtype is tg.uint8
    tg.set_rng_state(state)
    assert tg.randn(4).tolist() == drawn


@pytest.mark.peer
def test_state_is_exchanged_with_torch(torch: Any) -> None:
    torch.manual_seed(5)
    torch.randn(3)
    tg.set_rng_state(tg.from_numpy(torch.get_rng_state().numpy()))
    assert tg.randn(4).tolist() == torch.randn(4).tolist()
    torch.set_rng_state(torch.from_numpy(tg.get_rng_state().numpy()))
    assert tg.rand(4).tolist() == torch.rand(4).tolist()


@pytest.mark.parametrize("name", FILLS)
def test_filling_refuses_a_leaf_that_requires_grad(name: str) -> None:
    x = tg.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        FILLS[name](x)
    assert x.tolist() == [0.0] * 3 and x._version == 0
    with tg.no_grad():
        assert FILLS[name](x) is x
    assert x.requires_grad and x.is_leaf and x._version == 1


@pytest.mark.parametrize("name", FILLS)
def test_gradient_of_what_was_filled_over_is_zero(name: str, mode: str) -> None:
    x = tg.tensor([1.0, math.inf], requires_grad=True)
    y = x * 2
    assert FILLS[name](y) is y
    assert y.requires_grad and y.grad_fn.name() == GRAD_NAMES[name]
    (y * 3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", FILLS)
def test_filling_a_view_fills_the_base(name: str, mode: str) -> None:
    base = tg.full((2, 3), -7.0)
    row = base[1]
    tg.manual_seed(0)
    FILLS[name](row)
    tg.manual_seed(0)
    expected = FILLS[name](tg.zeros(3)).tolist()
    assert base.tolist() == [[-7.0] * 3, expected] and row.tolist() == expected
    assert base._version == row._version == 1


def test_filling_refuses_an_expanded_tensor() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        tg.zeros(1).expand(3).uniform_()


def test_parameters_get_a_gradient_of_zero(mode: str) -> None:
    mean = tg.zeros(3, requires_grad=True)
    std = tg.ones(3, requires_grad=True)
    drawn = [tg.normal(mean, std), tg.normal(mean, 1.0), tg.normal(0.0, std), tg.bernoulli(std), tg.poisson(std)]
    names = ["NormalBackward3", "NormalBackward1", "NormalBackward2", "BernoulliBackward0", "PoissonBackward0"]
    assert [x.grad_fn.name() for x in drawn] == names
    sum([x.sum() for x in drawn]).backward()
    assert mean.grad.tolist() == std.grad.tolist() == [0.0] * 3
    with tg.no_grad():
        assert not tg.normal(mean, std).requires_grad


def test_normal_in_the_dtype_of_the_first_tensor() -> None:
    tg.manual_seed(0)
    standard = tg.randn(2, 3).numpy()
    tg.manual_seed(0)
    mean = tg.tensor([[1.0], [2.0]])
    std = tg.tensor([1.0, 2.0, 4.0], dtype=tg.float64)
    drawn = tg.normal(mean, std)
    assert drawn.dtype is tg.float32
    assert np.allclose(drawn.numpy(), standard * [1, 2, 4] + [[1], [2]], rtol=1e-6)


def test_sampling_reads_pending_parameters(mode: str) -> None:
    chances = tg.tensor([0.0, 1.0]) * 1.0
    assert tg.bernoulli(chances).tolist() == [0.0, 1.0]
    assert tg.multinomial(chances, 3, replacement=True).tolist() == [1, 1, 1]
    assert (chances * 0).bernoulli_(chances).tolist() == [0.0, 1.0]


def test_out() -> None:
    out = tg.empty(3)
    tg.manual_seed(0)
    assert tg.rand(3, out=out) is out
    tg.manual_seed(0)
    assert out.tolist() == tg.rand(3).tolist()
    indices = tg.empty(0, dtype=tg.int64)
    tg.multinomial(tg.tensor([0.0, 1.0]), 1, out=indices)
    assert indices.tolist() == [1]


@pytest.mark.parametrize("function", [tg.rand, tg.randn, lambda *size, **options: tg.randint(5, size, **options)])
def test_generator_of_the_wrong_type_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="argument 'generator' must be torch.Generator, not int"):
        function(2, generator=3)
