"""Random numbers: PyTorch's generator on the CPU and its draws, so that a seed gives the numbers that PyTorch gives.

The generator is MT19937. Every draw takes a fixed share of its stream of 32-bit words:

=================================  ===============================================================================
``uniform`` (float32 and halves)   one word an element, its low 24 bits
``uniform`` (float64), ``cauchy``  two words an element, the first is the high one, their low 53 bits; the same for
                                   ``exponential``, ``geometric`` and ``bernoulli`` of a number
``normal`` of fewer than 16,       float64 uniforms in pairs, each pair makes two normal numbers (Box-Muller); the
``log_normal``                     second waits in the generator for the next draw
``normal`` of 16 and more          uniforms in blocks of 16 (8 radii, 8 angles); a remainder draws the last 16 anew
``randint``, ``random_``           words modulo the range, two words a number from 2**28 up
``randperm``                       words modulo the number of places left
=================================  ===============================================================================

The draws here return NumPy arrays, take a `tapegrad.dtypes.dtype`, and draw from the default generator if given none.
Results are PyTorch's bit for bit where it runs on AVX2 or AVX-512 without Intel's random streams: its vector code rounds
a multiplication and addition once, and so does this.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import dtypes
from .device import Device

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

DEFAULT_SEED = 67280421310721  # PyTorch's, for a new generator
STATE_WORDS = 624

# How PyTorch lays out a generator's state in bytes (a C struct, 5056 of them), so that states can be exchanged.
_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (STATE_WORDS,)),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),  # the normal number that waits
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("float_normal", "<f4"),
        ("float_normal_is_valid", "?"),
    ],
    align=True,
)


class Generator:
    """A stream of random numbers, with PyTorch's algorithm, seeding and state.

    Args:
        device: where the stream is drawn; the CPU is all there is.

    >>> generator = Generator().manual_seed(0)
    >>> generator.words(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    def __init__(self, device: str | Device = "cpu") -> None:
        self.device = Device(device)
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed, and return the generator.

        Raises:
            RuntimeError: the seed is not an int.
            ValueError: the seed is not within 64 bits (signed or unsigned).
        """
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._bits: Any = None  # NumPy's bit generator, made when first needed: importing numpy.random takes a while
        self._is_fresh = True  # nothing was drawn since seeding
        self.waiting_normal: float | None = None
        return self

    def seed(self) -> int:
        """Seed with a number that differs every time, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") % 2**53)
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed that the stream started from."""
        return self._seed

    def words(self, count: int) -> Array:
        """Return the next 32-bit words of the stream."""
        words: Array = self._raw(count).astype(np.uint32)
        return words

    def long_words(self, count: int) -> Array:
        """Return the next 64-bit words, each of two 32-bit ones, the high one first."""
        raw = self._raw(2 * count)
        words: Array = raw[0::2] << np.uint64(32) | raw[1::2]
        return words

    def unit(self) -> float:
        """Return one number uniform in [0, 1), of 53 bits."""
        self._is_fresh = False
        draw = self._engine().random_raw
        number: int = draw() << 32 | draw()
        return (number & (2**53 - 1)) * 2.0**-53

    def _raw(self, count: int) -> Array:
        if count:
            self._is_fresh = False
        raw: Array = self._engine().random_raw(count)
        return raw

    def _engine(self) -> Any:
        if self._bits is None:
            from numpy.random import MT19937, RandomState

            self._bits = MT19937(0)
            RandomState(self._bits).seed(self._seed & 0xFFFFFFFF)
        return self._bits

    def get_state(self) -> Array:
        """Return the state as bytes, an uint8 array that PyTorch can read too."""
        engine = self._engine().state["state"]
        state = np.zeros((), _STATE)
        state["seed"] = self._seed
        state["seeded"] = 1
        state["words"] = engine["key"]
        # A fresh stream has not mixed its words yet: it stands at the end of a round, and PyTorch calls that place 0.
        state["next"] = 0 if self._is_fresh else engine["pos"]
        state["left"] = 1 if self._is_fresh else STATE_WORDS + 1 - engine["pos"]
        if self.waiting_normal is not None:
            state["normal_is_valid"] = 1
            state["normal_y"] = self.waiting_normal
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> Generator:
        """Continue from a state that `get_state` (or PyTorch's) returned, and return the generator.

        Raises:
            TypeError: the state is not an array of uint8.
            RuntimeError: it has the wrong size or is no state.
        """
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        fields = np.frombuffer(state.tobytes(), _STATE)[0]
        left, following = int(fields["left"]), int(fields["next"])
        if not (fields["seeded"] and 0 < left <= STATE_WORDS and 0 <= following <= STATE_WORDS):
            raise RuntimeError("Invalid mt19937 state")
        self.manual_seed(int(fields["seed"]))
        self._is_fresh = following == 0
        place = STATE_WORDS if left == 1 else following
        words = fields["words"].astype(np.uint32)
        self._engine().state = {"bit_generator": "MT19937", "state": {"key": words, "pos": place}}
        self.waiting_normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """Return a new generator that continues from the same state."""
        return Generator(self.device).set_state(self.get_state())

    def __getstate__(self) -> Array:
        return self.get_state()

    def __setstate__(self, state: Array) -> None:
        self.__init__()  # type: ignore[misc]  # copy and pickle make an object without it
        self.set_state(state)


default_generator = Generator()
default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, and return it.

    >>> manual_seed(0).initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator with a number that differs every time, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the default generator's stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Array:
    """Return the state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Array) -> None:
    """Continue the default generator from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str | None = None) -> Iterator[None]:
    """Run a block of code, and then put the default generator back to where it was before.

    Args:
        devices: accepted for PyTorch's sake; the CPU's generator is always put back.
        enabled: False makes it do nothing.
        device_type: accepted for PyTorch's sake.
    """
    if not enabled:
        yield
        return
    before = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(before)


# ---- Arithmetic that rounds as PyTorch's compiled code does ----

_PIECE = 1 << 14  # elements worked on at once, few enough for the cache; a multiple of 16


def _pieces(values: Array) -> Iterator[Array]:
    """Cut a flat array into views of at most `_PIECE` elements."""
    for start in range(0, values.size, _PIECE):
        yield values[start : start + _PIECE]


def _each(function: Callable[[float], float], values: Array) -> Array:
    """Apply a function of Python's math module to float64 elements: the C library's last bit, which NumPy's may miss."""
    results = np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size)
    return results.reshape(values.shape)


