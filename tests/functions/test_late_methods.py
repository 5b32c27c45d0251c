"""Methods and functions that are loaded when first used, and NumPy's names for arguments."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tapegrad as t


@pytest.mark.parametrize(
    "code",
    [
        "x = t.tensor([1 + 2j]); x.real = t.tensor([5.0]); assert x.tolist() == [5 + 2j]",
        "x = t.tensor([[1.0, 2.0]]); assert x.T.shape == (2, 1)",
        "x = t.tensor([1.0]); x += 1; assert x.tolist() == [2.0]",
        "x = t.tensor([[1.0]]); assert (x @ x).tolist() == [[1.0]]",
        "x = t.tensor([1.0, 2.0]); x[0] = 3; assert x[0].item() == 3",
        "f = t.Tensor.sum; assert f(t.tensor([1.0, 2.0])).item() == 3",
        "class Mine(t.Tensor): pass\nassert t.Tensor.exp is not None and Mine([0.0]).exp().tolist() == [1.0]",
        "from tapegrad import exp_; x = t.tensor([0.0]); exp_(x); assert x.tolist() == [1.0]",
    ],
)
def test_first_use_in_a_process(code: str) -> None:
    subprocess.run([sys.executable, "-c", f"import tapegrad as t\n{code}"], check=True)


def test_numpy_names_of_arguments() -> None:
    x = t.arange(6.0).reshape(2, 3)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3)
    assert t.cat([x, x], axis=1).shape == (2, 6)
    assert x.argmax(axis=1).tolist() == [2, 2]
    assert t.sort(x, axis=0).values.tolist() == x.tolist()
    assert x.unsqueeze(axis=0).shape == (1, 2, 3)


def test_reversed() -> None:
    assert reversed(t.tensor([1, 2, 3])).tolist() == [3, 2, 1]


def test_limits_of_dtypes() -> None:
    assert t.finfo(t.float32).eps == 2.0**-23
    assert t.finfo(t.float16).max == 65504
    assert t.finfo(t.complex128) == t.finfo(t.float64)
    assert t.finfo().dtype == "float32"
    assert repr(t.finfo(t.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert (t.iinfo(t.uint8).max, t.iinfo(t.int64).min, t.iinfo(t.int16).bits) == (255, -(2**63), 16)
    with pytest.raises(TypeError, match="requires a floating point input type"):
        t.finfo(t.int32)
    with pytest.raises(TypeError, match="requires an integer input type"):
        t.iinfo(t.float32)
    with pytest.raises(TypeError, match=r"torch\.bool is not supported"):
        t.iinfo(t.bool)
