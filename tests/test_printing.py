"""Printing: fixed texts, and the same text as PyTorch on random and edge tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from tapegrad import dtypes, printing
from tapegrad.printing import format_return_type, format_scalar, format_tensor, printoptions, set_printoptions

INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
COMPLEXES = (dtypes.complex64, dtypes.complex128)
SHAPES = ((), (1,), (7,), (40,), (3, 4), (2, 30), (2, 3, 4), (2, 1, 3, 2), (1, 2, 1, 2, 2))
LARGE_SHAPES = ((1001,), (7, 200), (6, 200), (40, 5, 6), (2, 600), (600, 2), (8, 8, 8, 8), (1001, 1), (1, 1, 1001))
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"precision": 2},
    {"precision": 0},
    {"precision": 10, "linewidth": 120},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 0, "edgeitems": 2, "linewidth": 30},
    {"edgeitems": 0},
    {"edgeitems": 0, "threshold": 0},
    {"linewidth": 1},
    {"sci_mode": True},
    {"sci_mode": False},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "linewidth": 50, "sci_mode": True},
)
NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def _same_settings_after() -> Iterator[None]:
    """Give back the print options and the default dtype after each test."""
    default = dtypes.get_default_dtype()
    with printoptions():
        yield
    dtypes.set_default_dtype(default)


def show(values: Any, dtype: dtypes.dtype = dtypes.float32, **described: Any) -> str:
    """Print values as a tensor of a dtype."""
    return format_tensor(numpy.array(values, dtypes.array_type(dtype)), dtype, **described)


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        (1.0, dtypes.float32, "tensor(1.)"),
        (1.5, dtypes.float32, "tensor(1.5000)"),
        (1e-5, dtypes.float32, "tensor(1.0000e-05)"),
        (2e8, dtypes.float64, "tensor(2.0000e+08, dtype=torch.float64)"),
        (NAN, dtypes.float32, "tensor(nan)"),
        (1 + 2j, dtypes.complex64, "tensor(1.+2.j)"),
        (True, dtypes.bool, "tensor(True)"),
        (7, dtypes.int64, "tensor(7)"),
        ([], dtypes.float32, "tensor([])"),
        ([], dtypes.int64, "tensor([], dtype=torch.int64)"),
        ([], dtypes.complex64, "tensor([], dtype=torch.complex64)"),
        ([[], []], dtypes.float32, "tensor([], size=(2, 0))"),
        ([[], []], dtypes.int64, "tensor([], size=(2, 0), dtype=torch.int64)"),
        ([1, NAN, INF, -INF], dtypes.float32, "tensor([1., nan, inf, -inf])"),
        ([1.5, NAN], dtypes.float32, "tensor([1.5000,    nan])"),
        ([0.5, -0.0], dtypes.float32, "tensor([0.5000, -0.0000])"),
        ([-0.0, 0.0], dtypes.float32, "tensor([-0., 0.])"),
        ([1, -1], dtypes.float32, "tensor([ 1., -1.])"),
        ([1, 1001], dtypes.float32, "tensor([1.0000e+00, 1.0010e+03])"),
        ([1, 1000], dtypes.float32, "tensor([   1., 1000.])"),
        ([0.1], dtypes.float16, "tensor([0.1000], dtype=torch.float16)"),
        ([-1, 100], dtypes.int64, "tensor([ -1, 100])"),
        ([1, 2], dtypes.uint8, "tensor([1, 2], dtype=torch.uint8)"),
        ([True, False], dtypes.bool, "tensor([ True, False])"),
        ([1 + 2j, 3.5 - 1j], dtypes.complex64, "tensor([1.0000+2.j, 3.5000-1.j])"),
        ([[1, 2], [3, 4]], dtypes.int64, "tensor([[1, 2],\n        [3, 4]])"),
        ([[[1], [2]], [[3], [4]]], dtypes.int64, "tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])"),
    ],
)
def test_fixed_texts(values: Any, dtype: dtypes.dtype, text: str) -> None:
    assert show(values, dtype) == text


def test_long_vector_breaks_at_line_width() -> None:
    text = show(range(30), dtypes.int64)
    assert text == (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
    )


def test_summary_shows_the_edges() -> None:
    assert show(range(1001), dtypes.int64) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert show(numpy.arange(1010).reshape(10, 101), dtypes.int64) == (
        "tensor([[   0,    1,    2,  ...,   98,   99,  100],\n"
        "        [ 101,  102,  103,  ...,  199,  200,  201],\n"
        "        [ 202,  203,  204,  ...,  300,  301,  302],\n"
        "        ...,\n"
        "        [ 707,  708,  709,  ...,  805,  806,  807],\n"
        "        [ 808,  809,  810,  ...,  906,  907,  908],\n"
        "        [ 909,  910,  911,  ..., 1007, 1008, 1009]])"
    )


def test_suffixes() -> None:
    assert show([1, 2], requires_grad=True) == "tensor([1., 2.], requires_grad=True)"
    assert show([1, 2], requires_grad=True, grad_fn_name="AddBackward0") == "tensor([1., 2.], grad_fn=<AddBackward0>)"
    assert show(2, tangent=numpy.float32(1)) == "tensor(2., tangent=1.0)"
    assert show([2], tangent=numpy.ones(1, "float32")) == "tensor([2.], tangent=tensor([1.]))"
    assert show([2], tangent="tensor([1.], requires_grad=True)").endswith("tangent=tensor([1.], requires_grad=True))")
    assert show([1], dtypes.float64, requires_grad=True) == "tensor([1.], dtype=torch.float64, requires_grad=True)"


def test_suffix_that_does_not_fit_starts_a_line() -> None:
    assert show(range(12), dtypes.float64, grad_fn_name="MulBackward0") == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)"
    )


def test_parameters_and_subclasses() -> None:
    plain = show([1], requires_grad=True, is_parameter=True)
    assert plain == "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert show([1], class_name="Image") == "Image([1.])"
    assert show([1], class_name="Weight", is_parameter=True) == "Parameter containing:\nParameter(Weight([1.]))"


def test_default_dtype_is_implied() -> None:
    dtypes.set_default_dtype(dtypes.float64)
    assert show([1], dtypes.float64) == "tensor([1.])"
    assert show([1], dtypes.complex128) == "tensor([1.+0.j])"
    assert show([], dtypes.float64) == "tensor([])"
    assert show([1], dtypes.float32) == "tensor([1.], dtype=torch.float32)"


def test_options_are_kept_and_restored() -> None:
    set_printoptions(precision=2, sci_mode=True)
    assert show([1.125]) == "tensor([1.12e+00])"
    with pytest.raises(KeyError), printoptions(profile="full", linewidth=30):
        expected = {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 30, "sci_mode": None}
        assert printing.get_printoptions() == expected
        raise KeyError
    assert show([1.125]) == "tensor([1.12e+00])"
    set_printoptions(edgeitems=5)
    assert show([1.125]) == "tensor([1.12])", "sci_mode is automatic again whenever it is not given"
    set_printoptions(profile="default")
    expected = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    assert printing.get_printoptions() == expected


def test_returned_options_are_a_copy() -> None:
    printing.get_printoptions()["precision"] = 9
    assert show([1.5]) == "tensor([1.5000])"


def test_input_that_is_not_contiguous_or_writable() -> None:
    array = numpy.broadcast_to(numpy.arange(3.0), (2, 3)).T
    assert format_tensor(array, dtypes.float64).startswith("tensor([[0., 0.],\n        [1., 1.],\n        [2., 2.]]")


@pytest.mark.parametrize(
    ("value", "dtype", "spec", "text"),
    [
        (1.5, dtypes.float32, "", "1.5"),
        (0.1, dtypes.float32, ".3f", "0.100"),
        (0.1, dtypes.float32, "", "0.10000000149011612"),
        (0.1, dtypes.bfloat16, "", "0.10009765625"),
        (12, dtypes.int64, "05d", "00012"),
        (True, dtypes.bool, "", "True"),
        (1 + 2j, dtypes.complex64, ".1f", "1.0+2.0j"),
    ],
)
def test_format_of_a_number(value: Any, dtype: dtypes.dtype, spec: str, text: str) -> None:
    assert format_scalar(numpy.array(value, dtypes.array_type(dtype)), dtype, spec) == text


def test_format_errors() -> None:
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        format_scalar(numpy.ones(2), dtypes.float64, ".2f")
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        format_scalar(numpy.array(1.0), dtypes.float64, "d")


def test_return_type() -> None:
    assert format_return_type("max", {"values": 1.0, "indices": [2, 3]}) == (
        "torch.return_types.max(\nvalues=1.0,\nindices=[2, 3])"
    )


def to_peer(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype) -> Any:
    """Return the PyTorch tensor with an array's values."""
    torch = pytest.importorskip("torch")
    shared = array.astype("float32") if dtype is dtypes.bfloat16 else array  # from_numpy does not know bfloat16
    return torch.from_numpy(numpy.asarray(shared)).to(getattr(torch, dtype.name))


