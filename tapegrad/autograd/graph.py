"""The graph as users see it: `Node` is what ``grad_fn`` is an instance of, and a gradient flows along edges to nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

from .nodes import AccumulateGrad, Node, node_at_leaf


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of its results the tensor is."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    def target(self) -> Any:
        """Return what the edge leads to, for a reverse sweep: a leaf, or the address of a value on the tape."""
        return self.node.variable if isinstance(self.node, AccumulateGrad) else self.node.address_of_result(self.output_nr)


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the edge along which a tensor's gradient goes; it can stand for the tensor among the inputs of `grad`.

    Raises RuntimeError for a tensor that does not require grad.

    >>> import tapegrad
    >>> x = tapegrad.tensor(2.0, requires_grad=True)
    >>> y = x * 3
    >>> edge = get_gradient_edge(y)
    >>> tapegrad.autograd.grad(y * y, edge)
    (tensor(12.),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    function = tensor.grad_fn
    return GradientEdge(node_at_leaf(tensor) if function is None else function, tensor.output_nr)


__all__ = ["GradientEdge", "Node", "get_gradient_edge"]
