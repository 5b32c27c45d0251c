"""The trace trie: the interned structure of segments.

A node is one record of a segment, reached from the root by the records before it. Recording walks this trie; a node
met again is a hit, and everything known about the record (its type, what it saves, how it is run) is already there.
Only structure is in the key: primitive, operand nodes, static parameters, and the types of outside operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..execute.prepare import prepare
from .types import Type, make_type, number_type

NUMBERS = frozenset((bool, int, float, complex))
COPY_SLICES = "torch::autograd::CopySlices"  # writing through a view: released even where it keeps nothing
NODE_LIMIT = 200_000
PENDING_LIMIT = 4096
_LONG_LIMIT = 8 * PENDING_LIMIT  # a segment's adjoints are so many times its records, at most
CAPTURE_LIMIT = 256 * PENDING_LIMIT  # a call that is captured is one segment
PENDING_BYTES_LIMIT = 32 << 30
_WINDOW = 16  # records that are compared to know where in a loop's body a segment stands
_IMPORT_WEIGHT = 64  # an outside value is in memory already, and held until the segment is sealed, whoever drops it


class Output:
    """One result of a record that has several, or a Python number on the tape: a slot and its type."""

    __slots__ = ("node", "slot", "type")

    def __init__(self, node: Node | None, slot: int, type_: Type) -> None:
        self.node = node
        self.slot = slot
        self.type = type_


class Node:
    """A record, in its place in the trie.

    ``primitive``, ``first`` and ``second`` let an operator recognise a repeated record without hashing: ``first`` and
    ``second`` are the operands' nodes (the class of a number) when there are no parameters. ``places`` (of one or two
    tensors, and perhaps a number) and ``given``, the parameters, let `record` do the same. ``next`` is the child met last.
    Imports and marks are nodes too; a mark takes no slot. ``opening`` is the primitive of the segment's first record,
    ``forks`` how often the path to here has left one that was known.
    """

    __slots__ = (
        "parent",
        "primitive",
        "first",
        "second",
        "key",
        "places",
        "given",
        "operands",
        "parameters",
        "name",
        "slot",
        "type",
        "outputs",
        "next_slot",
        "next",
        "children",
        "run",
        "saved",
        "releases",
        "grad_enabled",
        "inference",
        "length",
        "nbytes",
        "has_records",
        "root",
        "node",
        "used",
        "plans",
        "sweeps",
        "forks",
        "opening",
        "is_cut",
    )

    parent: Node | None
    grad_enabled: bool
    inference: bool
    length: int
    nbytes: int
    primitive: Any
    first: Any
    second: Any
    key: tuple[Any, ...]
    places: tuple[Any, ...] | None
    given: tuple[Any, ...]
    operands: tuple[Any, ...]
    parameters: dict[str, Any]
    name: str | None
    slot: int
    type: Type
    outputs: tuple[Any, ...]
    next_slot: int
    next: Node | None
    children: dict[Any, Node]
    run: Callable[..., Any]
    saved: tuple[int, ...]
    releases: bool
    has_records: bool
    opening: Any
    is_cut: bool
    root: Root
    plans: dict[Any, Any] | None
    sweeps: dict[Any, Any] | None

    def __init__(self, parent: Node | None, key: tuple[Any, ...]) -> None:
        self.parent = parent
        self.key = key
        self.node = self  # as an operand: the record it is the result of
        self.primitive = self.first = self.second = None
        self.places = None
        self.operands = self.given = ()
        self.name = None
        self.outputs = ()
        self.next = None
        self.children = {}
        self.saved = ()
        self.releases = False
        self.used = 0
        self.plans = None
        self.sweeps = None
        self.forks = 0
        self.is_cut = False
        if parent is not None:
            self.next_slot = self.slot = parent.next_slot
            self.grad_enabled = parent.grad_enabled
            self.inference = parent.inference
            self.length = parent.length + 1
            self.nbytes = parent.nbytes
            self.has_records = parent.has_records
            self.opening = parent.opening
            self.forks = parent.forks
            self.root = parent.root

    @property
    def requires_grad(self) -> bool:
        return any([bool(output.type.requires_grad) for output in self.outputs])

    @property
    def is_full(self) -> bool:
        return self.length >= self.root.limit or self.nbytes > PENDING_BYTES_LIMIT

    def begins_again(self, primitive: Any) -> bool:
        """Whether a long segment, about to take a record of this primitive, is where a loop's body will go on as it began.

        That is foretold from what came the last time after the same records as now. A long loop is cut there: its
        segments then begin at the same place of its body, and are the same trace.
        """
        if self.length < self.root.limit * 3 // 4 or primitive is not self.opening:
            return False
        if not self.is_cut:
            self.is_cut = self._stands_where_it_began(primitive)
        return self.is_cut

    def _stands_where_it_began(self, primitive: Any) -> bool:
        primitives = [node.primitive for node in path_to(self) if node.operands]
        recent = [*primitives[-_WINDOW:], primitive]
        for place in range(len(primitives) - _WINDOW, _WINDOW - 1, -1):
            if primitives[place] is primitive and primitives[place - _WINDOW : place + 1] == recent:
                return primitives[place : place + _WINDOW] == primitives[:_WINDOW]
        return False


class Import:
    """Stands as the primitive of a node that brings an outside value onto the segment."""

    name = "import"
    differentiable = True
    makes_leaf = False


class Mark:
    """Stands as the primitive of a node that only marks a place in the segment."""

    differentiable = False

    def __init__(self, name: str, makes_leaf: bool = False) -> None:
        self.name = name
        self.makes_leaf = makes_leaf


IMPORT = Import()
GRAD_MODE = Mark("grad mode")
LEAF = Mark("leaf", makes_leaf=True)  # from here on, the value at ``slot`` is a leaf that requires grad
_MISMATCH = object()  # never an operand's node: a record with parameters is not recognised by its operands alone


class Root(Node):
    """Where segments start. Eager segments have a root of their own, whose nodes are never recognised by `next`."""

    __slots__ = ("limit", "eager", "count", "most")

    def __init__(self, eager: bool, limit: int = PENDING_LIMIT) -> None:
        super().__init__(None, ())
        self.next_slot = self.slot = 0
        self.grad_enabled = True
        self.inference = False
        self.length = 0
        self.nbytes = 0
        self.opening = None
        self.has_records = False  # a segment of outside values only is never full: the record that they are for comes next
        self.limit = limit
        self.eager = eager
        self.count = 0
        self.most = NODE_LIMIT  # nodes: with more, traces are evicted
        self.root = self


class Sealed(Root):
    """The node of a segment that no longer records: it has no children, so that every record on it is a miss."""


SEALED = Sealed(eager=True)
_roots: dict[tuple[bool, dtypes.dtype, bool], Root] = {}
clock = 0


def root_for(eager: bool, is_long: bool = False) -> Root:
    """Return the root of new segments. What a Python float becomes is part of every type, so it has its own root.

    `is_long`: of the adjoints of a long segment, which are not cut again.
    """
    key = (eager, dtypes.get_default_dtype(), is_long)
    found = _roots.get(key)
    if found is None:
        found = _roots.setdefault(key, Root(eager, _LONG_LIMIT if is_long and not eager else PENDING_LIMIT))
    return found


def grow(parent: Node, key: tuple[Any, ...], forks: bool = False) -> Node:
    """Return the child of this key, made on a miss; `forks`: there it leaves a path that was known."""
    child = parent.children.get(key)
    if child is None:
        child = make_child(parent, key)
        child.forks += forks
        child = parent.children.setdefault(key, child)
        parent.root.count += 1
    if not parent.root.eager:
        parent.next = child
    return child


def make_child(parent: Node, key: tuple[Any, ...]) -> Node:
    """Return a new node for this key: the type rule runs here, and its errors are raised here."""
    primitive = key[0]
    if primitive is IMPORT:
        return _import_node(parent, key)
    if primitive is GRAD_MODE:
        child = Node(parent, key)
        child.primitive = primitive
        child.grad_enabled, child.inference = key[1:]
        return child
    if primitive is LEAF:
        child = Node(parent, key)
        child.primitive = primitive
        child.slot = key[1].slot
        child.type = key[1].type.replace(requires_grad=True)
        return child
    return _record_node(parent, key)


def _import_node(parent: Node, key: tuple[Any, ...]) -> Node:
    node = Node(parent, key)
    node.primitive, node.first = key
    node.type = key[1]
    node.next_slot += 1
    node.nbytes += _IMPORT_WEIGHT * node.type.nbytes
    node.outputs = (node,)
    return node


def _record_node(parent: Node, key: tuple[Any, ...]) -> Node:
    primitive, *operands, values, name = key
    node = Node(parent, key)
    node.primitive = primitive
    node.name = name
    node.given = values
    tensors = operands[:-1] if operands and operands[-1] in NUMBERS else operands
    if primitive.results == 1 and 1 <= len(tensors) <= 2 and NUMBERS.isdisjoint(tensors):
        node.places = tuple(operands)
    slot = parent.next_slot
    resolved: list[Any] = []
    for operand in operands:
        if operand in NUMBERS:
            operand = Output(None, slot, number_type(operand))
            slot += 1
        resolved.append(operand)
    node.operands = tuple(resolved)
    kind = kind_of(primitive, tuple([operand.type for operand in resolved]), values, parent.grad_enabled, parent.inference)
    node.slot = slot
    node.type = kind.results[0]
    node.outputs = (node,) if primitive.results == 1 else tuple([Output(node, slot + i, t) for i, t in enumerate(kind.results)])
    node.next_slot = slot + primitive.results
    node.nbytes += kind.nbytes
    node.has_records = True
    if node.opening is None:
        node.opening = primitive
    node.parameters = kind.parameters
    node.run = kind.run
    node.saved = tuple([resolved[place].slot if place >= 0 else slot + ~place for place in kind.saved])
    node.releases = kind.releases or name == COPY_SLICES
    if not values and name is None and len(operands) <= 2:
        node.first = operands[0]
        node.second = operands[1] if len(operands) == 2 else None
    else:
        node.first = _MISMATCH
    return node


class Kind:
    """What is the same for all records of a primitive with these operand types and parameters.

    ``saved`` are the places of the values that the reverse sweep reads: operands from 0 up, results from -1 down.
    ``releases``: whether replaying the record gives residuals back.
    """

    __slots__ = ("parameters", "results", "nbytes", "run", "saved", "releases")

    def __init__(self, primitive: Any, types: tuple[Type, ...], values: tuple[Any, ...], modes: tuple[bool, bool]) -> None:
        grad_enabled, inference = modes
        self.parameters = dict(zip(primitive.parameters, values, strict=True))
        ruled = primitive.type_rule(*types, **self.parameters)
        differentiable = grad_enabled and not inference and primitive.differentiable and any([t.requires_grad for t in types])
        number = all([t.is_number for t in types])
        self.results = tuple(
            [_result_type(rule, differentiable, number, inference) for rule in (ruled if primitive.results > 1 else (ruled,))]
        )
        self.nbytes = sum([t.nbytes for t in self.results])
        self.run = prepare(primitive, types, self.results, self.parameters)
        self.saved = _saved_places(primitive, types) if differentiable else ()
        # Numbers that a linear record keeps, such as where a slice starts, are like a shape: never released.
        only_positions = bool(primitive.linear_in) and all([place >= 0 and types[place].is_number for place in self.saved])
        self.releases = bool(self.saved) and not only_positions


_kinds: dict[Any, Kind] = {}
_KINDS_LIMIT = 50_000


def kind_of(primitive: Any, types: tuple[Type, ...], values: tuple[Any, ...], grad_enabled: bool, inference: bool) -> Kind:
    """Return the kind of a record; made when first met, which raises what its type rule raises."""
    key = (primitive, types, values, grad_enabled, inference, dtypes.get_default_dtype())
    found = _kinds.get(key)
    if found is None:
        if len(_kinds) >= _KINDS_LIMIT:
            _kinds.clear()
        found = _kinds[key] = Kind(primitive, types, values, (grad_enabled, inference))
    return found


def _result_type(rule: tuple[Any, ...], differentiable: bool, number: bool, inference: bool) -> Type:
    dtype, shape = rule[:2]
    strides = rule[2] if len(rule) > 2 else None
    requires_grad = differentiable and dtype.category >= dtypes.FLOAT
    return make_type(dtype, shape, strides, requires_grad, number and not shape, inference)


def _saved_places(primitive: Any, types: tuple[Type, ...]) -> tuple[int, ...]:
    """Return the places of the values that the reverse sweep of such a record reads, by the names of its rules' arguments."""
    if primitive.vjp is not None:
        rules = [primitive.vjp]
    else:
        rules = [rule for rule, t in zip(primitive.derivatives, types, strict=True) if rule is not None and t.requires_grad]
    saved: dict[int, None] = {}
    for rule in rules:
        saved.update(dict.fromkeys(range(len(types)) if rule.saves_all else rule.saved_operands))
        if rule.saves_constants:
            saved.update(dict.fromkeys([place for place, t in enumerate(types) if t.is_constant]))
        if rule.saves_result:
            saved.update(dict.fromkeys([~place for place in range(primitive.results)]))
        saved.update(dict.fromkeys([~place for place in rule.saved_results]))
    if any([place >= 0 and types[place].is_inference for place in saved]):
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
            "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
            "`torch.no_grad()` instead of `torch.inference_mode()`."
        )
    return tuple(saved)


