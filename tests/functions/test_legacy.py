"""The older constructors, beyond their golden outcomes."""

from __future__ import annotations

import pytest

import tapegrad as tg


def test_legacy_type_asks_for_the_dtype() -> None:
    assert isinstance(tg.ones(2), tg.FloatTensor)
    assert not isinstance(tg.ones(2), tg.DoubleTensor)
    assert not isinstance(2.0, tg.FloatTensor)
    assert isinstance(tg.LongTensor(3), tg.Tensor)


def test_tensor_of_a_tensor_shares_its_memory(mode: str) -> None:
    x = tg.zeros(2)
    y = tg.Tensor(x)
    y.bernoulli_(1.0)
    assert y is not x and x.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="expected a tensor of dtype torch.int64"):
        tg.LongTensor(x)


def test_subclass_is_constructed() -> None:
    class Named(tg.Tensor):
        pass

    made = Named([1, 2])
    assert type(made) is Named and made.tolist() == [1.0, 2.0] and made.dtype is tg.float32


def test_default_tensor_type_sets_the_default_dtype() -> None:
    tg.set_default_tensor_type(tg.DoubleTensor)
    try:
        assert tg.zeros(1).dtype is tg.float64
        assert tg.Tensor(1).dtype is tg.float64
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            tg.set_default_tensor_type(tg.LongTensor)
    finally:
        tg.set_default_tensor_type("torch.FloatTensor")
    assert tg.zeros(1).dtype is tg.float32
