"""Views made without grad of what requires it: they say that they require grad, and take none."""

from __future__ import annotations

import pytest

import tapegrad as tg


def _product(takes: bool) -> tuple[tg.Tensor, tg.Tensor]:
    leaf = tg.tensor(0.5, requires_grad=True)
    with tg.no_grad():
        view = leaf.unsqueeze(0)
    if takes:
        view.requires_grad_()
    return view, tg.ones(3) * view


def test_a_product_with_one_keeps_nothing() -> None:
    for _ in range(3):
        view, product = _product(False)
        product.sum().backward()
        product.sum().backward()  # nothing was kept, so nothing was released
        assert view.grad is None


def test_a_sweep_that_met_one_is_not_taken_for_one_to_a_leaf() -> None:
    for takes in (False, True, False, True):
        view, product = _product(takes)
        product.sum().backward()
        assert (view.grad is not None) is takes
        if takes:
            with pytest.raises(RuntimeError, match="second time"):
                product.sum().backward()


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_retained_gradient_has_its_own_layout(create_graph: bool) -> None:
    x = tg.ones(2, 3, 2, requires_grad=True).transpose(2, 1) * 1
    x.retain_grad()
    (x * tg.ones(1, 3)).sum().backward(create_graph=create_graph)
    assert x.grad is not None
    assert (x.stride(), x.grad.stride()) == ((6, 1, 2), (6, 3, 1))
