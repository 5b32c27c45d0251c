"""Views and in-place operations: values, gradients and graphs as in PyTorch; old slots keep their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tapegrad as tg

VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[1],
    "column": lambda x: x[:, 1],
    "element": lambda x: x[0, 1],
    "block": lambda x: x[0:2, 1:3],
    "every other": lambda x: x[:, ::2],
    "nothing": lambda x: x[0:0],
    "transposed": lambda x: x.t(),
    "flat": lambda x: x.view(-1),
    "reshaped": lambda x: x.reshape(2, 6),
    "permuted": lambda x: x.view(3, 2, 2).permute(2, 0, 1),
    "diagonal": lambda x: x.diagonal(),
    "unsqueezed": lambda x: x.unsqueeze(1),
    "narrowed": lambda x: x.narrow(1, 1, 2),
    "view of a view": lambda x: x[1:].t()[2],
    "alias": lambda x: x[...],
    "unfolded": lambda x: x.unfold(1, 2, 2),
    "as strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda x: x.mul_(3),
    "add_": lambda x: x.add_(x.detach() * 2),
    "exp_": lambda x: x.exp_(),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(x.detach() + 1),
    "fill_": lambda x: x.fill_(7.0),
}


def program(library: Any, view: str, write: str, writes_view: bool) -> list[Any]:
    """Make a view, write to it or to its base, and return all that can be seen of it."""
    leaf = library.arange(1.0, 13.0).reshape(3, 4).clone().requires_grad_()
    weights = library.arange(12.0).reshape(3, 4) / 8
    base = leaf * 2
    before = (base * base).sum()
    shown = VIEWS[view](base)
    other = base[1:]
    WRITES[write](shown if writes_view else base)
    seen = [base, shown, other]
    graph = [type(tensor.grad_fn).__name__ for tensor in seen]
    loss = (base * weights).sum() + shown.sum() + (other * other).sum() / 4
    (gradient,) = library.autograd.grad(loss, leaf, retain_graph=True)
    found = [tensor.tolist() for tensor in seen] + [gradient.tolist(), graph, base._version, shown._version]
    return [*found, shown.is_contiguous(), shown.stride(), before.item()]


@pytest.mark.peer
@pytest.mark.parametrize("writes_view", [True, False], ids=["to the view", "to the base"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_write_is_as_in_torch(torch: Any, mode: str, view: str, write: str, writes_view: bool) -> None:
    found, expected = program(tg, view, write, writes_view), program(torch, view, write, writes_view)
    for ours, theirs in zip(found, expected, strict=True):
        assert close(ours, theirs), f"{ours}\n--- PyTorch:\n{theirs}"


def close(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return bool(ours == (pytest.approx(theirs, rel=1e-6) if isinstance(theirs, float) else theirs))


@pytest.mark.parametrize("read", [False, True], ids=["pending", "read"])
def test_old_slots_keep_their_values(mode: str, read: bool) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    if read:
        y.tolist()
    loss = (y * y).sum()
    y.add_(100)
    if read:
        y.tolist()
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [8.0, 16.0]
    assert y.tolist() == [102.0, 104.0]


def test_leaf_updated_between_forward_and_backward_keeps_its_old_value(mode: str) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    with tg.no_grad():
        x.mul_(10)
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    assert x.tolist() == [10.0, 20.0] and x.is_leaf


def test_data_edited_between_forward_and_backward(mode: str) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.data.zero_()
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([2.718281828, 7.389056099])
    assert y.tolist() == [0.0, 0.0]


def test_views_of_dead_bases_share_memory(mode: str) -> None:
    x = tg.zeros(4)
    left, middle = x[:3], x[1:]
    del x
    left.add_(1)
    middle.mul_(5)
    assert left.tolist() == [1.0, 5.0, 5.0] and middle.tolist() == [5.0, 5.0, 0.0]


def test_many_writes_through_one_view(mode: str) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 1
    for row in range(3):
        for _ in range(4):
            y[row].mul_(row + 1)
    y.sum().backward()
    assert y.tolist() == [1.0, 16.0, 81.0]
    assert x.grad is not None and x.grad.tolist() == [1.0, 16.0, 81.0]


def test_loop_that_fills_a_tensor(mode: str) -> None:
    w = tg.tensor(2.0, requires_grad=True)
    filled = tg.zeros(5)
    for i in range(5):
        filled[i] = w**i
    assert filled.tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]
    filled.sum().backward()
    assert w.grad is not None and w.grad.item() == 1 + 2 * 2 + 3 * 4 + 4 * 8


def test_self_overlapping_write_through_expand(mode: str) -> None:
    base = tg.zeros(1, 2)
    wide = base.expand(3, 2)
    wide[1].add_(1)
    assert base.tolist() == [[1.0, 1.0]] and wide.tolist() == [[1.0, 1.0]] * 3
