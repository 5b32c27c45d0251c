"""The graph as users see it: `Node` is what ``grad_fn`` is an instance of."""

from .nodes import Node

__all__ = ["Node"]