def _log(value: float) -> float:
    return math.log(value) if value else -math.inf


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _two_sum(first: Any, second: Any) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error, exactly (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _two_product(values: Array, factor: float) -> tuple[Array, Array]:
    """Return the rounded product and its rounding error, exactly (Dekker)."""
    product = values * factor
    high = values * 134217729.0  # 2**27 + 1 splits 53 bits into halves
    high = high - (high - values)
    low = values - high
    factor_high = factor * 134217729.0
    factor_high = factor_high - (factor_high - factor)
    factor_low = factor - factor_high
    return product, low * factor_low - (((product - high * factor_high) - low * factor_high) - high * factor_low)


def _to_odd(total: Array, error: Array) -> Array:
    """Round a sum with this error to the neighbour whose last bit is 1, so that the next rounding goes the right way."""
    inexact_and_even = (error != 0) & (total.view(np.int64) & 1 == 0)
    return np.where(inexact_and_even, np.nextafter(total, np.copysign(np.inf, error)), total)


def _fused_single(values: Array, factor: float, term: float) -> Array:
    """Return values * factor + term of float32 numbers, rounded once: the product is exact in float64."""
    return _to_odd(*_two_sum(values.astype(np.float64) * factor, term)).astype(np.float32)


def _fused_double(values: Array, factor: float, term: float) -> Array:
    """Return values * factor + term of float64 numbers, rounded once (Boldo and Melquiond's algorithm)."""
    product, product_error = _two_product(values, factor)
    rest, rest_error = _two_sum(term, product_error)
    total, total_error = _two_sum(product, rest)
    result = total + _to_odd(*_two_sum(rest_error, total_error))
    return np.where(np.isfinite(result), result, values * factor + term)  # splitting overflows close to the largest number


def _scale(values: Array, factor: float, term: float) -> Array:
    """Compute values * factor + term in place, rounded once, for flat float32 or float64 values."""
    with np.errstate(all="ignore"):
        if factor == 1 or term == 0:
            values *= factor
            values += term
            return values
        fused = _fused_single if values.dtype == np.float32 else _fused_double
        for piece in _pieces(values):
            piece[:] = fused(piece, factor, term)
        return values


def _cast(values: Array, dtype: dtypes.dtype) -> Array:
    """Cast as C++ does: a double or an integer becomes a 2-byte float through float32, and overflows in silence."""
    with np.errstate(all="ignore"):
        if dtype in _HALVES:
            values = values.astype(np.float32, copy=False)
        return values.astype(dtypes.array_type(dtype), copy=False)


# ---- What PyTorch says of dtypes ----

_HALVES = (dtypes.float16, dtypes.bfloat16)
# Of each floating dtype: the bits of precision and the largest number.
_DIGITS = {dtypes.float16: 11, dtypes.bfloat16: 8, dtypes.float32: 24, dtypes.float64: 53}
_LARGEST = {
    dtypes.float16: 65504.0,
    dtypes.bfloat16: float(2**128 - 2**120),
    dtypes.float32: float(2**128 - 2**104),
    dtypes.float64: float(2**1024 - 2**971),
}
_C_NAMES = {
    dtypes.float16: "c10::Half",
    dtypes.bfloat16: "c10::BFloat16",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short int",
    dtypes.int32: "int",
    dtypes.int64: "long int",
    dtypes.bool: "bool",
}


def _working_type(dtype: dtypes.dtype) -> type[np.floating[Any]]:
    """Return what numbers of a floating dtype are computed in."""
    return np.float64 if dtype is dtypes.float64 else np.float32


def _require(holds: bool, kernel: str, dtype: dtypes.dtype) -> None:
    if not holds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")


def _integer_limits(dtype: dtypes.dtype) -> tuple[int, int]:
    """Return the least and the greatest integer of an integer or bool dtype."""
    if dtype is dtypes.bool:
        return 0, 1
    limits = np.iinfo(dtypes.array_type(dtype))
    return int(limits.min), int(limits.max)


# ---- Uniform and normal numbers ----


def _units(generator: Generator, count: int, kind: type[np.floating[Any]]) -> Array:
    """Return uniform numbers in [0, 1): float32 of 24 bits from a word each, or float64 of 53 bits from two words each."""
    values = np.empty(count, kind)
    for piece in _pieces(values):
        if kind is np.float32:
            piece[:] = generator.words(piece.size) & np.uint32(2**24 - 1)
            piece *= 2.0**-24
        else:
            piece[:] = (generator.long_words(piece.size) & np.uint64(2**53 - 1)).view(np.int64)
            piece *= 2.0**-53
    return values


def uniform(shape: Shape, dtype: dtypes.dtype, low: float = 0.0, high: float = 1.0, generator: Generator | None = None) -> Array:
    """Return numbers uniform in [low, high); both parts of complex ones are.

    Raises:
        RuntimeError: low > high, or a bound is out of the dtype's range.
        NotImplementedError: the dtype is not a floating or complex one.
    """
    if dtype.is_complex:
        parts = uniform((*shape, 2), dtype.to_real(), low, high, generator)
        return parts.view(dtypes.array_type(dtype)).reshape(shape)
    _require(dtype.is_floating_point, "check_uniform_bounds", dtype)
    _check_uniform_bounds(low, high, dtype)
    kind = _working_type(dtype)
    values = _units(generator or default_generator, math.prod(shape), kind)
    if (low, high) != (0, 1):
        _scale(values, float(kind(high) - kind(low)), float(kind(low)))
    values = _cast(values, dtype)
    first, last = _cast(np.array([low, high]), dtype)
    values[values == last] = first  # rounding may have reached the upper bound, which is outside
    return values.reshape(shape)


def _check_uniform_bounds(low: float, high: float, dtype: dtypes.dtype) -> None:
    largest = _LARGEST[dtype]
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype.title}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit"
        )


