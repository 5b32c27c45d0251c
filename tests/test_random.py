"""Random numbers: PyTorch's, bit for bit, and what holds of them without PyTorch."""

from __future__ import annotations

import copy
import math
import pickle
import random as python_random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tapegrad import dtypes, random
from tapegrad.random import Generator

SIZES = (0, 1, 5, 15, 16, 17, 100, 1000)
FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
COMPLEX = (dtypes.complex64, dtypes.complex128)
REAL = FLOATS + INTEGERS
ANY = (*REAL, dtypes.bool)

# Each draw: its name, the dtypes it has, the draw here, and what fills an empty tensor in PyTorch.
Draw = tuple[str, tuple[dtypes.dtype, ...], Callable[..., Any], Callable[..., Any]]
DRAWS: list[Draw] = [
    ("uniform", FLOATS + COMPLEX, lambda s, d, g: random.uniform(s, d, generator=g), lambda t, g: t.uniform_(generator=g)),
    (
        "uniform between",
        FLOATS + COMPLEX,
        lambda s, d, g: random.uniform(s, d, -0.37, 1.91, g),
        lambda t, g: t.uniform_(-0.37, 1.91, generator=g),
    ),
    ("normal", FLOATS + COMPLEX, lambda s, d, g: random.normal(s, d, generator=g), lambda t, g: t.normal_(generator=g)),
    (
        "normal around",
        FLOATS + COMPLEX,
        lambda s, d, g: random.normal(s, d, 0.3, 1.7, g),
        lambda t, g: t.normal_(0.3, 1.7, generator=g),
    ),
    ("random_", ANY, lambda s, d, g: random.random_(s, d, generator=g), lambda t, g: t.random_(generator=g)),
    (
        "random_ from",
        REAL,
        lambda s, d, g: random.random_(s, d, 5, None, g),
        lambda t, g: t.random_(5, None, generator=g),
    ),
    (
        "random_ over all of int64",
        (dtypes.int64, dtypes.float64, dtypes.float32, dtypes.bfloat16),
        lambda s, d, g: random.random_(s, d, -(2**63), None, g),
        lambda t, g: t.random_(-(2**63), None, generator=g),
    ),
    ("randint", REAL, lambda s, d, g: random.randint(3, 90, s, d, g), lambda t, g: t.random_(3, 90, generator=g)),
    (
        "randint of 2**28 - 1",
        (dtypes.int32, dtypes.int64, dtypes.float64),
        lambda s, d, g: random.randint(-(2**27), 2**27 - 1, s, d, g),
        lambda t, g: t.random_(-(2**27), 2**27 - 1, generator=g),
    ),
    (
        "randint of 2**28",
        (dtypes.int32, dtypes.int64, dtypes.float64),
        lambda s, d, g: random.randint(-(2**27), 2**27, s, d, g),
        lambda t, g: t.random_(-(2**27), 2**27, generator=g),
    ),
    (
        "randint of most of int64",
        (dtypes.int64,),
        lambda s, d, g: random.randint(-(2**63) + 1, 2**63 - 1, s, d, g),
        lambda t, g: t.random_(-(2**63) + 1, 2**63 - 1, generator=g),
    ),
    ("bernoulli", ANY, lambda s, d, g: random.bernoulli(s, d, 0.3, g), lambda t, g: t.bernoulli_(0.3, generator=g)),
    ("exponential", FLOATS, lambda s, d, g: random.exponential(s, d, 2.5, g), lambda t, g: t.exponential_(2.5, generator=g)),
    ("geometric", REAL, lambda s, d, g: random.geometric(s, d, 0.07, g), lambda t, g: t.geometric_(0.07, generator=g)),
    ("cauchy", FLOATS, lambda s, d, g: random.cauchy(s, d, 0.5, 2.5, g), lambda t, g: t.cauchy_(0.5, 2.5, generator=g)),
    (
        "log_normal",
        FLOATS,
        lambda s, d, g: random.log_normal(s, d, 0.5, 0.3, g),
        lambda t, g: t.log_normal_(0.5, 0.3, generator=g),
    ),
]  # fmt: skip
CASES = [pytest.param(draw, dtype, id=f"{draw[0]}-{dtype.name}") for draw in DRAWS for dtype in draw[1]]


