"""Convolution and its transposes: geometry, memory layouts and errors, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import dtypes
from tapegrad.primitives import windows
from tapegrad.primitives.columns import col2im, im2col
from tapegrad.primitives.convolution import convolution, convolution_input, convolution_weight
from tapegrad.primitives.windows import window_counts
from tapegrad.tape.types import make_type

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

# x, w, stride, padding, dilation, groups
CASES: list[tuple[Any, ...]] = [
    ((3, 2, 11), (4, 2, 3), (1,), ((0, 0),), (1,), 1),
    ((3, 4, 11), (6, 2, 2), (3,), ((2, 0),), (3,), 2),
    ((5, 1, 14, 13), (3, 1, 5, 4), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((7, 3, 9, 8), (4, 3, 3, 3), (2, 3), ((1, 1), (2, 1)), (1, 1), 1),
    ((4, 6, 9, 10), (9, 2, 2, 3), (2, 1), ((1, 0), (0, 3)), (2, 3), 3),
    ((4, 8, 6, 6), (8, 1, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 8),
    ((4, 8, 6, 6), (16, 1, 3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), 8),
    ((4, 5, 6, 6), (7, 5, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((4, 5, 6, 6), (7, 5, 1, 1), (2, 2), ((1, 1), (0, 0)), (1, 1), 1),
    ((2, 3, 6, 6), (4, 3, 6, 6), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((2, 3, 8, 7), (4, 3, 2, 2), (1, 2), ((-2, 1), (0, -3)), (1, 1), 1),
    ((2, 2, 5, 6, 7), (4, 1, 2, 3, 2), (1, 2, 3), ((0, 1), (1, 1), (0, 0)), (2, 1, 1), 2),
    ((0, 3, 5, 5), (4, 3, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
]
NAMES = ("stride", "padding", "dilation", "groups")


def make_case(case: tuple[Any, ...], dtype: Any = np.float64) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return x, w, a cotangent of the result, and the static parameters."""
    x_shape, w_shape, *rest = case
    parameters = dict(zip(NAMES, rest, strict=True))
    stride, padding, dilation, _ = rest
    g_shape = (x_shape[0], w_shape[0], *window_counts(x_shape[2:], w_shape[2:], stride, padding, dilation))
    random = np.random.default_rng(1)
    x, w, g = (random.standard_normal(shape).astype(dtype) for shape in (x_shape, w_shape, g_shape))
    return x, w, g, parameters


def all_three(x: Any, w: Any, g: Any, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the convolution of x and w, and its two transposes applied to g."""
    return (
        convolution.numpy(x, w, **parameters),
        convolution_input.numpy(g, w, input_shape=x.shape, **parameters),
        convolution_weight.numpy(x, g, weight_shape=w.shape, **parameters),
    )


def in_torch(x: Any, w: Any, g: Any, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the same from PyTorch, by its own reverse mode."""
    x, w, g = (torch.tensor(np.ascontiguousarray(array)) for array in (x, w, g))
    result = convolution.torch(torch, x.requires_grad_(), w.requires_grad_(), **parameters)
    return (result.detach().numpy(), *(grad.numpy() for grad in torch.autograd.grad(result, (x, w), g)))


def assert_same(actual: tuple[Any, ...], expected: tuple[Any, ...], tolerance: float = 1e-12) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max(initial=1.0))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 1e-5), ("float16", 2e-3)])
def test_values(case: tuple[Any, ...], dtype: str, tolerance: float) -> None:
    arrays = make_case(case, dtype)
    assert_same(all_three(*arrays), in_torch(*arrays), tolerance)


@pytest.mark.parametrize("case", CASES[:-1], ids=str)
def test_transposes(case: tuple[Any, ...]) -> None:
    """The trilinear form <convolution(x, w), g> is the same from all three sides."""
    x, w, g, parameters = make_case(case)
    result, input_cotangent, weight_cotangent = all_three(x, w, g, parameters)
    form = np.vdot(result, g)
    assert np.vdot(x, input_cotangent) == pytest.approx(form, rel=1e-11)
    assert np.vdot(w, weight_cotangent) == pytest.approx(form, rel=1e-11)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("block_bytes", [1, 1000, 4000, 20000])