def normal(
    shape: Shape,
    dtype: dtypes.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
    *,
    contiguous: bool = True,
) -> Array:
    """Return normal numbers; complex ones have the variance std**2, half of it in each part.

    Args:
        shape: of the result.
        dtype: of the result.
        mean: of the distribution.
        std: the standard deviation.
        generator: what to draw from; the default generator if None.
        contiguous: whether they go to contiguous memory; PyTorch's stream is another one elsewhere.

    Raises:
        RuntimeError: std is negative.
        NotImplementedError: the dtype is not a floating or complex one.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    count = math.prod(shape)
    if count == 0:
        return np.empty(shape, dtypes.array_type(dtype))
    if dtype.is_complex:
        parts = normal((*shape, 2), dtype.to_real(), mean, std / math.sqrt(2), generator, contiguous=contiguous)
        return parts.view(dtypes.array_type(dtype)).reshape(shape)
    _require(dtype.is_floating_point, "normal_kernel_cpu", dtype)
    generator = generator or default_generator
    if count < 16 or not contiguous:
        values = _scale(_paired_normals(generator, count), std, mean)
    else:
        kind = _working_type(dtype)
        values = _scale(_block_normals(generator, count, dtype), float(kind(std)), float(kind(mean)))
    return _cast(values, dtype).reshape(shape)


def _paired_normals(generator: Generator, count: int) -> Array:
    """Return float64 standard normal numbers drawn in pairs, beginning with the one that waits, if any."""
    waiting = [] if generator.waiting_normal is None else [generator.waiting_normal]
    missing = count - len(waiting)
    drawn = _units(generator, missing + missing % 2, np.float64).reshape(-1, 2)
    radius = np.sqrt(-2 * _each(math.log1p, -drawn[:, 1]))
    angle = 2 * math.pi * drawn[:, 0]
    pairs = np.stack([radius * _each(math.cos, angle), radius * _each(math.sin, angle)], axis=1).ravel()
    generator.waiting_normal = float(pairs[-1]) if missing % 2 else None
    return np.concatenate([waiting, pairs])[:count]


def _block_normals(generator: Generator, count: int, dtype: dtypes.dtype) -> Array:
    """Return 16 or more standard normal numbers (float64 or float32) drawn in blocks of 16."""
    kind = _working_type(dtype)
    whole = count - count % 16
    # Full precision draws for the remainder too, before it is drawn anew; half precision does not.
    drawn = whole if dtype in _HALVES else count
    values = np.empty(count, kind)
    values[:drawn] = _units(generator, drawn, kind)
    _box_muller(values[:whole])
    if whole < count:
        last = _units(generator, 16, kind)
        _box_muller(last)
        values[-16:] = last
    return values


def _box_muller(values: Array) -> None:
    """Turn blocks of 16 uniform numbers into normal ones, in place: 8 of radius, 8 of angle make 8 of cosine, 8 of sine."""
    transform = _normals_double if values.dtype == np.float64 else _normals_single
    for piece in _pieces(values):
        block = piece.reshape(-1, 2, 8)
        block[:, 0], block[:, 1] = transform(1 - block[:, 0], block[:, 1])


def _normals_double(first: Array, second: Array) -> tuple[Array, Array]:
    radius = np.sqrt(-2 * _each(math.log, first))
    angle = 2 * math.pi * second
    return radius * _each(math.cos, angle), radius * _each(math.sin, angle)


# PyTorch's float32 normals come from Cephes' single precision log, sine and cosine, written for AVX2. Here float64 holds
# float32 numbers: a product of two is exact, so that rounding a sum with it is one fused operation (the sum itself was
# rounded to float64 before, which matters once in 2**29 times).


def _singles(*constants: float) -> list[float]:
    return [float(np.float32(constant)) for constant in constants]


_LOG_POLYNOMIAL = _singles(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SINE_POLYNOMIAL = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE_POLYNOMIAL = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LOG2_LOW, _LOG2_HIGH, _SQRT_HALF, _TWO_PI, _FOUR_OVER_PI = _singles(
    -2.12194440e-4, 0.693359375, math.sqrt(0.5), 2 * math.pi, 4 / math.pi
)
_QUARTER_PI_PARTS = _singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)


def _round(values: Array) -> Array:
    """Round to float32, kept as float64."""
    return values.astype(np.float32).astype(np.float64)


def _polynomial(x: Array, coefficients: list[float]) -> Array:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = _round(total * x + coefficient)
    return np.asarray(total)


def _log_single(x: Array) -> Array:
    mantissa, exponent = np.frexp(x)
    is_low = mantissa < _SQRT_HALF
    exponent = (exponent - is_low).astype(np.float64)
    x = np.where(is_low, mantissa + mantissa, mantissa) - 1
    square = _round(x * x)
    y = _round(_polynomial(x, _LOG_POLYNOMIAL) * x)
    y = _round(y * square + _round(exponent * _LOG2_LOW))
    y = _round(y - square * 0.5)
    return _round(exponent * _LOG2_HIGH + _round(x + y))


def _sine_and_cosine_single(x: Array) -> tuple[Array, Array]:
    octant = (_round(x * _FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    for part in _QUARTER_PI_PARTS:
        x = _round(x - octant * part)
    square = _round(x * x)
    sine = _round(_polynomial(square, _SINE_POLYNOMIAL) * square)
    sine = _round(sine * x + x)
    cosine = _round(_polynomial(square, _COSINE_POLYNOMIAL) * square)
    cosine = _round(_round(cosine * square - square * 0.5) + 1)
    is_swapped = octant & 2 != 0
    first, second = np.where(is_swapped, cosine, sine), np.where(is_swapped, sine, cosine)
    return np.where(octant & 4, -first, first), np.where((octant - 2) & 4, second, -second)


def _normals_single(first: Array, second: Array) -> tuple[Array, Array]:
    radius = _round(np.sqrt(-2 * _log_single(first.astype(np.float64))))
    sine, cosine = _sine_and_cosine_single(_round(second.astype(np.float64) * _TWO_PI))
    return radius * cosine, radius * sine


# ---- Integers ----


def randint(low: int, high: int, shape: Shape, dtype: dtypes.dtype, generator: Generator | None = None) -> Array:
    """Return integers in [low, high); see `random_`."""
    return random_(shape, dtype, low, high, generator)


def random_(
    shape: Shape, dtype: dtypes.dtype, low: int | None = None, high: int | None = None, generator: Generator | None = None
) -> Array:
    """Return integers in [low, high); without `high` up to the dtype's greatest, without both from 0 to its greatest.

    The greatest integer of a floating dtype is 2 to the number of its digits: up to there it has them all.

    Raises:
        RuntimeError: the range is empty or does not fit the dtype.
        NotImplementedError: the dtype is complex.
    """
    count = math.prod(shape)
    generator = generator or default_generator
    if low is None and high is None:
        _require(count == 0 or not dtype.is_complex, "random_kernel_cpu", dtype)
        is_long = dtype in (dtypes.int64, dtypes.float64)
        values = _remainders(generator, count, _greatest_integer(dtype) + 1, is_long) if count else np.empty(0, np.int64)
    elif high is None and low == -(2**63):
        values = _all_integers(generator, count, dtype)
    else:
        low, last = _checked_range(low or 0, high, dtype)
        span = last - low + 1
        values = _remainders(generator, count, span, span >= 2**28)
        values += low
    return _cast(values, dtype).reshape(shape)


def _remainders(generator: Generator, count: int, span: int, is_long: bool) -> Array:
    """Return words (64-bit ones if `is_long`) modulo `span`, as int64."""
    values = np.empty(count, np.int64)
    for piece in _pieces(values):
        if is_long:
            piece[:] = (generator.long_words(piece.size) % np.uint64(span)).view(np.int64)
        else:
            piece[:] = generator.words(piece.size) % np.uint32(span)
    return values


def _all_integers(generator: Generator, count: int, dtype: dtypes.dtype) -> Array:
    """Return integers over the whole range of int64."""
    if count and dtype not in (dtypes.int64, dtypes.float64, dtypes.float32, dtypes.bfloat16):
        _require(dtype is not dtypes.float16 and not dtype.is_complex and dtype is not dtypes.bool, _ALL_INTEGERS, dtype)
        raise RuntimeError(f"{_ALL_INTEGERS} handles only int64, double, float and bfloat16")
    return generator.long_words(count).view(np.int64)


_ALL_INTEGERS = "random_full_64_bits_range_kernel_cpu"


def _greatest_integer(dtype: dtypes.dtype) -> int:
    return 2 ** _DIGITS[dtype] if dtype.is_floating_point else _integer_limits(dtype)[1]


def _checked_range(low: int, high: int | None, dtype: dtypes.dtype) -> tuple[int, int]:
    """Return the first and the last integer to draw, or raise PyTorch's error."""
    if not all(-(2**63) <= bound < 2**63 for bound in (low, high or 0)):
        raise ValueError("Overflow when unpacking long long")
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype.is_floating_point:
        low = _first_within(low, dtype)
        high = None if high is None else _end_within(high, dtype)
    last = _greatest_integer(dtype) if high is None else high - 1
    if dtype.is_floating_point and low > last:
        name, sign, bound = ("to", ">=", last + 1) if high is not None else ("to_inc", ">", last)
        comparison = "less than or equal to" if high is None else "less than"
        raise RuntimeError(
            f"random_ expects 'from' casted to dtype to be {comparison} '{name}' casted to dtype, "
            f"but got from={low} {sign} {name}={bound}"
        )
    _check_integer_bounds(low, last, dtype)
    return low, last


