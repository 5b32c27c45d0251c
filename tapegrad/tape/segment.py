"""A segment of the tape, and each thread's open one."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .modes import mode
from .trace import GRAD_MODE, SEALED, Node, Root, grow, root_for

Result = TypeVar("Result")

serials = itertools.count(1)


class Segment:
    """A stretch of tape between two materialisations.

    Open, it records: ``node`` is where it is in the trie, ``values`` holds for each slot what an outside operand or
    number is, and the pending tensor of a result. Sealed, it keeps what the reverse sweep needs: ``residuals`` (slot to
    value), ``origins`` (slots of outside values: to the leaf tensor, or the segment and slot they come from),
    ``leaves`` (the same for values that became a leaf here), ``released`` (slots of records that cannot be replayed
    again). ``composed`` is what `mark_composed` noted: a beginning without a serial is on this segment. It holds the
    segments its records read, never the other way round.
    """

    __slots__ = (
        "serial",
        "node",
        "values",
        "imports",
        "grown_at",
        "recognises",
        "urgent",
        "shared",
        "lock",
        "detached",
        "trace",
        "residuals",
        "origins",
        "leaves",
        "released",
        "retained",
        "versions",
        "composed",
        "grad_functions",
        "__weakref__",
    )

    def __init__(self, node: Node) -> None:
        self.serial = next(serials)
        self.node = node
        self.values: list[Any] = []
        self.imports: list[Any] = []
        self.grown_at = 0  # how long the path was when it was last extended
        self.recognises = not node.root.eager
        self.urgent = node.root.eager
        self.shared: list[Any] = []
        self.lock = threading.RLock()
        self.detached: tuple[Node, list[Any]] | None = None
        self.trace: Node | None = None
        self.residuals: dict[int, Any] = {}
        self.origins: dict[int, Any] = {}
        self.leaves: dict[int, Any] = {}
        self.released: frozenset[int] = frozenset()
        self.retained: dict[int, Any] | None = None
        self.versions: dict[int, Any] | None = None
        self.composed: dict[int, tuple[str, tuple[int | None, int]]] | None = None
        self.grad_functions: Any = None

    def rise_above(self, other: Segment) -> None:
        """Keep serials a topological order: an open segment that reads another comes after it."""
        if other.serial > self.serial:
            self.serial = next(serials)


NO_SEGMENT = Segment(SEALED)  # stands for a thread's open segment while it has none, and holds nothing


class ThreadState(threading.local):
    """What each thread has of its own: the open segment and the grad mode."""

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.segment = NO_SEGMENT
        self.capture: Any = None  # what a call of a compiled function is being captured in: see capture.py


state = ThreadState()


def open_segment(root: Root | None = None) -> Segment:
    """Return the thread's open segment, a new one if the last is sealed: from this root, or the usual one."""
    segment: Segment = state.segment
    if segment.node is SEALED:
        root = root or root_for(mode.eager)
        node: Node = root
        if not state.grad_enabled or state.inference:
            node = grow(root, (GRAD_MODE, state.grad_enabled, state.inference))
        segment = state.segment = Segment(node)
    return segment


def set_grad_mode(enabled: bool, inference: bool) -> None:
    """Set the thread's grad mode; a mark on the open segment makes it part of the structure."""
    node = state.segment.node
    if state.grad_enabled is enabled and state.inference is inference:
        if node is SEALED or (node.grad_enabled is enabled and node.inference is inference):
            return
    state.grad_enabled = enabled
    state.inference = inference
    try:
        _mark_mode(enabled, inference)
    except BaseException:  # an interrupt: the open segment has to agree with the thread
        _mark_mode(enabled, inference)
        raise


def _mark_mode(enabled: bool, inference: bool) -> None:
    while True:
        node = state.segment.node
        if node is SEALED:
            return
        key = (GRAD_MODE, enabled, inference)
        child = node.children.get(key) or grow(node, key)
        segment = state.segment
        if segment.node is node:
            segment.node = child
            if not node.root.eager:
                node.next = child
            return


def in_grad_mode(enabled: bool, inference: bool | None, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a grad mode (and inference mode, if given); afterwards it is as before, even if interrupted.

    A `with` block cannot promise that: an interrupt may come when its end is called, before that does anything.
    """
    before = state.grad_enabled, state.inference
    try:
        set_grad_mode(enabled, before[1] if inference is None else inference)
        result = function(*arguments)
        set_grad_mode(*before)
    except BaseException:
        # There is no call in here, and so no interrupt. The open segment, which may be in the other mode, is left: what is
        # pending on it is computed when it is read.
        state.grad_enabled, state.inference = before
        state.segment = NO_SEGMENT
        raise
    return result


def restore_grad_mode(previous: tuple[bool, bool]) -> None:
    """Set the mode back to what it was, even if interrupted."""
    try:
        set_grad_mode(*previous)
    except BaseException:
        set_grad_mode(*previous)
        raise
