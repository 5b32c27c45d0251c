"""What random programs found about views, shared memory and sweeps: each bug as the shortest program that showed it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.tape import trace

from .comparing import mode as in_mode

LEAF_ERROR = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_ERROR = "a view of a leaf Variable that requires grad is being used in an in-place operation"
OVERLAP_ERROR = "some elements of the input tensor and the written-to tensor refer to a single memory location"
FREED_ERROR = "Trying to backward through the graph a second time"
NO_HISTORY = "does not require grad and does not have a grad_fn"


def leaf(*values: float) -> Any:
    return tg.tensor(values, dtype=tg.float64, requires_grad=True)


def constant(*values: float) -> Any:
    return tg.tensor(values, dtype=tg.float64)


# Segments


def test_sweep_goes_on_where_its_segment_ends() -> None:
    with in_mode("interpret", limit=5):
        x = leaf(1.0, 2.0)
        weights = constant(3.0, 4.0)
        y = (x * weights)[0:2] * weights
        y.backward(tg.ones(2, dtype=tg.float64), retain_graph=True)
        assert x.grad.tolist() == [9.0, 16.0]


def test_default_dtype_is_that_of_the_record(mode: str) -> None:
    tg.set_default_dtype(tg.float64)
    try:
        half = tg.tensor([True, False]).cos()
        tg.set_default_dtype(tg.float32)
        assert half.dtype is tg.float64 and half.tolist() == [math.cos(1), 1.0]
        for default in (tg.float64, tg.float32):
            operand = tg.tensor([True, False])
            pending = operand.logical_not()
            tg.set_default_dtype(default)
            found = operand.cos()
            tg.set_default_dtype(tg.float32)
            assert found.dtype is default and found.tolist()[1] == 1.0
            assert pending.tolist() == [False, True]
    finally:
        tg.set_default_dtype(tg.float32)


def test_record_of_more_operands_than_a_segment_has_records(mode: str) -> None:
    parts = [tg.ones(1) for _ in range(trace.PENDING_LIMIT + 10)]
    assert tg.cat(parts).sum().item() == len(parts)
    assert tg.cat(parts).mean().item() == 1.0  # the operands are a known path now, and this record leaves it


def test_what_a_target_leads_to_is_not_remembered(mode: str) -> None:
    def gradient(connected: bool) -> Any:
        x = leaf(2.0)
        earlier = (x if connected else leaf(3.0)) * 5
        earlier.tolist()
        return tg.autograd.grad(earlier.sum(), x, allow_unused=True)[0]

    assert gradient(False) is None
    assert gradient(True).tolist() == [5.0]


# Memory that is shared with the outside


def test_array_of_a_copy_is_not_that_of_its_source(mode: str) -> None:
    source = tg.tensor(0.5, dtype=tg.float64)
    target = tg.zeros((), dtype=tg.float64)
    target.copy_(source)
    view = target.squeeze()
    np.array(view.detach())
    view[...].detach().add_(3)
    assert (source.item(), target.item()) == (0.5, 3.5)


def test_view_of_a_view_of_shared_memory_shows_what_is_written_to_it(mode: str) -> None:
    x = leaf(0.5, 0.6)
    column = x.unsqueeze(1)
    array = np.asarray(column.detach())
    row = column.transpose(0, 1)
    with tg.no_grad():
        row[:, 1:1].abs_()
        row.mul(2.0)
    array[...] = 7.0
    assert row.tolist() == [[7.0, 7.0]]


def test_pending_view_shows_what_is_written_to_shared_memory(mode: str) -> None:
    x = constant(1.0, 2.0)
    view = x[...]
    (view + 1).sum()
    array = x.detach().numpy()
    array *= 10.0
    view.mul_(2)
    assert x.tolist() == [20.0, 40.0]


def test_values_kept_for_a_sweep_are_not_written_to(mode: str) -> None:
    x = leaf(0.5)
    view = x.permute(0)
    np.array(view.detach())
    y = view @ view
    x.detach().sub_(0.25)
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_view_kept_for_a_sweep_is_not_written_to(mode: str) -> None:
    x = leaf(1.0, 2.0)
    base = x * 1.0
    view = base.unsqueeze(0)
    y = view * view
    array = np.asarray(view.detach())
    view.add_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert array.tolist() == [[2.0, 3.0]]


def test_views_keep_their_history_where_memory_is_shared(mode: str) -> None:
    x = leaf(1.0, 2.0)
    view = (x * 1.0).expand(2, 2)
    y = view * 3.0
    np.array(view.detach())
    assert tg.autograd.grad(y.sum(), view)[0].tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_array_of_an_expanded_tensor_is_writable(mode: str) -> None:
    x = constant(1.0, 2.0)
    np.asarray(x.expand(2, 2))[0] = 5.0
    assert x.tolist() == [5.0, 5.0]


def test_array_keeps_the_order_in_memory() -> None:
    assert np.array(tg.zeros(2, 3).t()).flags.f_contiguous


def test_numpy_without_grad_is_allowed(mode: str) -> None:
    with tg.no_grad():
        assert leaf(1.0).numpy().tolist() == [1.0]


def test_part_of_a_number_that_is_empty_is_written(mode: str) -> None:
    x = tg.tensor(2.0, dtype=tg.float64)
    x.reshape(1)[:-1].add_(0.5)
    assert x.numpy().shape == () and x.item() == 2.0


# Views


def test_stale_view_retains_its_gradient(mode: str) -> None:
    x = leaf(1.0, 2.0)
    base = x * 2.0
    view = base[0:1]
    view.retain_grad()
    base.mul_(3.0)
    (view * 5.0).sum().backward()
    assert view.grad.tolist() == [5.0]
    assert x.grad.tolist() == [30.0, 0.0]


def test_view_made_without_grad_takes_no_gradient(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    with tg.no_grad():
        view = y[0:1]
    assert view.requires_grad and view.is_leaf
    (view * 3.0).sum().backward()
    assert view.grad is None and x.grad is None
    with pytest.raises(RuntimeError, match=NO_HISTORY):
        view.sum().detach().backward()
    with pytest.raises(RuntimeError, match=NO_HISTORY):
        view.backward(constant(1.0))
    with pytest.raises(RuntimeError, match="not have been used"):
        tg.autograd.grad((view * 2.0).sum(), view)
    view.requires_grad_()
    (view * 3.0).sum().backward()
    assert view.grad.tolist() == [3.0]


def test_view_made_without_grad_is_cut_off_from_new_history(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    with tg.no_grad():
        view = y[0:1]
    y.mul_(2.0)
    message = "A view was created in no_grad mode and its base or another view of its base has been modified inplace"
    for use in (lambda: view.is_leaf, lambda: view.grad_fn, lambda: view * 2.0, lambda: view[0]):
        with pytest.raises(RuntimeError, match=message):
            use()
    assert view.requires_grad and view.tolist() == [4.0] and view.detach().tolist() == [4.0]
    assert (view > 3.0).tolist() == [True]
    with tg.no_grad():
        assert (view * 2.0).tolist() == [8.0]


def test_one_of_several_views_is_cut_off_from_new_history(mode: str) -> None:
    y = leaf(1.0, 2.0) * 2.0
    first, _ = y.unbind()
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and its base or another view of its base has been"):
        first * 2.0
    assert first.item() == 4.0


def test_edits_of_data_cut_nothing_off(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    first, _ = y.unbind()
    y.data.mul_(2.0)
    (first * first).sum().backward()
    assert x.grad.tolist() == [16.0, 0.0]


def test_several_views_with_what_requires_grad_cannot_be_written(mode: str) -> None:
    x = leaf(1.0)
    first, _ = constant(1.0, 2.0).unbind()
    with pytest.raises(RuntimeError, match="is being modified inplace with grad mode enabled. This view is the output of a"):
        first.mul_(x[0])
    constant(1.0, 2.0).split(1)[0].data.mul_(2.0)


def test_view_of_a_leaf_that_became_one_is_not_written(mode: str) -> None:
    view = constant(1.0, 2.0).unsqueeze(0).requires_grad_()
    with pytest.raises(RuntimeError, match=VIEW_ERROR):
        view[...].mul_(3.0)


def test_expanded_view_of_nothing_is_written(mode: str) -> None:
    x = tg.zeros(0, 1, dtype=tg.float64).expand(0, 3)
    assert x.mul_(2.0).shape == (0, 3)
    constant(1.0, 2.0).expand(2, 2)[:0].add_(1.0)


def test_slice_of_all_is_the_tensor_itself(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x + 1.0
    y[::1] = 3.0
    for _ in range(2):
        y.backward(constant(1.0, 1.0))
    assert x.grad.tolist() == [0.0, 0.0]


def test_empty_diagonal_begins_where_its_tensor_does() -> None:
    assert tg.zeros(1, 3).diagonal(1, 1, -2).storage_offset() == 0


def test_squeeze_without_effect_keeps_the_strides() -> None:
    assert tg.zeros(3, 1).t().squeeze(1).stride() == (1, 1)


# Memory that operands share


def test_part_of_what_is_written_is_not_read(mode: str) -> None:
    x = constant(1.0, 2.0, 3.0)
    square = tg.ones(3, 3)
    for write in (
        lambda: x[1:].add_(x[:-1]),
        lambda: x.__setitem__(slice(1, None), x[:-1]),
        lambda: x.add_(x[0]),
        lambda: square.copy_(square.t()),
        lambda: square.mul_(square[0]),
        lambda: square.__setitem__([0, 1], square[1:]),
    ):
        with pytest.raises(RuntimeError, match=OVERLAP_ERROR):
            write()
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_all_of_what_is_written_is_read(mode: str) -> None:
    x = constant(1.0, 2.0, 3.0)
    x.add_(x)
    x.view(3).mul_(x.detach())
    x[0:2] *= 2.0
    x[0:1] = x[1:2]
    assert x.tolist() == [32.0, 32.0, 36.0]


# Detached tensors


def test_detached_leaf_is_not_written(mode: str) -> None:
    x = constant(1.0, 2.0).detach().requires_grad_()
    with pytest.raises(RuntimeError, match=LEAF_ERROR):
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match=VIEW_ERROR):
        x[0:1].mul_(2.0)


def test_detached_tensor_has_a_history_of_its_own(mode: str) -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0)
    base = x * 1.0
    state = base.detach()
    view = state[0:1]
    state[1:2] = y
    assert state.requires_grad and view.requires_grad and base.tolist() == [1.0, 3.0]
    (state * constant(5.0, 7.0)).sum().backward()
    assert y.grad.tolist() == [7.0] and x.grad is None
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_detached_tensor_keeps_its_history_where_others_write(mode: str) -> None:
    y = leaf(3.0)
    base = constant(1.0)
    state = base.detach()
    state.mul_(y)
    state.retain_grad()
    base.add_(1.0)
    assert state.tolist() == [4.0]
    (state * state).sum().backward()
    assert y.grad.tolist() == [8.0] and state.grad.tolist() == [8.0]


def test_filled_tensor_stays_in_its_graph(mode: str) -> None:
    state = constant(2.0).detach()
    state.mul_(leaf(3.0))
    state.retain_grad()
    state.fill_(1.0)
    assert state.requires_grad
    state.sum().backward()
    assert state.grad.tolist() == [1.0]


def test_views_of_a_tensor_with_new_data_follow_it(mode: str) -> None:
    w, x = leaf(0.5), leaf(1.0, 2.0)
    y = x * 1.0
    y.data = y.data * 0.5
    column = y.view(2, 1)
    y.mul_(w)
    column.sum().backward()
    assert w.grad.tolist() == [1.5] and x.grad.tolist() == [0.5, 0.5]


def test_views_of_old_data_keep_it(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 1.0
    view = y.permute(0)
    view.data = view.data * 0.5
    y.add_(1.0)
    assert view.tolist() == [0.5, 1.0] and y.tolist() == [2.0, 3.0]


def test_gradient_is_that_from_before_edits_of_data(mode: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    view = y[0:1]
    z = y.exp().sum() + view.sum()
    y.data.mul_(3.0)
    with tg.no_grad():
        y.add_(1.0)
    expected = np.exp([2.0, 4.0]) + [1.0, 0.0]
    np.testing.assert_allclose(tg.autograd.grad(z, y, retain_graph=True)[0].numpy(), expected)
    y.retain_grad()
    z.backward()
    np.testing.assert_allclose(y.grad.numpy(), expected)


def test_gradient_of_a_view_is_that_from_before_edits_of_data(mode: str) -> None:
    x = leaf(1.0, 2.0)
    view = x[0:1]
    y = view * 5.0
    x.data.mul_(3.0)
    assert tg.autograd.grad(y.sum(), view)[0].tolist() == [5.0]


# Sweeps


def test_what_made_a_target_is_not_replayed(mode: str) -> None:
    x = leaf(2.0)
    y = x * x
    y.sum().backward()
    assert tg.autograd.grad((y + 1.0).sum(), y)[0].tolist() == [1.0]


def test_backward_to_a_result_retains_its_gradient(mode: str) -> None:
    x = leaf(2.0)
    y = x * x
    for expected in (3.0, 6.0):
        (y * 3.0).sum().backward(inputs=[y], retain_graph=True)
        assert y.retains_grad and y.grad.tolist() == [expected] and x.grad is None


def test_backward_that_raises_retains_nothing(mode: str) -> None:
    y = leaf(2.0) * 2.0
    with pytest.raises(RuntimeError, match=NO_HISTORY):
        constant(1.0).sum().backward(inputs=[y])
    assert not y.retains_grad


def test_root_without_a_way_to_the_target_retains_its_gradient(mode: str) -> None:
    y = leaf(2.0) * 2.0
    y.retain_grad()
    with tg.no_grad():
        y.add_(1.0)
    assert tg.autograd.grad(y, leaf(1.0), constant(5.0), allow_unused=True) == (None,)
    assert y.grad.tolist() == [5.0]


def test_leaf_that_no_longer_requires_grad_takes_none(mode: str) -> None:
    x = leaf(2.0)
    y = (x * 3.0).sum()
    x.requires_grad = False
    y.backward()
    assert x.grad is None


def test_materialized_gradients_are_like_their_tensors(mode: str) -> None:
    x = tg.zeros(2, 3, dtype=tg.float64).t().requires_grad_()
    zeros = tg.autograd.grad(leaf(1.0).sum(), x, materialize_grads=True, create_graph=True)[0]
    assert zeros.requires_grad and zeros.stride() == (1, 3)


def test_gradient_that_passes_unchanged_is_the_one_given(mode: str) -> None:
    y, given = leaf(1.0) * 2.0, constant(5.0)
    assert tg.autograd.grad(y, y, given)[0] is given


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_with_a_graph_accumulate_with_their_history(mode: str) -> None:
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    y.backward(constant(1.0), create_graph=True)
    assert y.grad.requires_grad and y.grad.tolist() == [9.0]


def test_write_through_a_view_is_replayed_once(mode: str) -> None:
    x, y = constant(1.0, 2.0), leaf(3.0)
    x[0:1].add_(y)
    x.sum().backward()
    with pytest.raises(RuntimeError, match=FREED_ERROR):
        x.sum().backward()


def test_factor_of_a_sum_is_not_released(mode: str) -> None:
    x = leaf(1.0)
    for y in (tg.add(x, x, alpha=0.5), tg.lerp(x, x + 1.0, 0.25)):
        y.sum().backward()
        y.sum().backward()
    assert x.grad.tolist() == [5.0]


def test_second_derivative_of_a_rectifier_is_zero(mode: str) -> None:
    x = leaf(1.0, -1.0)
    for function in (tg.relu, tg.nn.functional.leaky_relu):
        gradient = tg.autograd.grad(function(x).sum(), x, create_graph=True)[0]
        assert tg.autograd.grad(gradient.sum(), x)[0].tolist() == [0.0, 0.0]