def _check_integer_bounds(low: int, last: int, dtype: dtypes.dtype) -> None:
    largest = _LARGEST.get(dtype)
    least, greatest = _integer_limits(dtype) if largest is None else (-largest, largest)
    for name, value in (("from", low), ("to - 1", last)):
        if not least <= value <= greatest:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype]}")
        if largest is not None and abs(value) > 2 ** _DIGITS[dtype]:
            warnings.warn(
                f"{name} is out of bounds [-(2^{_DIGITS[dtype]}), 2^{_DIGITS[dtype]}]. Due to precision limitations "
                f"{_C_NAMES[dtype]} can support discrete uniform distribution only within this range. "
                "This warning will become an error in version 1.7 release, please fix the code in advance",
                stacklevel=5,
            )


def _nearest_integer(value: int, dtype: dtypes.dtype) -> int:
    """Return an integer as a floating dtype keeps it; what overflows becomes the least int64, as on a processor."""
    kept = float(_cast(np.array(value), dtype))
    return int(kept) if math.isfinite(kept) else -(2**63)


def _first_within(low: int, dtype: dtypes.dtype) -> int:
    """Return the least integer that is not rounded below `low`."""
    kept = _nearest_integer(low + 1, dtype)
    return low if kept >= low else kept + 2 ** (abs(low + 1).bit_length() - _DIGITS[dtype])