def assert_same(array: numpy.ndarray[Any, Any], dtype: dtypes.dtype) -> None:
    """Check that an array prints as PyTorch prints it."""
    assert format_tensor(array, dtype) == repr(to_peer(array, dtype))


@pytest.fixture
def peer_options(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Set the same print options here and in PyTorch."""
    torch = pytest.importorskip("torch")
    with torch._tensor_str.printoptions(**request.param), printoptions(**request.param):
        yield request.param


def draw_numbers(random: numpy.random.Generator, shape: tuple[int, ...], kind: str) -> numpy.ndarray[Any, Any]:
    """Draw float64 numbers of a kind that printing treats in its own way."""
    normal = numpy.asarray(random.normal(size=shape))
    if kind == "normal":
        return normal
    if kind == "whole":
        return numpy.round(normal * 100)
    if kind == "wide":
        return normal * 10.0 ** random.integers(-12, 13, shape)
    if kind == "tiny":
        return normal * 1e-4
    if kind == "huge whole":
        return numpy.round(normal * 1e8)
    special = random.choice([NAN, INF, -INF, 0.0, -0.0], shape)
    if kind == "special":
        return special
    base = numpy.round(normal * 10) if kind == "whole with special" else normal
    return numpy.where(random.random(shape) < 0.3, special, base)


KINDS = ("normal", "whole", "wide", "tiny", "huge whole", "special", "whole with special", "normal with special")


@pytest.mark.peer
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
def test_floats_print_as_in_pytorch(dtype: dtypes.dtype, kind: str) -> None:
    random = numpy.random.default_rng(KINDS.index(kind))
    for shape in SHAPES + LARGE_SHAPES:
        with numpy.errstate(over="ignore"):
            array = draw_numbers(random, shape, kind).astype(dtypes.array_type(dtype))
        assert_same(array, dtype)


@pytest.mark.peer
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", COMPLEXES, ids=lambda dtype: dtype.name)
def test_complex_numbers_print_as_in_pytorch(dtype: dtypes.dtype, kind: str) -> None:
    random = numpy.random.default_rng(KINDS.index(kind))
    for shape in SHAPES + LARGE_SHAPES[:6]:
        array = numpy.empty(shape, dtypes.array_type(dtype))
        array.real = draw_numbers(random, shape, kind)
        array.imag = draw_numbers(random, shape, "normal" if kind == "special" else kind)
        assert_same(array, dtype)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", (*INTEGERS, dtypes.bool), ids=lambda dtype: dtype.name)
def test_integers_and_bools_print_as_in_pytorch(dtype: dtypes.dtype) -> None:
    random = numpy.random.default_rng(0)
    for shape in SHAPES + LARGE_SHAPES:
        bits = random.bytes(math.prod(shape) * dtype.itemsize)
        array = numpy.frombuffer(bits, f"u{dtype.itemsize}").reshape(shape)
        assert_same((array & 1 if dtype is dtypes.bool else array).astype(dtype.numpy), dtype)
        assert_same(random.integers(0, 2, shape).astype(dtype.numpy), dtype)


@pytest.mark.peer
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 0, 0), (1, 0, 1)])
def test_empty_tensors_print_as_in_pytorch(shape: tuple[int, ...]) -> None:
    for dtype in dtypes.ALL:
        assert_same(numpy.empty(shape, dtypes.array_type(dtype)), dtype)


@pytest.mark.peer
@pytest.mark.parametrize("exponent", [*range(-12, 14), -323, -308, 38, 307])
def test_style_thresholds_are_pytorchs(exponent: int) -> None:
    for factor in (1.0, 9.99995, 9.9999, 1.5):
        value = float(f"{factor}e{exponent}")
        for others in ([], [1.0], [0.0], [-value, NAN], [value * 1000], [value * 1000.5]):
            assert_same(numpy.array([value, *others]), dtypes.float64)
    for value in (1e8, 1e-4, 1e3):
        for neighbour in (numpy.nextafter(value, 0), value, numpy.nextafter(value, INF)):
            assert_same(numpy.array([neighbour]), dtypes.float64)
            assert_same(numpy.array([neighbour, 1]), dtypes.float64)


@pytest.mark.peer
@pytest.mark.parametrize("peer_options", OPTIONS, indirect=True, ids=str)
def test_print_options_act_as_in_pytorch(peer_options: dict[str, Any]) -> None:
    random = numpy.random.default_rng(1)
    for shape in (*SHAPES, (7, 3), (9, 9), (0, 2), (5, 1, 6), (1001,), (6, 200)):
        for kind in ("normal", "wide", "special", "whole with special"):
            array = draw_numbers(random, shape, kind)
            assert_same(array, dtypes.float64)
            assert_same(array + 1j * draw_numbers(random, shape, "whole"), dtypes.complex128)
        assert_same(random.integers(-50, 50, shape), dtypes.int64)


@pytest.mark.peer
def test_options_accumulate_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    with torch._tensor_str.printoptions(), printoptions():
        for options in OPTIONS:
            torch.set_printoptions(**options)
            set_printoptions(**options)
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    assert list(printing.get_printoptions()) == list(torch._tensor_str.get_printoptions())


@pytest.mark.peer
@pytest.mark.parametrize("length", range(1, 40))
def test_suffixes_break_lines_as_in_pytorch(length: int) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (dtypes.float32, dtypes.float64):
        for shape in ((length,), (2, length), (1, 2, length)):
            array = numpy.ones(shape, dtype.numpy)
            leaf = torch.from_numpy(array).requires_grad_()
            assert format_tensor(array, dtype, requires_grad=True) == repr(leaf)
            for result in (leaf * 2, leaf.tanh(), torch.nn.functional.softplus(leaf), leaf.as_strided(shape, leaf.stride())):
                values = result.detach().numpy()
                node = type(result.grad_fn).__name__
                assert format_tensor(values, dtype, requires_grad=True, grad_fn_name=node) == repr(result)
            parameter = torch.nn.Parameter(leaf.detach())
            assert format_tensor(array, dtype, requires_grad=True, is_parameter=True) == repr(parameter)


@pytest.mark.peer
@pytest.mark.parametrize("shape", [(), (3,), (9,), (30,), (2, 4), (2, 2, 9)])
def test_tangents_print_as_in_pytorch(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    forward = torch.autograd.forward_ad
    random = numpy.random.default_rng(2)
    array, tangent = numpy.asarray(random.normal(size=shape)), numpy.asarray(random.normal(size=shape))
    with forward.dual_level():
        dual = forward.make_dual(torch.from_numpy(array), torch.from_numpy(tangent))
        assert format_tensor(array, dtypes.float64, tangent=tangent) == repr(dual)
        leaf = torch.from_numpy(tangent).requires_grad_()
        dual = forward.make_dual(torch.from_numpy(array), leaf)
        shown = {"requires_grad": dual.requires_grad, "tangent": f"{leaf}"}
        assert format_tensor(array, dtypes.float64, **shown) == repr(dual)


@pytest.mark.peer
def test_subclasses_print_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    class Measurement(torch.Tensor):  # type: ignore[misc, name-defined]
        pass

    class Weight(torch.nn.Parameter):  # type: ignore[misc, name-defined]
        pass

    array = numpy.linspace(0, 1, 40, dtype="float32").reshape(2, 20)
    measured = torch.from_numpy(array).as_subclass(Measurement)
    assert format_tensor(array, dtypes.float32, class_name="Measurement") == repr(measured)
    weight = Weight(torch.from_numpy(array))
    text = format_tensor(array, dtypes.float32, class_name="Weight", requires_grad=True, is_parameter=True)
    assert text == repr(weight)


@pytest.mark.peer
@pytest.mark.parametrize("default", [dtypes.float16, dtypes.bfloat16, dtypes.float64], ids=lambda dtype: dtype.name)
def test_default_dtypes_act_as_in_pytorch(default: dtypes.dtype) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default.name))
    dtypes.set_default_dtype(default)
    try:
        for dtype in dtypes.ALL:
            for shape in ((), (2,), (0,), (2, 0)):
                assert_same(numpy.ones(shape, dtypes.array_type(dtype)), dtype)
    finally:
        torch.set_default_dtype(before)


@pytest.mark.peer
@pytest.mark.parametrize("spec", ["", ".2f", "8.3e", ">12", "g", "d", "5", "%"])
def test_formats_as_in_pytorch(spec: str) -> None:
    random = numpy.random.default_rng(3)
    for dtype in dtypes.ALL:
        array = numpy.asarray(random.normal(size=()) * 50).astype(dtypes.array_type(dtype))
        peer = to_peer(array, dtype)
        try:
            expected = format(peer, spec)
        except ValueError as error:
            with pytest.raises(ValueError) as caught:
                format_scalar(array, dtype, spec)
            assert str(caught.value) == str(error)
        else:
            assert format_scalar(array, dtype, spec) == expected


@pytest.mark.peer
def test_return_types_print_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for rows in (2, 3):
        peer = torch.rand(rows, rows, generator=torch.Generator().manual_seed(rows))
        assert format_return_type("max", {"values": peer.max(0).values, "indices": peer.max(0).indices}) == repr(peer.max(0))
        q, r = torch.linalg.qr(peer)
        assert format_return_type("linalg_qr", {"Q": q, "R": r}) == repr(torch.linalg.qr(peer))