@pytest.fixture
def streams(torch: Any) -> tuple[Generator, Any]:
    """Two generators of one seed, here and in PyTorch, where PyTorch draws as it does without Intel's streams."""
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("PyTorch rounds differently without AVX2")
    theirs = torch.Generator().manual_seed(99)
    torch.empty(10).bernoulli_(0.5, generator=theirs)
    if not np.array_equal(theirs.get_state().numpy(), _after_words(99, 20)):
        pytest.skip("PyTorch draws Bernoulli and exponential numbers from Intel's streams on this processor")
    return Generator().manual_seed(7), torch.Generator().manual_seed(7)


def _after_words(seed: int, count: int) -> Any:
    generator = Generator().manual_seed(seed)
    generator.words(count)
    return generator.get_state()


def _empty(torch: Any, shape: tuple[int, ...], dtype: dtypes.dtype) -> Any:
    return torch.empty(shape, dtype=getattr(torch, dtype.name))


def _array(tensor: Any) -> Any:
    """Return a tensor's array; one of bfloat16 goes through float32, which holds it exactly."""
    if str(tensor.dtype) == "torch.bfloat16":
        return tensor.float().numpy().astype(dtypes.array_type(dtypes.bfloat16))
    return tensor.numpy()


def _assert_same_bits(found: Any, tensor: Any) -> None:
    expected = _array(tensor)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.reshape(-1).view(np.uint8), expected.reshape(-1).view(np.uint8))


def _assert_same_state(ours: Generator, theirs: Any) -> None:
    np.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())


# ---- Compared with PyTorch ----