def _end_within(high: int, dtype: dtypes.dtype) -> int:
    """Return the end of the integers that are not rounded up to `high`."""
    kept = _nearest_integer(high - 1, dtype)
    return high if kept < high else kept - 2 ** (abs(high - 1).bit_length() - _DIGITS[dtype])


_LARGE_PERMUTATION = (2**32 - 1) // 20  # from here on PyTorch draws 64-bit words, and in another order


def randperm(n: int, dtype: dtypes.dtype = dtypes.int64, generator: Generator | None = None) -> Array:
    """Return the integers 0 ... n - 1 in random order (Fisher and Yates).

    Raises:
        RuntimeError: n is negative or more than the dtype holds.
        NotImplementedError: the dtype is bool or complex.
    """
    _check_permutation(n, dtype)
    generator = generator or default_generator
    steps = np.arange(n)
    if n < _LARGE_PERMUTATION:
        words = generator.words(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint32)
        order = _swapped(steps + np.append(words.astype(np.int64), 0)[:n])
    else:
        order = steps
        words = generator.long_words(n) % np.arange(1, n + 1, dtype=np.uint64)
        for place, other in enumerate(words):
            order[place], order[other] = order[other], order[place]
    return _cast(order, dtype)


def _swapped(targets: Array) -> Array:
    """Return 0, 1, 2, ... after swapping place 0 with place targets[0], then 1 with targets[1] and so on (none backwards).

    A step gives its place for good what the target holds, and the target what the place held. What a place holds at its
    step it got from the last step that chose it as target, which had it from the place of its own, and so on to a step
    whose place nobody had chosen. These chains are short, and are followed for all steps at once.
    """
    n = targets.size
    steps = np.arange(n)
    latest = np.full(n, -1)  # the last step that chose a place
    latest[targets] = steps
    earlier = np.full(n, -1)  # the step before this one that chose the same target
    by_target = np.sort(targets * n + steps)
    same = np.flatnonzero(np.diff(by_target // n) == 0)
    earlier[by_target[same + 1] % n] = by_target[same] % n
    # A step that stays in its place is itself the latest there.
    origin = np.where(targets == steps, earlier, latest)
    origin = np.where(origin < 0, steps, origin)
    while not np.array_equal(further := origin[origin], origin):
        origin = further
    held = np.where(earlier < 0, targets, origin[earlier])
    return np.where(targets == steps, origin, held)


def _check_permutation(n: int, dtype: dtypes.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _require(not dtype.is_complex and dtype is not dtypes.bool, "randperm", dtype)
    digits = _DIGITS.get(dtype)
    if digits is None:
        if n - 1 > _integer_limits(dtype)[1]:
            name = "int" if dtype is dtypes.int32 else f"{dtype.name}_t"
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    elif n > 2**digits + 1 and dtype is not dtypes.bfloat16:
        limit = "2049" if dtype is dtypes.float16 else f"2^{digits}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {dtype.title} type.")


# ---- Bernoulli and dropout ----


def bernoulli(shape: Shape, dtype: dtypes.dtype, p: float | Array, generator: Generator | None = None) -> Array:
    """Return ones with probability p, else zeros.

    Args:
        shape: of the result.
        dtype: of the result; any but a complex one.
        p: a number, or a floating point array that broadcasts to the shape: their streams differ, as in PyTorch.
        generator: the generator to draw from; the default one if None.

    Raises:
        RuntimeError: p is not in [0, 1].
        NotImplementedError: the dtype is complex, or that of p is not floating.
    """
    count = math.prod(shape)
    is_array = isinstance(p, np.ndarray)
    kind: type[np.floating[Any]] = np.float64
    if not isinstance(p, np.ndarray):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    elif count:
        p_dtype = dtypes.from_array_type(p.dtype)
        _require(p_dtype.is_floating_point, "bernoulli_tensor_cpu_p_", p_dtype)
        kind = _working_type(p_dtype)
        p = np.broadcast_to(p, shape).astype(kind)
        if not np.all((p >= 0) & (p <= 1)):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    _require(count == 0 or not dtype.is_complex, f"bernoulli_{'tensor_cpu_self' if is_array else 'scalar_cpu'}_", dtype)
    units = _units(generator or default_generator, count, kind).reshape(shape)
    return (units < p).astype(dtypes.array_type(dtype))


def dropout_mask(shape: Shape, dtype: dtypes.dtype, p: float, generator: Generator | None = None) -> Array:
    """Return what dropout multiplies by: zeros with probability p, else 1 / (1 - p); p = 0 and p = 1 draw nothing."""
    if p in (0, 1):
        return np.full(shape, 1 - p, dtypes.array_type(dtype))
    kept = bernoulli(shape, dtype, 1 - p, generator)
    kind = _working_type(dtype)
    return _cast(kept.astype(kind, copy=False) / kind(1 - p), dtype)


# ---- Transformed uniform and normal numbers ----


def exponential(shape: Shape, dtype: dtypes.dtype, rate: float = 1.0, generator: Generator | None = None) -> Array:
    """Return exponential numbers of a rate (PyTorch's lambd), or raise RuntimeError if it is not positive."""
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if math.prod(shape) and not dtype.is_floating_point:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {dtype.title}"
        )
    return _transformed(lambda units: -1 / rate * _each(math.log1p, -units), shape, dtype, generator)


def geometric(shape: Shape, dtype: dtypes.dtype, p: float, generator: Generator | None = None) -> Array:
    """Return how many trials it takes to the first success of probability p, or raise RuntimeError if p is not in (0, 1)."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _require(math.prod(shape) == 0 or not (dtype.is_complex or dtype is dtypes.bool), "geometric_cpu", dtype)
    return _transformed(lambda units: np.ceil(_each(_log, units) / math.log1p(-p)), shape, dtype, generator)


def cauchy(
    shape: Shape, dtype: dtypes.dtype, median: float = 0.0, sigma: float = 1.0, generator: Generator | None = None
) -> Array:
    """Return Cauchy numbers, or raise RuntimeError if sigma is not positive or the dtype not a floating one."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not dtype.is_floating_point:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {_C_NAMES[dtype]}"
        )
    return _transformed(lambda units: _scale(_each(math.tan, math.pi * (units - 0.5)), sigma, median), shape, dtype, generator)


