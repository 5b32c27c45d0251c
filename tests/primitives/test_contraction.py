"""The matrix product: exact integers, half precision, layouts and errors, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import dtypes
from tapegrad.primitives.contraction import matmul
from tapegrad.tape.types import make_type

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)),
    ((1, 4), (4, 1)),
    ((5, 1), (1, 4)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((2, 3, 1), (1, 4)),
    ((0, 3, 4), (4, 5)),
    ((2, 0), (0, 3)),
    ((2, 3, 0), (0, 3)),
]
LAYOUTS: dict[str, Any] = {
    "contiguous": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "reversed": lambda a: a[..., ::-1, ::-1],
    "strided": lambda a: np.repeat(np.repeat(a, 2, axis=-1), 3, axis=-2)[..., ::3, ::2],
    "expanded": lambda a: np.broadcast_to(a[..., :1], a.shape),
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_layouts(shapes: Any, first: str, second: str) -> None:
    random = np.random.default_rng(0)
    a, b = LAYOUTS[first](random.standard_normal(shapes[0])), LAYOUTS[second](random.standard_normal(shapes[1]))
    expected = torch.matmul(torch.tensor(a.copy()), torch.tensor(b.copy())).numpy()
    actual = matmul.numpy(a, b)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("largest", [3, 2**7, 2**31 - 1, 2**62])
def test_integers_are_exact_and_wrap(dtype: str, largest: int) -> None:
    """Whether the sums fit into float64 (BLAS), into int64, or into neither."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-largest, largest, (50, 50)).astype(dtype) for _ in range(2))
    expected = torch.matmul(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    actual = matmul.numpy(a, b)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, expected)


def test_smallest_integer() -> None:
    """Its magnitude is no int64."""
    a = np.full((40, 40), np.iinfo(np.int64).min)
    np.testing.assert_array_equal(matmul.numpy(a, np.eye(40, dtype=np.int64)), a)


def test_half_precision_rounds_once() -> None:
    a = np.full((1, 4096), 0.1, np.float16)
    expected = np.float16(np.sum(a.astype(np.float64) ** 2))
    assert matmul.numpy(a, a.T) == expected


def error_of(function: Any, *arguments: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:  # noqa: B017, PT011 - whatever PyTorch raises
        function(*arguments)
    return caught.type, str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "first_dtype", "second_dtype"),
    [
        ((2, 3), (4, 5), "float32", "float32"),
        ((2, 2, 3), (4, 5), "float32", "float32"),
        ((2, 2, 3), (2, 4, 5), "float32", "float32"),
        ((2, 3), (2, 4, 5), "float32", "float32"),
        ((2, 4, 2, 3), (4, 4, 5), "float32", "float32"),
        ((2, 2, 3), (3, 3, 5), "float32", "float32"),
        ((2, 4, 2, 3), (3, 4, 3, 5), "float32", "float32"),
        ((2, 3), (3, 4), "float32", "float64"),
        ((2, 3), (3, 4), "int64", "float32"),
        ((2, 3), (3, 4), "float16", "bfloat16"),
        ((2, 2, 3), (3, 4), "float32", "float64"),
        ((2, 2, 3), (2, 3, 4), "float32", "float64"),
        ((2, 3), (3, 4), "bool", "bool"),
        ((2, 2, 3), (2, 3, 4), "bool", "bool"),
    ],
)
def test_errors(first: Any, second: Any, first_dtype: str, second_dtype: str) -> None:
    tensors = torch.ones(first, dtype=getattr(torch, first_dtype)), torch.ones(second, dtype=getattr(torch, second_dtype))
    types = make_type(getattr(dtypes, first_dtype), first), make_type(getattr(dtypes, second_dtype), second)
    expected, text = error_of(torch.matmul, *tensors)
    error, ours = error_of(matmul.type_rule, *types)
    assert error is expected
    assert ours.startswith(text)
