"""Tensors from data: what shares memory with what, and what is copied."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.functions import from_data


def test_from_numpy_shows_what_is_written_to_the_array(mode: str) -> None:
    array = np.zeros(3)
    x = tg.from_numpy(array)
    array[0] = 1
    assert x.tolist() == [1.0, 0.0, 0.0]
    x.uniform_(5, 6)
    assert (array >= 5).all()


def test_result_of_a_shared_array_is_of_the_time_of_the_operation(mode: str) -> None:
    array = np.ones(2)
    x = tg.from_numpy(array)
    y = x * 2
    array[0] = 7
    assert y.tolist() == [2.0, 2.0]
    assert (x * 2).tolist() == [14.0, 2.0]


def test_gradient_uses_the_shared_values_of_the_time_of_the_operation(mode: str) -> None:
    array = np.array([2.0, 3.0])
    w = tg.ones(2, dtype=tg.float64, requires_grad=True)
    loss = (tg.from_numpy(array) * w).sum()
    array[:] = 0
    loss.backward()
    assert w.grad.tolist() == [2.0, 3.0]


def test_from_numpy_of_a_strided_view(mode: str) -> None:
    array = np.zeros((4, 3), np.float32)
    x = tg.from_numpy(array[::2, 1:])
    assert x.stride() == (6, 1)
    x.bernoulli_(1.0)
    assert array.tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_read_only_array_warns_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_data, "_warned", set())
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        tg.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tg.from_numpy(array)
    x.uniform_(1, 2)  # a value of its own: the array is not to be written to
    assert array.tolist() == [0.0, 0.0] and (x >= 1).all()


def test_other_warnings_that_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_data, "_warned", set())
    monkeypatch.setattr(import_module("tapegrad.tensor"), "_scalar_warning_given", False)
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        tg.frombuffer(b"abcd", dtype=tg.uint8)
    with pytest.warns(UserWarning, match="unspecified requires_grad now defaults to obj.requires_grad"):
        tg.asarray(tg.ones(2, requires_grad=True))
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        tg.tensor([tg.ones(1, requires_grad=True)])


def test_foreign_array_errors_name_what_is_supported() -> None:
    for array in (np.array(["a"]), np.array([object()]), np.zeros(2, np.uint16), np.zeros(2, "M8[s]")):
        with pytest.raises(
            TypeError, match=r"can't convert np\.ndarray of type numpy\.\w+\. The only supported types are: float64"
        ):
            tg.from_numpy(array)
        with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
            tg.tensor(array)


def test_tensor_copies() -> None:
    array = np.zeros(2)
    x = tg.tensor(array)
    array[0] = 1
    assert x.tolist() == [0.0, 0.0]
    source = tg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        copied = tg.tensor(source * 2)
    assert copied.is_leaf and not copied.requires_grad and copied.tolist() == [2.0, 4.0]


def test_tensor_of_pending_tensors(mode: str) -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    assert tg.tensor([(x * x).sum(), x.sum(), 5]).tolist() == [14.0, 6.0, 5.0]


def test_as_tensor_shares_and_is_differentiable(mode: str) -> None:
    array = np.ones(2, np.float32)
    shared = tg.as_tensor(array)
    array[1] = 4
    assert shared.tolist() == [1.0, 4.0]
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    assert tg.as_tensor(x) is x
    wide = tg.as_tensor(x, dtype=tg.float64)
    assert wide.dtype is tg.float64 and wide.grad_fn.name() == "ToCopyBackward0"
    (wide * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.dtype is tg.float32


def test_asarray_shares_unless_asked_for_a_copy(mode: str) -> None:
    array = np.ones(2)
    x, copied = tg.asarray(array), tg.asarray(array, copy=True)
    array[0] = 3
    assert x.tolist() == [3.0, 1.0] and copied.tolist() == [1.0, 1.0]
    source = tg.tensor([1.0], requires_grad=True)
    assert tg.asarray(source, requires_grad=True) is source
    assert not tg.asarray(source, requires_grad=False).requires_grad


def test_frombuffer_shares(mode: str) -> None:
    buffer = bytearray(4)
    x = tg.frombuffer(buffer, dtype=tg.uint8)
    buffer[1] = 9
    assert x.tolist() == [0, 9, 0, 0]


def test_numpy_scalars_and_subclasses_are_data() -> None:
    assert tg.tensor(np.float32(1.5)).dtype is tg.float32
    assert tg.tensor([np.bool_(True), 2]).tolist() == [1, 2]
    assert tg.tensor(np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_an_operator_takes_an_array(mode: str) -> None:
    assert (tg.ones(2, dtype=tg.float64) + np.array([1.0, 2.0])).tolist() == [2.0, 3.0]
