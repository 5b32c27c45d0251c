"""The reverse sweep of anomaly mode: it tells which operation failed, or gave NaN, and where that was called."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..tape.calls import call_of
from ..tape.materialise import materialise
from ..tape.modes import mode
from ..tape.record import read
from ..tape.replay import Sweep
from ..tape.segment import Segment, state
from ..tape.trace import IMPORT
from ..tape.trace import Node as Record
from ..tensor import Tensor
from .nodes import composed_at, edge_to, is_shown, node_at


class CheckedSweep(Sweep):
    """A reverse sweep that warns of where the operation was called that fails, and raises for NaN.

    `operation` is where the operation being replayed has its result; a composed one is a stretch of records, which
    begins at the address `start`.
    """

    operation: tuple[Segment, int]
    start: tuple[int, int] | None = None

    def run(self, roots: Any, cotangents: Any) -> None:
        materialise(state.segment)  # no sweep over a sealed segment is recalled
        super().run(roots, cotangents)

    def _replay_segment(self, segment: Segment) -> None:
        try:
            super()._replay_segment(segment)
        except Exception:
            self._warn()
            raise

    def _warn(self) -> None:
        """Warn, before an error is raised, of where its operation was called."""
        node = node_at(*self.operation)
        if node is None:
            return
        call = call_of(*self.operation)
        told = (
            "No forward pass information available. Enable detect anomaly during forward pass for more information."
            if call is None
            else f"Traceback of forward call that caused the error:\n{call}"
        )
        warnings.warn(f"Error detected in {node.name()}. {told}", UserWarning, stacklevel=7)

    def _wanting(self, segment: Segment, node: Record) -> list[bool]:
        if self.start is None or (segment.serial, node.slot) < self.start:
            self.operation = segment, node.slot
            self.start = composed_at(segment, node.slot)
        return super()._wanting(segment, node)

    def _contribute(self, segment: Segment, adjoints: dict[int, Any], node: Record, place: int, result: Any) -> None:
        if mode.checks_nan and isinstance(result, Tensor) and not self._stays_inside(segment, node.operands[place]):
            if np.isnan(read(result)).any():
                name = node_at(*self.operation).name()  # type: ignore[union-attr]
                raise RuntimeError(f"Function '{name}' returned nan values in its {self._number(segment, node, place)}th output.")
        super()._contribute(segment, adjoints, node, place, result)

    def _stays_inside(self, segment: Segment, operand: Any) -> bool:
        """Whether an operand was made by the same composed operation that uses it."""
        if self.start is None:
            return False
        address: Any = segment.serial, operand.slot
        if operand.node.primitive is IMPORT:
            origin = segment.origins.get(operand.slot)
            address = (origin[0].serial, origin[1]) if isinstance(origin, tuple) else (-1, 0)
        return bool(address >= self.start)

    def _number(self, segment: Segment, node: Record, place: int) -> int:
        """Return which of the operation's operands this is, as PyTorch counts them."""
        if self.start is None:
            return sum([is_shown(node, operand) for operand in node.operands[:place]])
        edges = node_at(*self.operation).next_functions  # type: ignore[union-attr]
        edge = edge_to(segment, node.operands[place].slot)
        return edges.index(edge) if edge in edges else 0