@pytest.mark.peer
@pytest.mark.parametrize(("draw", "dtype"), CASES)
def test_draws_are_those_of_pytorch(torch: Any, streams: Any, draw: Draw, dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    _, _, here, there = draw
    for shape in [*((size,) for size in SIZES), (), (3, 4), (2, 0, 3), (4, 9)]:
        _assert_same_bits(here(shape, dtype, ours), there(_empty(torch, shape, dtype), theirs))
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize("seed", range(8))
def test_different_draws_in_turn_share_one_stream(torch: Any, streams: Any, seed: int) -> None:
    ours, theirs = streams
    choose = python_random.Random(seed)
    for _ in range(60):
        _, with_dtypes, here, there = choose.choice(DRAWS)
        dtype, shape = choose.choice(with_dtypes), (choose.choice(SIZES),)
        _assert_same_bits(here(shape, dtype, ours), there(_empty(torch, shape, dtype), theirs))
        if choose.random() < 0.1:  # a state moves from one to the other
            state = theirs.get_state()
            theirs.set_state(torch.from_numpy(ours.get_state()))
            ours.set_state(state.numpy())
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize(("draw", "dtype"), [case for case in CASES if case.values[1] not in INTEGERS])
def test_draws_from_words_of_zeros(torch: Any, streams: Any, draw: Draw, dtype: dtypes.dtype) -> None:
    """The least uniform numbers, 0: logarithms of 0, and the signs of zeros."""
    ours, theirs = streams
    _, _, here, there = draw
    fields = ours.get_state().view(random._STATE)
    fields["words"], fields["next"], fields["left"] = 0, 1, random.STATE_WORDS
    ours.set_state(fields.view(np.uint8))
    theirs.set_state(torch.from_numpy(ours.get_state()))
    for size in (3, 32):
        _assert_same_bits(here((size,), dtype, ours), there(_empty(torch, (size,), dtype), theirs))


@pytest.mark.peer
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_many_normal_numbers_are_the_same(torch: Any, streams: Any, dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    shape = (random._PIECE * 3 + 5,)
    _assert_same_bits(random.normal(shape, dtype, generator=ours), _empty(torch, shape, dtype).normal_(generator=theirs))


@pytest.mark.peer
@pytest.mark.parametrize("seed", [0, 1, -1, 2**31, 2**32, 2**63, 2**64 - 1, -(2**63)])
def test_seeds(torch: Any, seed: int) -> None:
    ours, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    _assert_same_state(ours, theirs)
    _assert_same_bits(random.uniform((700,), dtypes.float32, generator=ours), torch.rand(700, generator=theirs))
    _assert_same_state(ours, theirs)


@pytest.mark.peer
def test_a_new_generator_has_the_seed_of_pytorch(torch: Any) -> None:
    _assert_same_state(Generator(), torch.Generator())


@pytest.mark.peer
@pytest.mark.parametrize("words", [0, 1, 623, 624, 625, 1248])
def test_states_at_the_edges_of_a_round(torch: Any, words: int) -> None:
    ours, theirs = Generator().manual_seed(5), torch.Generator().manual_seed(5)
    ours.words(words)
    torch.rand(words, generator=theirs)
    _assert_same_state(ours, theirs)
    again = Generator().set_state(theirs.get_state().numpy())
    _assert_same_state(again, theirs)
    _assert_same_bits(random.uniform((3,), dtypes.float32, generator=again), torch.rand(3, generator=theirs))


@pytest.mark.peer
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_permutations(torch: Any, streams: Any, dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    for n in (*range(12), 100, 127, 1000 if dtype.itemsize > 1 else 128):
        expected = torch.randperm(n, dtype=getattr(torch, dtype.name), generator=theirs)
        _assert_same_bits(random.randperm(n, dtype, ours), expected)
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize("p_dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bool, dtypes.int64, dtypes.bfloat16], ids=str)
def test_bernoulli_of_an_array(torch: Any, streams: Any, dtype: dtypes.dtype, p_dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    for shape in ((0,), (7,), (5, 40), (3, 1)):
        p = torch.rand(shape).to(getattr(torch, p_dtype.name))
        expected = _empty(torch, (*shape[:-1], 6) if shape[-1] == 1 else shape, dtype).bernoulli_(p, generator=theirs)
        _assert_same_bits(random.bernoulli(tuple(expected.shape), dtype, _array(p), ours), expected)
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("p", [0.0, 0.1, 0.37, 0.5, 0.85, 1.0])
def test_dropout(torch: Any, streams: Any, dtype: dtypes.dtype, p: float) -> None:
    ours, theirs = streams
    torch.default_generator.set_state(theirs.get_state())
    expected = torch.nn.functional.dropout(torch.ones(100, dtype=getattr(torch, dtype.name)), p)
    _assert_same_bits(random.dropout_mask((100,), dtype, p, ours), expected)
    _assert_same_state(ours, torch.default_generator)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(1,), (10,), (1, 5), (4, 50), (0, 3)], ids=str)
def test_multinomial(torch: Any, streams: Any, dtype: dtypes.dtype, shape: tuple[int, ...]) -> None:
    ours, theirs = streams
    weights = torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype.name)) + 0.01
    if shape[-1] > 3:
        weights[..., 0] = 0
        weights[..., -1] = 0
    # Without replacement, weights in half precision have ties, which PyTorch breaks by the luck of its sort.
    without = [1] if dtype.itemsize == 2 else [1, max(1, shape[-1] // 2)]
    for samples, replacement in [(1, True), (2, True), (100, True), *((samples, False) for samples in without)]:
        expected = torch.multinomial(weights, samples, replacement, generator=theirs)
        _assert_same_bits(random.multinomial(_array(weights), samples, replacement, ours), expected)
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_poisson(torch: Any, streams: Any, dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    for scale in (0, 1, 8, 12, 200):
        rates = (torch.rand(5, 40) * scale).to(getattr(torch, dtype.name))
        _assert_same_bits(random.poisson(_array(rates), ours), torch.poisson(rates, generator=theirs))
        _assert_same_state(ours, theirs)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("bounds", [(0.0, 1.0, -2.0, 2.0), (0.5, 2.0, 0.0, 3.0), (0.0, 1.0, 1.0, 4.0), (1.0, 0.02, 0.99, 0.994)])
def test_truncated_normal(torch: Any, streams: Any, dtype: dtypes.dtype, bounds: tuple[float, float, float, float]) -> None:
    ours, theirs = streams
    for size in (0, 5, 500):
        expected = torch.nn.init.trunc_normal_(_empty(torch, (size,), dtype), *bounds, generator=theirs)
        _assert_same_bits(random.trunc_normal((size,), dtype, *bounds, generator=ours), expected)
        _assert_same_state(ours, theirs)


def _multinomial_of(weights: Any, samples: int) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    return (
        lambda: random.multinomial(np.array(weights), samples, True),
        lambda torch: torch.multinomial(torch.tensor(weights), samples, True),
    )


BAD_WEIGHTS: list[Any] = [
    [], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf], [math.inf, -1.0], [-1.0, math.inf],
    [[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]], [[1.0, math.inf], [0.0, 0.0]], [[], []],
]  # fmt: skip
F32, F64, F16, I64, U8, C64 = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int64, dtypes.uint8, dtypes.complex64,
)  # fmt: skip
ERRORS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "uniform backwards": (lambda: random.uniform((3,), F32, 1, 0), lambda t: t.empty(3).uniform_(1, 0)),
    "uniform beyond half": (lambda: random.uniform((3,), F16, 0, 1e6), lambda t: t.empty(3, dtype=t.half).uniform_(0, 1e6)),
    "uniform nan": (lambda: random.uniform((3,), F32, 0, math.nan), lambda t: t.empty(3).uniform_(0, math.nan)),
    "uniform too wide": (lambda: random.uniform((3,), F32, -3e38, 3e38), lambda t: t.empty(3).uniform_(-3e38, 3e38)),
    "uniform of integers": (lambda: random.uniform((3,), I64), lambda t: t.rand(3, dtype=t.int64)),
    "normal std": (lambda: random.normal((3,), F32, 0, -1.5), lambda t: t.empty(3).normal_(0, -1.5)),
    "normal nan": (lambda: random.normal((0,), F32, 0, math.nan), lambda t: t.empty(0).normal_(0, math.nan)),
    "normal of integers": (lambda: random.normal((3,), I64), lambda t: t.randn(3, dtype=t.int64)),
    "randint empty range": (lambda: random.randint(5, 5, (2,), I64), lambda t: t.randint(5, 5, (2,))),
    "randint above": (lambda: random.randint(0, 300, (0,), U8), lambda t: t.randint(0, 300, (0,), dtype=t.uint8)),
    "randint beyond 64 bits": (lambda: random.randint(0, 2**63, (2,), I64), lambda t: t.randint(0, 2**63, (2,))),
    "randint below": (lambda: random.randint(-1, 3, (2,), U8), lambda t: t.randint(-1, 3, (2,), dtype=t.uint8)),
    "randint bool": (lambda: random.randint(0, 3, (2,), dtypes.bool), lambda t: t.randint(0, 3, (2,), dtype=t.bool)),
    "randint half": (lambda: random.randint(0, 2**17, (2,), F16), lambda t: t.randint(0, 2**17, (2,), dtype=t.half)),
    "randint below half": (lambda: random.randint(-(2**17), 1, (2,), F16), lambda t: t.randint(-(2**17), 1, (2,), dtype=t.half)),
    "randint complex": (lambda: random.randint(0, 3, (2,), C64), lambda t: t.randint(0, 3, (2,), dtype=t.cfloat)),
    "random_ from": (lambda: random.random_((2,), F32, 2**24 + 2), lambda t: t.empty(2).random_(2**24 + 2, None)),
    "random_ from above": (lambda: random.random_((2,), U8, 256), lambda t: t.empty(2, dtype=t.uint8).random_(256, None)),
    "random_ all of int32": (
        lambda: random.random_((2,), dtypes.int32, -(2**63)),
        lambda t: t.empty(2, dtype=t.int32).random_(-(2**63), None),
    ),
    "random_ all of half": (
        lambda: random.random_((2,), F16, -(2**63)),
        lambda t: t.empty(2, dtype=t.half).random_(-(2**63), None),
    ),
    "random_ complex": (lambda: random.random_((2,), C64), lambda t: t.empty(2, dtype=t.cfloat).random_()),
    "randperm negative": (lambda: random.randperm(-1), lambda t: t.randperm(-1)),
    "randperm uint8": (lambda: random.randperm(257, U8), lambda t: t.randperm(257, dtype=t.uint8)),
    "randperm int8": (lambda: random.randperm(129, dtypes.int8), lambda t: t.randperm(129, dtype=t.int8)),
    "randperm half": (lambda: random.randperm(2050, F16), lambda t: t.randperm(2050, dtype=t.half)),
    "randperm single": (lambda: random.randperm(2**24 + 2, F32), lambda t: t.randperm(2**24 + 2, dtype=t.float32)),
    "randperm bool": (lambda: random.randperm(2, dtypes.bool), lambda t: t.randperm(2, dtype=t.bool)),
    "bernoulli": (lambda: random.bernoulli((2,), F32, 1.5), lambda t: t.empty(2).bernoulli_(1.5)),
    "bernoulli complex": (lambda: random.bernoulli((2,), C64, 0.5), lambda t: t.empty(2, dtype=t.cfloat).bernoulli_(0.5)),
    "bernoulli array": (lambda: random.bernoulli((1,), F32, np.array([1.5])), lambda t: t.bernoulli(t.tensor([1.5]))),
    "bernoulli of integers": (lambda: random.bernoulli((1,), F32, np.array([1])), lambda t: t.bernoulli(t.tensor([1]))),
    "exponential": (lambda: random.exponential((2,), F32, 0), lambda t: t.empty(2).exponential_(0)),
    "exponential of integers": (lambda: random.exponential((2,), I64), lambda t: t.empty(2, dtype=t.int64).exponential_()),
    "geometric": (lambda: random.geometric((2,), F32, 1.0), lambda t: t.empty(2).geometric_(1.0)),
    "geometric bool": (lambda: random.geometric((2,), dtypes.bool, 0.5), lambda t: t.empty(2, dtype=t.bool).geometric_(0.5)),
    "cauchy": (lambda: random.cauchy((2,), F32, 0, 0), lambda t: t.empty(2).cauchy_(0, 0)),
    "cauchy of integers": (lambda: random.cauchy((2,), I64), lambda t: t.empty(2, dtype=t.int64).cauchy_()),
    "log_normal": (lambda: random.log_normal((2,), F32, 0, 0), lambda t: t.empty(2).log_normal_(0, 0)),
    "log_normal of integers": (lambda: random.log_normal((2,), I64), lambda t: t.empty(2, dtype=t.int64).log_normal_()),
    "poisson": (lambda: random.poisson(np.array([-1.0])), lambda t: t.poisson(t.tensor([-1.0]))),
    "poisson of integers": (lambda: random.poisson(np.array([1])), lambda t: t.poisson(t.tensor([1]))),
    "multinomial 3-d": (lambda: random.multinomial(np.ones((1, 1, 1)), 1), lambda t: t.multinomial(t.ones(1, 1, 1), 1)),
    "multinomial of integers": (lambda: random.multinomial(np.ones(3, int), 1), lambda t: t.multinomial(t.tensor([1]), 1)),
    "multinomial none": (lambda: random.multinomial(np.ones(3), 0), lambda t: t.multinomial(t.ones(3), 0)),
    "multinomial too many": (lambda: random.multinomial(np.ones(3), 4), lambda t: t.multinomial(t.ones(3), 4)),
    "seed of a float": (lambda: Generator().manual_seed(1.5), lambda t: t.Generator().manual_seed(1.5)),  # type: ignore[arg-type]
    "seed of a bool": (lambda: Generator().manual_seed(True), lambda t: t.Generator().manual_seed(True)),
    "seed too large": (lambda: Generator().manual_seed(2**64), lambda t: t.Generator().manual_seed(2**64)),
    "seed too small": (lambda: random.manual_seed(-(2**63) - 1), lambda t: t.manual_seed(-(2**63) - 1)),
    "state of zeros": (
        lambda: Generator().set_state(np.zeros(5056, np.uint8)),
        lambda t: t.Generator().set_state(t.zeros(5056, dtype=t.uint8)),
    ),
    "state too short": (
        lambda: Generator().set_state(np.zeros(10, np.uint8)),
        lambda t: t.Generator().set_state(t.zeros(10, dtype=t.uint8)),
    ),
    "state of floats": (lambda: Generator().set_state(np.zeros(5056)), lambda t: t.Generator().set_state(t.zeros(5056))),
    "state of text": (lambda: Generator().set_state("a"), lambda t: t.Generator().set_state("a")),  # type: ignore[arg-type]
    **{f"multinomial of {weights}, {n}": _multinomial_of(weights, n) for weights in BAD_WEIGHTS for n in (1, 2)},
}  # fmt: skip


@pytest.mark.peer
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_pytorch(torch: Any, name: str) -> None:
    here, there = ERRORS[name]
    with pytest.raises(Exception) as expected:  # noqa: B017 - whatever PyTorch raises
        there(torch)
    with pytest.raises(expected.type) as found:
        here()
    # PyTorch asks for a better text of its own unfinished ones; that is not part of the message.
    assert str(found.value) == str(expected.value).partition("  (Could this error message be improved?")[0]


@pytest.mark.peer
@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 3000, F16), (-4103, 4103, F16), (0, 2**30, F32), (-(2**60), 2**61, F64), (0, 300, dtypes.bfloat16)],
)
def test_integers_too_large_for_a_float_are_warned_of(torch: Any, streams: Any, low: int, high: int, dtype: dtypes.dtype) -> None:
    ours, theirs = streams
    with pytest.warns(UserWarning, match=r"out of bounds \[-\(2\^"):
        expected = _empty(torch, (500,), dtype).random_(low, high, generator=theirs)
    with pytest.warns(UserWarning, match=r"out of bounds \[-\(2\^"):
        _assert_same_bits(random.randint(low, high, (500,), dtype, ours), expected)