def _transformed(function: Callable[[Array], Array], shape: Shape, dtype: dtypes.dtype, generator: Generator | None) -> Array:
    """Return a function of float64 uniform numbers, cast to the dtype."""
    units = _units(generator or default_generator, math.prod(shape), np.float64)
    with np.errstate(all="ignore"):
        return _cast(function(units), dtype).reshape(shape)


def log_normal(
    shape: Shape, dtype: dtypes.dtype, mean: float = 1.0, std: float = 2.0, generator: Generator | None = None
) -> Array:
    """Return numbers whose logarithm is normal, or raise RuntimeError if std is not positive."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    count = math.prod(shape)
    if count == 0:
        return np.empty(shape, dtypes.array_type(dtype))
    _require(dtype.is_floating_point, "log_normal_cpu", dtype)
    normals = _scale(_paired_normals(generator or default_generator, count), std, mean)
    return _cast(_each(_exp, normals), dtype).reshape(shape)


def poisson(rates: Array, generator: Generator | None = None) -> Array:
    """Return a Poisson number for each rate, in the rates' dtype, or raise RuntimeError if a rate is negative."""
    dtype = dtypes.from_array_type(rates.dtype)
    _require(rates.size == 0 or dtype.is_floating_point, "poisson_cpu", dtype)
    generator = generator or default_generator
    counts = [_poisson_number(rate, generator) for rate in rates.astype(np.float64).ravel().tolist()]
    return _cast(np.array(counts, np.int64), dtype).reshape(rates.shape)


