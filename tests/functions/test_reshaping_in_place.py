"""In-place methods that change what a tensor looks like, and what its views then show."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad as t


def test_views_made_before_still_see_the_same_elements(mode: str) -> None:
    base = t.arange(6.0).reshape(2, 3).clone()
    row, column = base[1], base[:, 0]
    base.t_()
    assert base.shape == (3, 2)
    assert (row.tolist(), column.tolist()) == ([3.0, 4.0, 5.0], [0.0, 3.0])
    row.zero_()
    assert base.tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    base.mul_(2)
    assert column.tolist() == [0.0, 0.0]


def test_a_view_changes_its_look_and_writes_through(mode: str) -> None:
    base = t.zeros(2, 3)
    view = base[:, 1:]
    view.t_()
    assert view.shape == (2, 2)
    view[0].add_(1)
    assert base.tolist() == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def test_memory_shared_with_numpy_stays_shared(mode: str) -> None:
    array = np.arange(6.0).reshape(2, 3)
    tensor = t.from_numpy(array)
    tensor.transpose_(0, 1).unsqueeze_(0)
    assert tensor.shape == (1, 3, 2)
    array[0, 0] = 7
    assert tensor[0, 0, 0].item() == 7
    tensor.zero_()
    assert not array.any()


def test_gradients_flow_through(mode: str) -> None:
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.t_().mul_(t.tensor([1.0, 10.0]))
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]]


def test_errors_come_before_anything_changes(mode: str) -> None:
    leaf = t.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf.t_()
    assert leaf.shape == (2, 3)
    cube = t.zeros(2, 3, 4)
    with pytest.raises(RuntimeError, match="expects a tensor with <= 2 dimensions"):
        cube.t_()
    assert cube._version == 0


def test_a_leaf_stays_one_without_gradients(mode: str) -> None:
    leaf = t.ones(2, 3, requires_grad=True)
    with t.no_grad():
        leaf.t_()
    assert leaf.is_leaf
    assert leaf.requires_grad
    (leaf * t.arange(6.0).reshape(3, 2)).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_resize_keeps_elements_in_memory_order(mode: str) -> None:
    x = t.arange(6.0).reshape(2, 3).t()
    assert x.clone().resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    grown = t.ones(2).resize_(2, 2)
    assert grown.shape == (2, 2)
    assert grown[0].tolist() == [1.0, 1.0]