def path_to(node: Node) -> list[Node]:
    """Return the nodes from the first record to this one."""
    path = []
    at: Node | None = node
    while at is not None and at.parent is not None:
        path.append(at)
        at = at.parent
    path.reverse()
    return path


def touch(trace: Node) -> None:
    """Mark a sealed trace as used now, and evict the least recently used traces when the trie is too large."""
    global clock
    clock += 1
    trace.used = clock
    if trace.root.count > trace.root.most:
        _evict(trace.root)


def _evict(root: Root) -> None:
    """Keep the traces used last, about half of the nodes, and the nodes that lead to them."""
    ends: list[Node] = []
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node.used:
            ends.append(node)
        stack.extend(node.children.values())
    ends.sort(key=lambda node: -node.used)
    kept: set[Node] = {root}
    for end in ends:
        if len(kept) > NODE_LIMIT // 2:
            break
        at: Node | None = end
        while at is not None and at not in kept:
            kept.add(at)
            at = at.parent
    for end in ends:
        if end not in kept:
            end.plans = None  # at once, as programs have much memory: traces are cycles, which Python collects some time
    for node in list(kept):
        node.children = {key: child for key, child in node.children.items() if child in kept}
        if node.next not in kept:
            node.next = None
    root.count = len(kept) - 1
    root.most = max(NODE_LIMIT, 2 * root.count)  # one trace alone may be as long