# ---- Without PyTorch ----


def _golden_draws(generator: Generator) -> list[tuple[str, Any]]:
    weights = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    return [
        ("randint 32 bits", random.randint(0, 2**27, (2,), dtypes.int32, generator)),
        ("uniform float32", random.uniform((3,), F32, generator=generator)),
        ("normal float64", random.normal((3,), F64, generator=generator)),
        ("uniform float64", random.uniform((2,), F64, -0.37, 1.91, generator)),
        ("normal float32", random.normal((2,), F32, generator=generator)),
        ("normal float32, 17", random.normal((17,), F32, generator=generator)),
        ("normal float64, 17", random.normal((17,), F64, 0.3, 1.7, generator)[-3:]),
        ("randint 64 bits", random.randint(-5, 2**40, (2,), I64, generator)),
        ("randperm", random.randperm(8, generator=generator)),
        ("bernoulli", random.bernoulli((8,), I64, 0.3, generator)),
        ("bernoulli of an array", random.bernoulli((8,), I64, np.full(8, 0.6, np.float32), generator)),
        ("exponential", random.exponential((2,), F64, 2.0, generator)),
        ("geometric", random.geometric((4,), I64, 0.1, generator)),
        ("cauchy", random.cauchy((2,), F64, 1.0, 2.0, generator)),
        ("log_normal", random.log_normal((3,), F64, 0.5, 0.25, generator)),
        ("multinomial with replacement", random.multinomial(weights, 6, True, generator)),
        ("multinomial without", random.multinomial(weights, 3, False, generator)),
        ("random_ uint8", random.random_((2,), U8, generator=generator)),
        ("random_ int64", random.random_((2,), I64, generator=generator)),
        ("uniform float16", random.uniform((4,), F16, generator=generator)),
    ]


