"""Pooling: which element wins, what a mean is divided by, and errors, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import dtypes
from tapegrad.primitives import windows
from tapegrad.primitives.average_pooling import adaptive_avg_pool, adaptive_avg_pool_transpose, avg_pool, avg_pool_transpose
from tapegrad.primitives.pooling import adaptive_max_pool, max_pool, pool_gather, pool_scatter
from tapegrad.tape.types import make_type

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

NAN, INF = np.nan, np.inf
# lengths, kernel, stride, padding, dilation
GEOMETRIES: list[tuple[Any, ...]] = [
    ((9,), (3,), (2,), (1,), (1,)),
    ((9,), (2,), (3,), (1,), (3,)),
    ((8, 6), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((9, 7), (3, 2), (2, 3), (1, 0), (1, 1)),
    ((9, 8), (3, 3), (2, 2), (1, 1), (1, 2)),
    ((7, 8), (5, 7), (1, 1), (2, 3), (1, 1)),
    ((7, 8), (7, 8), (7, 8), (0, 0), (1, 1)),
    ((4, 5, 6), (2, 3, 2), (1, 2, 3), (1, 1, 0), (1, 1, 1)),
]
SOME = [0.0, -0.0, 1.0, -1.0]
POOLS: list[list[float]] = [SOME, [*SOME, -INF, -INF], [-INF], [*SOME, NAN], [NAN, INF, -INF]]


def draw(lengths: tuple[int, ...], values: list[float], dtype: str = "float64") -> Any:
    return np.random.default_rng(3).choice(values, (2, 3, *lengths)).astype(dtype)


def assert_like_torch(primitive: Any, operands: list[Any], parameters: dict[str, Any], tolerance: float = 0.0) -> None:
    actual = primitive.numpy(*operands, **parameters)
    expected = primitive.torch(torch, *[torch.from_numpy(operand) for operand in operands], **parameters)
    if primitive.results == 1:
        actual, expected = (actual,), (expected,)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.numpy().dtype
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("values", POOLS, ids=str)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool(geometry: Any, values: list[float], ceil_mode: bool) -> None:
    """Of equal elements the first wins, of several NaN the last; of nothing but -inf the first that is not padding."""
    lengths, *rest = geometry
    parameters = dict(zip(("kernel", "stride", "padding", "dilation"), rest, strict=True))
    assert_like_torch(max_pool, [draw(lengths, values)], {**parameters, "ceil_mode": ceil_mode})


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "float32"])
def test_max_pool_dtypes(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 2, 6, 6)).astype(dtype)
    parameters = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "ceil_mode": True}
    assert_like_torch(max_pool, [x], parameters)


@pytest.mark.parametrize("lengths", [(7,), (7, 5), (6, 4), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 8])
def test_adaptive_windows(lengths: tuple[int, ...], count: int) -> None:
    counts = (count, 2, 3)[: len(lengths)]
    for values in POOLS:
        assert_like_torch(adaptive_max_pool, [draw(lengths, values)], {"counts": counts})
    x = np.random.default_rng(0).standard_normal((2, 3, *lengths))
    assert_like_torch(adaptive_avg_pool, [x], {"counts": counts}, 1e-14)
    if count:
        g = np.random.default_rng(0).standard_normal((2, 3, *counts))
        assert_like_torch(adaptive_avg_pool_transpose, [g], {"lengths": lengths}, 1e-14)


@pytest.mark.parametrize("geometry", GEOMETRIES[:1] + GEOMETRIES[2:], ids=str)
@pytest.mark.parametrize(("ceil_mode", "count_include_pad"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("divisor", [None, 3])
def test_avg_pool(geometry: Any, ceil_mode: bool, count_include_pad: bool, divisor: int | None) -> None:
    lengths, kernel, stride, padding, _ = geometry
    divisor = divisor if len(kernel) > 1 else None  # PyTorch has none for one dimension
    parameters = {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    parameters |= {"count_include_pad": count_include_pad, "divisor_override": divisor}
    x = np.random.default_rng(0).standard_normal((2, 3, *lengths))
    assert_like_torch(avg_pool, [x], parameters, 1e-14)
    g = np.random.default_rng(1).standard_normal(avg_pool.numpy(x, **parameters).shape)
    assert_like_torch(avg_pool_transpose, [g], {"lengths": lengths, **parameters}, 1e-14)


def test_avg_pool_keeps_infinity_and_nan_in_their_windows() -> None:
    x = np.array([[[1.0, INF, 3.0, 4.0, NAN, 6.0, 7.0, 8.0]]])
    parameters = {"kernel": (2,), "stride": (2,), "padding": (0,), "ceil_mode": False}
    parameters |= {"count_include_pad": True, "divisor_override": None}
    np.testing.assert_array_equal(avg_pool.numpy(x, **parameters), [[[INF, 3.5, NAN, 7.5]]])


def test_avg_pool_of_integers_truncates() -> None:
    x = np.array([[[-3, -4, 7, 2**53 + 1, 1, 0]]])
    parameters = {"kernel": (2,), "stride": (2,), "padding": (0,), "ceil_mode": False}
    assert_like_torch(avg_pool, [x], {**parameters, "count_include_pad": True, "divisor_override": None})


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = draw((9, 8), [*SOME, NAN])
    parameters = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "ceil_mode": True}
    monkeypatch.setattr(windows, "BLOCK_BYTES", 1)
    assert_like_torch(max_pool, [x], parameters)
    assert_like_torch(adaptive_max_pool, [x], {"counts": (4, 3)})


def test_layouts() -> None:
    x = np.random.default_rng(0).standard_normal((8, 6, 3, 2)).T
    parameters = {"kernel": (2, 3), "stride": (2, 2), "padding": (1, 1), "ceil_mode": False}
    assert_like_torch(max_pool, [x], {**parameters, "dilation": (1, 1)})
    assert_like_torch(avg_pool, [x], {**parameters, "count_include_pad": False, "divisor_override": None}, 1e-14)
    assert_like_torch(adaptive_avg_pool, [x], {"counts": (4, 5)}, 1e-14)
    assert_like_torch(adaptive_max_pool, [x], {"counts": (4, 5)})


def test_scatter_adds_where_windows_share_their_maximum() -> None:
    x = np.array([[0.0, 5.0, 0.0, 1.0]])
    values, indices = max_pool.numpy(x, kernel=(2,), stride=(1,), padding=(0,), dilation=(1,), ceil_mode=False)
    assert values.tolist() == [[5.0, 5.0, 1.0]]
    g = np.array([[1.0, 10.0, 100.0]])
    assert pool_scatter.numpy(g, indices, lengths=(4,)).tolist() == [[0.0, 11.0, 0.0, 100.0]]
    assert pool_gather.numpy(x, indices, ndim=1).tolist() == values.tolist()


def error_of(function: Any, *arguments: Any, **parameters: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:  # noqa: B017, PT011 - whatever PyTorch raises
        function(*arguments, **parameters)
    return caught.type, str(caught.value).split("\n")[0]


@pytest.mark.parametrize("primitive", [max_pool, avg_pool], ids=repr)
@pytest.mark.parametrize(
    "changes",
    [
        {"padding": (2, 2)},
        {"padding": (0, -1)},
        {"kernel": (9, 9)},
        {"kernel": (0, 2)},
        {"stride": (0, 2)},
        {"stride": (2, -1)},
    ],
    ids=str,
)
def test_errors(primitive: Any, changes: dict[str, Any]) -> None:
    parameters = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False, **changes}
    if primitive is max_pool:
        parameters["dilation"] = (1, 1)
    else:
        parameters |= {"count_include_pad": True, "divisor_override": None}
    expected = error_of(primitive.torch, torch, torch.zeros(1, 3, 6, 6), **parameters)
    assert error_of(primitive.type_rule, make_type(dtypes.float32, (1, 3, 6, 6)), **parameters) == expected


@pytest.mark.parametrize("primitive", [adaptive_max_pool, adaptive_avg_pool], ids=repr)
@pytest.mark.parametrize(("shape", "dtype"), [((1, 3, 0, 6), "float32"), ((1, 3, 6, 6), "int64")])
def test_adaptive_errors(primitive: Any, shape: tuple[int, ...], dtype: str) -> None:
    function = getattr(torch.nn.functional, f"{primitive.name}2d")
    expected = error_of(function, torch.zeros(shape, dtype=getattr(torch, dtype)), (2, 2))
    assert error_of(primitive.type_rule, make_type(getattr(dtypes, dtype), shape), counts=(2, 2)) == expected


def test_mean_of_empty_planes_is_nan() -> None:
    expected = torch.nn.functional.adaptive_avg_pool2d(torch.zeros(2, 3, 0, 4), 1).numpy()
    with np.errstate(all="ignore"):  # as in the interpreter
        actual = adaptive_avg_pool.numpy(np.zeros((2, 3, 0, 4), np.float32), counts=(1, 1))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_dtype_errors(dtype: str) -> None:
    x, type_ = torch.zeros(1, 3, 6, 6, dtype=getattr(torch, dtype)), make_type(getattr(dtypes, dtype), (1, 3, 6, 6))
    parameters = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False}
    for primitive, rest in (
        (max_pool, {"dilation": (1, 1)}),
        (avg_pool, {"count_include_pad": True, "divisor_override": None}),
    ):
        expected = error_of(primitive.torch, torch, x, **parameters, **rest)
        assert error_of(primitive.type_rule, type_, **parameters, **rest) == expected


def test_zero_divisor_error() -> None:
    parameters = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False}
    parameters |= {"count_include_pad": True, "divisor_override": 0}
    expected = error_of(avg_pool.torch, torch, torch.zeros(1, 3, 6, 6), **parameters)
    assert error_of(avg_pool.type_rule, make_type(dtypes.float32, (1, 3, 6, 6)), **parameters) == expected