def _poisson_number(rate: float, generator: Generator) -> int:
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate == 0:
        return 0
    if rate >= 10:
        return _large_poisson_number(rate, generator)
    count, product, limit = 0, generator.unit(), math.exp(-rate)
    while product > limit:
        count += 1
        product *= generator.unit()
    return count


def _large_poisson_number(rate: float, generator: Generator) -> int:
    """Draw by transformed rejection (Hoermann, 1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    acceptance = 0.9277 - 3.6224 / (b - 2)
    scale = math.log(1.1239 + 1.1328 / (b - 3.4))
    while True:
        u = generator.unit() - 0.5
        v = generator.unit()
        distance = 0.5 - abs(u)
        count = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= acceptance:
            return count
        if count < 0 or (distance < 0.013 and v > distance):
            continue
        density = -rate + count * math.log(rate) - math.lgamma(count + 1)
        if _log(v) + scale - math.log(a / (distance * distance) + b) <= density:
            return count


# ---- Multinomial ----


def multinomial(probabilities: Array, samples: int, replacement: bool = False, generator: Generator | None = None) -> Array:
    """Return indices drawn by weight from a floating point vector, or from each row of a matrix.

    Raises:
        RuntimeError: a weight is negative or not finite, a row has none, or there are fewer weights than samples
            without replacement.
    """
    dtype = dtypes.from_array_type(probabilities.dtype)
    _check_multinomial(probabilities, samples, replacement, dtype)
    generator = generator or default_generator
    rows = probabilities if probabilities.ndim == 2 else probabilities[np.newaxis]
    if rows.shape[0] == 0:
        indices = np.empty((0, samples), np.int64)
    elif replacement and samples > 1:
        _check_rows(rows)
        indices = _draw_with_replacement(generator, rows.astype(_working_type(dtype)), samples)
    else:
        _check_weights(rows)
        indices = _draw_without_replacement(generator, rows, dtype, samples)
    return indices.reshape(*probabilities.shape[:-1], samples)


def _check_multinomial(probabilities: Array, samples: int, replacement: bool, dtype: dtypes.dtype) -> None:
    if not 1 <= probabilities.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {dtype.title}")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = probabilities.shape[-1]
    if not replacement and samples > categories:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if categories > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


_NO_WEIGHT = "invalid multinomial distribution (sum of probabilities <= 0)"


def _check_weights(rows: Array) -> None:
    """Raise what PyTorch does before it draws without replacement: it looks at all weights first."""
    if rows.size == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if not np.all((rows >= 0) & np.isfinite(rows)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.any(np.all(rows == 0, axis=1)):
        raise RuntimeError(_NO_WEIGHT)


def _check_rows(rows: Array) -> None:
    """Raise what PyTorch does when it draws with replacement: it goes through the weights row by row."""
    is_bad = ~((rows >= 0) & np.isfinite(rows))
    bad_rows = np.flatnonzero(np.any(is_bad, axis=1) | np.all(rows == 0, axis=1))
    if bad_rows.size == 0:
        return
    bad = rows[bad_rows[0]][is_bad[bad_rows[0]]]
    if bad.size == 0:
        raise RuntimeError(_NO_WEIGHT)
    entry = "= infinity or NaN" if bad[0] > 0 else "< 0"
    raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {entry})")


def _draw_without_replacement(generator: Generator, rows: Array, dtype: dtypes.dtype, samples: int) -> Array:
    """Draw the greatest of weights over exponential numbers: an index is the greatest in proportion to its weight."""
    shape = rows.shape
    along_memory = rows.strides[0] >= rows.strides[1]
    waits = exponential(shape, dtype, 1.0, generator) if along_memory else exponential(shape[::-1], dtype, 1.0, generator).T
    with np.errstate(all="ignore"):
        keys = (rows / waits).astype(np.float64)
    best: Array = np.argmax(keys, axis=1, keepdims=True) if samples == 1 else np.argsort(-keys, axis=1, kind="stable")
    return best[:, :samples]


def _draw_with_replacement(generator: Generator, rows: Array, samples: int) -> Array:
    """Look uniform numbers up in the running sums of the weights."""
    with np.errstate(all="ignore"):
        sums = np.cumsum(rows, axis=1)
        sums /= sums[:, -1:].copy()
    sums[:, -1] = 1
    units = _units(generator, len(rows) * samples, np.float64).reshape(-1, samples)
    return np.stack([np.searchsorted(row, drawn) for row, drawn in zip(sums.astype(np.float64), units, strict=True)])


# ---- Truncated normal numbers ----


def trunc_normal(
    shape: Shape,
    dtype: dtypes.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    generator: Generator | None = None,
    *,
    contiguous: bool = True,
) -> Array:
    """Return normal numbers within [low, high] by drawing again what falls outside, as ``nn.init.trunc_normal_`` does."""

    def below(bound: float) -> float:
        return (1 + math.erf((bound - mean) / std / math.sqrt(2))) / 2

    if mean < low - 2 * std or mean > high + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    generator = generator or default_generator
    if below(high) - below(low) <= 0.3:
        return _rejected_uniforms(shape, dtype, mean, std, low, high, generator)
    first, last = _cast(np.array([low, high]), dtype)
    values = normal(shape, dtype, mean, std, generator, contiguous=contiguous)
    while np.any(outside := (values < first) | (values > last)):
        values = np.where(outside, normal(shape, dtype, mean, std, generator, contiguous=contiguous), values)
    return values


def _rejected_uniforms(
    shape: Shape, dtype: dtypes.dtype, mean: float, std: float, low: float, high: float, generator: Generator
) -> Array:
    """Draw uniform numbers until each is accepted by the normal density: for bounds that hold little of it."""
    peak = -0.5 * ((max(low, min(mean, high)) - mean) / std) ** 2
    kind = _working_type(dtype)

    def rounded(values: Array) -> Array:
        return _cast(values, dtype).astype(kind)

    values = np.zeros(shape, dtypes.array_type(dtype))
    pending = np.ones(shape, np.bool_)
    while np.any(pending):
        candidates = uniform(shape, dtype, low, high, generator)
        values = np.where(pending, candidates, values)
        deviation = rounded(rounded(candidates.astype(kind) - kind(mean)) / kind(std))
        density = rounded(rounded(rounded(deviation * deviation) * kind(-0.5)) - kind(peak))
        with np.errstate(divide="ignore"):
            logarithm = rounded(np.log(uniform(shape, dtype, 0.0, 1.0, generator).astype(kind)))
        pending &= logarithm > density
    return values