# What PyTorch 2.13 draws, one after another, from a generator seeded with 2024.
GOLDEN: dict[str, list[float]] = {
    "randint 32 bits": [109584008, 30723578],
    "uniform float32": [0.9718379974365234, 0.11930084228515625, 0.16690224409103394],
    "normal float64": [0.721039562057389, -2.443310140078174, 1.1767478424078783],
    "uniform float64": [1.081799940601913, 0.19718252199563688],
    "normal float32": [-0.04650889337062836, -0.11068852990865707],
    "normal float32, 17": [
        1.977582573890686, -0.8969374299049377, 1.2634161710739136, 0.030576113611459732, -0.5931644439697266,
        -0.5153905153274536, 0.5214245319366455, -0.36263617873191833, -1.0656821727752686, 0.2763858735561371,
        -0.24025273323059082, 0.3083866238594055, -0.9224638342857361, -0.9809549450874329, 1.6001513004302979,
        3.124418258666992, -0.5565486550331116,
    ],
    "normal float64, 17": [0.45597924464207645, 3.0031334286615525, 0.680034126094206],
    "randint 64 bits": [98589011969, 531209646954],
    "randperm": [2, 1, 3, 5, 6, 4, 7, 0],
    "bernoulli": [1, 0, 1, 0, 0, 0, 0, 1],
    "bernoulli of an array": [1, 0, 0, 1, 1, 0, 1, 1],
    "exponential": [0.17820031455796131, 0.4484607519375121],
    "geometric": [21, 2, 19, 5],
    "cauchy": [1.2896929031699635, -4.358659604339126],
    "log_normal": [2.7594161149389596, 1.5849011596994924, 1.8828139680449394],
    "multinomial with replacement": [3, 3, 1, 0, 2, 2],
    "multinomial without": [2, 3, 0],
    "random_ uint8": [58, 4],
    "random_ int64": [3992738870555378903, 3019056729391341714],
    "uniform float16": [0.327392578125, 0.96533203125, 0.119384765625, 0.319091796875],
}  # fmt: skip


