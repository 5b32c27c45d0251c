"""Buffers that someone outside can write: they are never read late, and what is written in place shows outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg


@pytest.fixture
def array() -> Any:
    return np.array([1.0, 2.0, 3.0], np.float32)


def test_from_numpy_is_read_when_the_operation_is_called(mode: str, array: Any) -> None:
    x = tg.from_numpy(array)
    y = x * 2
    array[0] = 100.0
    assert y.tolist() == [2.0, 4.0, 6.0]
    assert x.tolist() == [100.0, 2.0, 3.0]
    assert (x * 2).tolist() == [200.0, 4.0, 6.0]


def test_operations_after_the_first_are_not_late_either(mode: str, array: Any) -> None:
    a = tg.ones(3) * 5
    x = tg.from_numpy(array)
    y = (a + x) * 2 - x
    z = y + x
    array[:] = 0.0
    assert y.tolist() == [11.0, 12.0, 13.0] and z.tolist() == [12.0, 14.0, 16.0]


def test_views_of_a_shared_buffer_are_not_late(mode: str, array: Any) -> None:
    x = tg.from_numpy(array)
    pair = x[1:]
    y = pair + 1
    array[1] = 50.0
    assert y.tolist() == [3.0, 4.0] and pair.tolist() == [50.0, 3.0]
    assert (pair + 1).tolist() == [51.0, 4.0]


def test_movement_of_a_shared_buffer_is_a_view_or_a_copy_as_in_torch(mode: str, array: Any) -> None:
    x = tg.from_numpy(array)
    view, copy = x.reshape(3, 1), x.clone()
    array[0] = 7.0
    assert view.tolist() == [[7.0], [2.0], [3.0]] and copy.tolist() == [1.0, 2.0, 3.0]


def test_residuals_of_a_shared_buffer_are_not_late(mode: str, array: Any) -> None:
    x = tg.from_numpy(array)
    w = tg.ones(3, requires_grad=True)
    loss = (w * x).sum()
    array[:] = 0.0
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [1.0, 2.0, 3.0]


def test_shared_leaf_that_requires_grad(mode: str, array: Any) -> None:
    x = tg.from_numpy(array).requires_grad_()
    loss = (x * x).sum()
    array[0] = 10.0
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0, 6.0]
    assert x.tolist() == [10.0, 2.0, 3.0]


def test_in_place_is_seen_outside(mode: str, array: Any) -> None:
    x = tg.from_numpy(array)
    x.add_(1)
    assert array.tolist() == [2.0, 3.0, 4.0]
    x[0] = 9.0
    assert array.tolist() == [9.0, 3.0, 4.0]
    x[1:].mul_(2)
    assert array.tolist() == [9.0, 6.0, 8.0]


def test_numpy_of_a_tensor_shares_from_then_on(mode: str) -> None:
    x = tg.ones(3) * 2
    y = x + 1
    shown = x.numpy()
    shown[0] = 40.0
    assert y.tolist() == [3.0] * 3
    assert x.tolist() == [40.0, 2.0, 2.0]
    z = x * 2
    shown[0] = 0.0
    assert z.tolist() == [80.0, 4.0, 4.0]
    x.add_(1)
    assert shown.tolist() == [1.0, 3.0, 3.0]


def test_numpy_of_a_view_shares_with_the_base(mode: str) -> None:
    x = tg.zeros(2, 3)
    row, column = x[1], x[:, 0]
    shown = row.numpy()
    shown[0] = 5.0
    assert x.tolist() == [[0.0] * 3, [5.0, 0.0, 0.0]] and column.tolist() == [0.0, 5.0]
    column.add_(1)
    assert shown.tolist() == [6.0, 0.0, 0.0]


def test_numpy_of_a_detached_leaf_writes_the_leaf(mode: str) -> None:
    w = tg.ones(3, requires_grad=True)
    w.detach().numpy()[0] = 3.0
    assert w.tolist() == [3.0, 1.0, 1.0] and w.is_leaf
    (w * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [6.0, 2.0, 2.0]


def test_numpy_twice_is_the_same_memory(mode: str) -> None:
    x = tg.zeros(3)
    first, second = x.numpy(), x.numpy()
    first[0] = 1.0
    assert second.tolist() == [1.0, 0.0, 0.0] and np.shares_memory(first, second)
    assert np.shares_memory(np.asarray(x), first)


def test_operations_are_deferred_again_when_nobody_outside_can_write(mode: str) -> None:
    x = tg.zeros(3)
    shown = x.numpy()
    shown[0] = 1.0
    del shown
    y = x + 1
    x.add_(5)
    assert y.tolist() == [2.0, 1.0, 1.0] and x.tolist() == [6.0, 5.0, 5.0]


def test_two_tensors_of_one_array(mode: str, array: Any) -> None:
    x, y = tg.from_numpy(array), tg.from_numpy(array)
    x.add_(1)
    assert y.tolist() == [2.0, 3.0, 4.0]
    y.mul_(2)
    assert x.tolist() == [4.0, 6.0, 8.0] and array.tolist() == [4.0, 6.0, 8.0]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_array_that_cannot_be_written(mode: str, array: Any) -> None:
    array.flags.writeable = False
    x = tg.from_numpy(array)
    assert (x * 2).tolist() == [2.0, 4.0, 6.0]
    x.add_(1)
    assert x.tolist() == [2.0, 3.0, 4.0] and array.tolist() == [1.0, 2.0, 3.0]


def test_layouts_of_arrays(mode: str) -> None:
    base = np.arange(12.0).reshape(3, 4)
    for array in (base.T, base[::2], base[:, 1:3], np.asfortranarray(base)):
        x = tg.from_numpy(array)
        assert x.tolist() == array.tolist()
        assert x.stride() == tuple(stride // 8 for stride in array.strides)
        x.add_(1)
        assert x.tolist() == array.tolist()


def test_copies_do_not_share(mode: str, array: Any) -> None:
    for x in (tg.tensor(array), tg.from_numpy(array).clone(), tg.from_numpy(array).to(tg.float64)):
        x.add_(1)
    assert array.tolist() == [1.0, 2.0, 3.0]
    shared = tg.as_tensor(array)
    shared.add_(1)
    assert array.tolist() == [2.0, 3.0, 4.0]