def test_blocks(case: tuple[Any, ...], block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the work is split changes no more than the order of sums."""
    arrays = make_case(case)
    whole = all_three(*arrays)
    monkeypatch.setattr(windows, "BLOCK_BYTES", block_bytes)
    assert_same(all_three(*arrays), whole, 1e-13)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layouts(case: tuple[Any, ...]) -> None:
    """Operands may be transposed, reversed or expanded, and are not written to."""
    x, w, g, parameters = make_case(case)
    x = np.asfortranarray(x)
    w = w[::-1]
    g = np.broadcast_to(g[..., :1], g.shape)
    copies = [array.copy() for array in (x, w, g)]
    for array in (x, w, g):
        array.flags.writeable = False
    assert_same(all_three(x, w, g, parameters), in_torch(*copies, parameters))
    for array, copy in zip((x, w, g), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_integers_are_exact() -> None:
    x = np.full((1, 1, 4, 4), 2**40 + 1)
    w = np.array([[[[3, -1], [7, 2**20]]]])
    result = convolution.numpy(x, w, stride=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1), groups=1)
    assert result.dtype == np.int64
    assert (result == (2**40 + 1) * (9 + 2**20)).all()


def test_infinity_stays_in_its_windows() -> None:
    x = np.zeros((1, 1, 6))
    x[0, 0, 1] = np.inf
    result = convolution.numpy(x, np.ones((1, 1, 2)), stride=(1,), padding=((0, 0),), dilation=(1,), groups=1)
    assert result.tolist() == [[[np.inf, np.inf, 0.0, 0.0, 0.0]]]


def error_of(function: Any, *arguments: Any, **parameters: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:  # noqa: B017, PT011 - whatever PyTorch raises
        function(*arguments, **parameters)
    return caught.type, str(caught.value).split("\n")[0]


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "changes"),
    [
        ((1, 2, 8, 8), (4, 3, 3, 3), {}),
        ((1, 6, 4, 4), (4, 2, 3, 3), {"groups": 2}),
        ((1, 3, 2, 2), (4, 3, 3, 3), {}),
        ((1, 3, 4, 4), (4, 3, 3, 3), {"dilation": (2, 1)}),
        ((1, 4, 4, 4), (3, 2, 3, 3), {"groups": 2}),
        ((1, 4, 4, 4), (0, 4, 3, 3), {}),
        ((1, 4, 4, 4), (3, 4, 3, 3), {"groups": 0}),
        ((1, 4, 4, 4), (3, 4, 3, 3), {"stride": (0, 1)}),
        ((1, 4, 4, 4), (3, 4, 3, 3), {"dilation": (0, 0)}),
        ((1, 4, 0, 4), (3, 4, 1, 1), {}),
    ],
)
def test_shape_errors(x_shape: Any, w_shape: Any, changes: dict[str, Any]) -> None:
    parameters = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1, **changes}
    types = make_type(dtypes.float32, x_shape), make_type(dtypes.float32, w_shape)
    expected = error_of(convolution.torch, torch, torch.zeros(x_shape), torch.zeros(w_shape), **parameters)
    assert error_of(convolution.type_rule, *types, **parameters) == expected


def test_dtype_error() -> None:
    parameters = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,), "groups": 1}
    types = make_type(dtypes.float64, (1, 1, 4)), make_type(dtypes.float32, (1, 1, 2))
    expected = error_of(torch.conv1d, torch.zeros(1, 1, 4).double(), torch.zeros(1, 1, 2))
    assert error_of(convolution.type_rule, *types, **parameters) == expected


def test_transposed_channels_error() -> None:
    parameters = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    types = make_type(dtypes.float32, (1, 2, 8, 8)), make_type(dtypes.float32, (4, 3, 3, 3))
    expected = error_of(torch.conv_transpose2d, torch.zeros(1, 2, 8, 8), torch.zeros(4, 3, 3, 3))
    assert error_of(convolution_input.type_rule, *types, input_shape=(1, 3, 10, 10), **parameters) == expected


def test_unfold_and_fold_errors() -> None:
    functional = torch.nn.functional
    parameters = {"kernel": (5, 5), "stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}
    small = make_type(dtypes.float32, (1, 4, 2, 2))
    assert error_of(im2col.type_rule, small, **parameters) == error_of(functional.unfold, torch.zeros(1, 4, 2, 2), 5)
    parameters["kernel"] = (3, 3)
    for shape in ((2, 36, 5), (2, 35, 4)):
        expected = error_of(functional.fold, torch.zeros(shape), 4, 3)
        assert error_of(col2im.type_rule, make_type(dtypes.float32, shape), lengths=(4, 4), **parameters) == expected