def test_golden_draws() -> None:
    draws = _golden_draws(Generator().manual_seed(2024))
    assert [name for name, _ in draws] == list(GOLDEN)
    for name, found in draws:
        expected = np.array(GOLDEN[name], found.dtype)
        if found.dtype == np.float64:  # the C library's last bits may differ from those of the one that PyTorch ran on
            np.testing.assert_array_max_ulp(found, expected, maxulp=4)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=name)


def test_importing_does_not_import_the_random_numbers_of_numpy() -> None:
    code = "import sys, tapegrad.random; sys.exit('numpy.random' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_copies_and_pickles_continue_the_stream() -> None:
    generator = Generator().manual_seed(3)
    random.normal((3,), F32, generator=generator)  # a normal number waits
    copies = [copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()]
    expected = random.normal((5,), F64, generator=generator)
    for other in copies:
        assert other.initial_seed() == 3
        np.testing.assert_array_equal(random.normal((5,), F64, generator=other), expected)


def test_the_default_generator_is_drawn_from() -> None:
    with random.fork_rng():
        assert random.manual_seed(11) is random.default_generator
        first = random.uniform((4,), F32)
        assert random.initial_seed() == 11
        np.testing.assert_array_equal(first, random.uniform((4,), F32, generator=Generator().manual_seed(11)))


def test_seed_differs_every_time() -> None:
    generator = Generator()
    seeds = {generator.seed() for _ in range(5)}
    assert len(seeds) == 5
    assert generator.initial_seed() in seeds
    with random.fork_rng():
        assert random.seed() == random.initial_seed()


def test_states_of_the_default_generator() -> None:
    with random.fork_rng():
        state = random.get_rng_state()
        first = random.normal((20,), F32)
        random.set_rng_state(state)
        np.testing.assert_array_equal(random.normal((20,), F32), first)


@pytest.mark.parametrize("enabled", [True, False])
def test_fork_rng_puts_the_generator_back(enabled: bool) -> None:
    with random.fork_rng():
        before = random.get_rng_state()
        with pytest.raises(KeyError), random.fork_rng(devices=[], enabled=enabled):
            random.uniform((4,), F32)
            raise KeyError
        assert np.array_equal(before, random.get_rng_state()) == enabled


def test_there_are_generators_for_the_cpu_only() -> None:
    assert repr(Generator().device) == "device(type='cpu')"
    with pytest.raises(AssertionError, match="CPU"):
        Generator("cuda")


def test_uniform_stays_below_its_upper_bound() -> None:
    for dtype in FLOATS:  # in half precision one number in 2**12 or 2**9 is rounded up to the bound
        values = random.uniform((20_000,), dtype, generator=Generator().manual_seed(1)).astype(np.float64)
        assert 0 <= values.min() < values.max() < 1


def test_swapping_all_at_once_is_swapping_one_by_one() -> None:
    numbers = np.random.default_rng(0)
    for n in [*range(30), 1000]:
        targets = np.arange(n) + (numbers.random(n) * (n - np.arange(n))).astype(np.int64)
        expected = list(range(n))
        for place, other in enumerate(targets.tolist()):
            expected[place], expected[other] = expected[other], expected[place]
        assert random._swapped(targets).tolist() == expected


def test_permutations_of_very_many_take_long_words_and_swap_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "_LARGE_PERMUTATION", 10)
    found = random.randperm(10, generator=Generator().manual_seed(4))
    expected: list[int] = []
    for place, word in enumerate(Generator().manual_seed(4).long_words(10).tolist()):
        expected.append(place)
        other = word % (place + 1)
        expected[place], expected[other] = expected[other], place
    assert found.tolist() == expected


def test_products_and_sums_are_rounded_once() -> None:
    choose = python_random.Random(0)
    for _ in range(200):
        factor = choose.uniform(-4, 4) * 10.0 ** choose.randint(-8, 8)
        values = np.array([choose.uniform(-1, 1) * 10.0 ** choose.randint(-10, 3) for _ in range(20)])
        cancelling = -float(values[0]) * factor
        term = choose.choice([choose.uniform(-4, 4) * 10.0 ** choose.randint(-8, 8), cancelling, cancelling * (1 + 2.0**-52)])
        exact = [float(Fraction(value) * Fraction(factor) + Fraction(term)) for value in values.tolist()]
        np.testing.assert_array_equal(random._fused_double(values, factor, term), exact)


@pytest.mark.parametrize(("kind", "digits"), [(np.float32, 23), (np.float64, 52)])
def test_products_and_sums_just_below_the_middle_of_two_numbers_are_rounded_down(kind: Any, digits: int) -> None:
    # The exact sum is 64 * (1 - 4.0**-digits) + term, less than half a unit in the last place above the term.
    values, factor, term = np.array([64 * (1 + 2.0**-digits)], kind), 1 - 2.0**-digits, 2.0 ** (digits + 7) + 128
    assert random._scale(values, factor, term).tolist() == [term]


def test_products_and_sums_close_to_overflow() -> None:
    values = np.array([0.25, 0.75])
    np.testing.assert_array_equal(random._fused_double(values, 1.6e308, -8e307), values * 1.6e308 - 8e307)


def test_large_logarithms_of_log_normal_numbers_overflow_to_infinity() -> None:
    assert random.log_normal((2,), F64, 1e4, 0.1, Generator()).tolist() == [math.inf, math.inf]


def test_trunc_normal_warns_of_a_mean_far_outside() -> None:
    with pytest.warns(UserWarning, match="more than 2 std"):
        values = random.trunc_normal((50,), F32, 0.0, 1.0, 3.0, 4.0, Generator())
    assert 3 <= values.min() <= values.max() <= 4
