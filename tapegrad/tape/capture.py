"""Capturing: what a function records is kept, so that a later call puts it on the tape at once, without running the function.

A captured call is one segment: its end in the trie, where its outside values come from, and which tensors its live results
become. The outside values are those of the arguments, of tensors that the function holds (read afresh at every call), of their
gradients, and constants. Its effects are the tensors that it returns, those it writes in place, and the gradients it leaves.
"""

from __future__ import annotations

import traceback
from sys import getrefcount
from typing import Any

from .aliases import count_version
from .buffers import is_concrete, live_views
from .materialise import materialise, replay_captured
from .record import Failure, new_tensor_of, read
from .segment import NO_SEGMENT, Segment, open_segment, state
from .trace import IMPORT, SEALED, Root, path_to

ARGUMENT, HELD, GRADIENT, CONSTANT = "argument", "held", "gradient", "constant"
# What counts the references to a tensor that the function made and dropped: the list of imports, its slot, a variable, the call.
_HELD_BY_CAPTURE = 4


class CannotCapture(Exception):  # noqa: N818 - it tells why, and is always caught
    """A call that later calls cannot repeat from the tape alone; its text says why."""


class Capture:
    """A call that is being captured: the thread records on one segment, from a root of its own, which nothing may end."""

    def __init__(self, arguments: list[Any], root: Root) -> None:
        self.arguments = arguments
        self.is_broken = False
        self.why = ""
        self.imported: dict[int, Any] = {}  # the tensors that came onto the segment, by slot
        self.first_notes: dict[int, tuple[Any, bool, Any]] = {}
        materialise(state.segment)
        self.segment: Segment = open_segment(root)
        state.capture = self

    def end_early(self) -> None:
        """Go on as ordinary code: the segment ends before the function does."""
        self.is_broken = True
        end = self.segment.detached[0] if self.segment.detached else self.segment.node
        self.why = f"it reads a value, in {_place_in_user_code()}"
        if end.is_full:
            size = f"{end.length:,} operations with results of {end.nbytes / 2**30:.1f} GiB"
            self.why = f"its {size} are more than a captured call may have"
        state.capture = None

    def miss(self, why: str) -> None:
        """Note that something happens which the tape does not show."""
        self.is_broken = True
        self.why = self.why or why

    def note_grad(self, leaf: Any, is_set: bool) -> None:
        """Remember how a tensor's `grad` is first met: set by the user, or read or accumulated into."""
        self.first_notes.setdefault(id(leaf), (leaf, is_set, leaf._grad))

    def finish(self, results: list[Any]) -> Captured:
        """Materialise the captured segment, and return what later calls need; raise CannotCapture where they could not."""
        state.capture = None
        segment = self.segment
        if self.is_broken or state.segment is not segment or segment.node is SEALED:
            raise CannotCapture(self.why or "it records more than one segment of the tape holds")
        if segment.retained or segment.versions or segment.shared or segment.urgent:
            raise CannotCapture("it retains gradients of values on the way, or works on memory that is shared with NumPy")
        for result in results:
            _cut_loose(result)
        found = Captured(self, segment, results)
        materialise(segment, found.watch)
        if found.why:
            raise CannotCapture(found.why)
        return found


class Captured:
    """What a captured call consists of; `replay` repeats it with other arguments."""

    def __init__(self, capture: Capture, segment: Segment, results: list[Any]) -> None:
        self.why = ""
        self.capture: Any = capture
        self.trace: Any = segment.node
        self.plan: Any = None
        self.results = results
        self.released = segment.released
        self.composed = segment.composed
        self.values = [None if hasattr(value, "_node") else value for value in segment.values]
        self.sources: list[tuple[int, str, Any, Any]] = []  # slot, where from, what there, type
        self.origins = [slot for slot, origin in segment.origins.items() if origin.__class__ is not tuple]
        self.leaves: dict[int, Any] = {}
        self.outputs: list[tuple[int, Any]] = []  # place in the results, node
        self.passed: list[tuple[int, Any]] = []  # place in the results, tensor (or place in the arguments)
        self.written: list[tuple[Any, Any]] = []  # tensor (or place in the arguments), node
        self.gradients: list[tuple[Any, Any, bool]] = []  # leaf (or place in the arguments), node, whether its `grad` is written to
        self.needs: list[tuple[Any, bool, Any]] = []  # leaf, whether it has a grad before the call, its type
        # Whether a tensor is an argument, or held by the function and an argument too, cannot be told from one call: where
        # the next has another tensor, it is captured again.
        self.identities = [id(argument) for argument in capture.arguments]
        self.confirmed = {place for place, argument in enumerate(capture.arguments) if argument._node.type.is_number}
        if any([origin.__class__ is tuple for origin in segment.origins.values()]):
            self.why = "a tensor that it is given, or holds, has a history"
            return
        self._find_sources(segment)
        self._find_leaves(segment)

    def _find_sources(self, segment: Segment) -> None:
        """Note where each outside value of the segment comes from."""
        places = {id(argument): place for place, argument in enumerate(self.capture.arguments)}
        gradients = {id(old): leaf for leaf, _, old in self.capture.first_notes.values() if old is not None}
        types = {node.slot: node.type for node in path_to(self.trace) if node.primitive is IMPORT}
        imported, self.capture.imported = self.capture.imported, {}
        for slot in list(imported):
            tensor, type_ = imported.pop(slot), types[slot]
            if id(tensor) in places:
                self.sources.append((slot, ARGUMENT, places[id(tensor)], type_))
            elif id(tensor) in gradients:
                self.sources.append((slot, GRADIENT, gradients[id(tensor)], type_))
            elif _is_written(tensor, segment) and getrefcount(tensor) <= _HELD_BY_CAPTURE:
                segment.imports = [other for other in segment.imports if other is not tensor]  # as if nobody held it
                continue  # made by the function, and written to: what it was made with is a constant
            else:
                self.sources.append((slot, HELD, tensor, type_))

    def _find_leaves(self, segment: Segment) -> None:
        self.leaves = dict(segment.leaves)
        for leaf, is_set, old in self.capture.first_notes.values():
            if not is_set:
                self.needs.append((leaf, old is not None, None if old is None else old._node.type))

    def watch(self, trace: Any, plan: Any, values: list[Any]) -> None:
        """Note which tensors the live results are, just before they are computed."""
        self.trace, self.plan = trace, plan
        if self.why:
            return
        results = {id(result): place for place, result in enumerate(self.results) if hasattr(result, "_node")}
        arguments = {id(argument): place for place, argument in enumerate(self.capture.arguments)}
        held = {id(tensor): tensor for _, what, tensor, _ in self.sources if what == HELD}
        leaves = {id(leaf._grad): (leaf, leaf._grad is old) for leaf, _, old in self.capture.first_notes.values() if leaf._grad is not None}
        if any([leaf._grad is None and old is not None for leaf, _, old in self.capture.first_notes.values()]):
            self.why = "it takes a gradient away that was there before it"
        for slot in plan.live:
            tensor = values[slot]
            node = tensor._node
            if tensor._alias_of is not None or live_views(tensor):
                self.why = "it makes a view that is there after it"
            elif id(tensor) in leaves:
                leaf, is_written = leaves[id(tensor)]
                self.gradients.append((leaf, node, is_written))
            elif id(tensor) in arguments or id(tensor) in held:
                self.written.append((held.get(id(tensor), arguments.get(id(tensor))), node))
                continue
            elif id(tensor) not in results:
                self.why = f"it keeps a new tensor of shape {list(node.type.shape)} somewhere, beside what it returns"
            if id(tensor) in results:
                self.outputs.append((results[id(tensor)], node))
        made = {place for place, _ in self.outputs}
        for place, result in enumerate(self.results):
            if hasattr(result, "_node") and place not in made:
                where = arguments.get(id(result), held.get(id(result)))
                if where is None:
                    self.why = self.why or "it returns a tensor twice, or one that is not computed from its arguments"
                self.passed.append((place, where))
        self._drop_tensors()

    def _drop_tensors(self) -> None:
        """Hold no tensor of the captured call itself, but those that the function holds too."""
        places = {id(argument): place for place, argument in enumerate(self.capture.arguments)}
        self.gradients = [(places.get(id(leaf), leaf), node, is_written) for leaf, node, is_written in self.gradients]
        self.leaves = {slot: places.get(id(leaf), leaf) for slot, leaf in self.leaves.items()}
        self.needs = [(places.get(id(leaf), leaf), has, type_) for leaf, has, type_ in self.needs]
        sources = [(slot, what, places.get(id(where), where), type_) for slot, what, where, type_ in self.sources]
        self.sources = sources
        for slot, what, _, _ in sources:
            if what != CONSTANT:
                self.values[slot] = None
        self.results = [None if hasattr(result, "_node") else result for result in self.results]
        self.capture = None

    def confirm(self, earlier: Captured) -> None:
        """Note which arguments have changed since an earlier capture, without a change of what was recorded."""
        if self.trace is not earlier.trace or self._held() != earlier._held():
            return
        pairs = enumerate(zip(self.identities, earlier.identities, strict=True))
        self.confirmed |= earlier.confirmed | {place for place, (ours, theirs) in pairs if ours != theirs}

    def _held(self) -> list[tuple[int, int]]:
        return [(slot, id(tensor)) for slot, what, tensor, _ in self.sources if what == HELD]

    def fits(self, arguments: list[Any]) -> bool:
        """Whether a call may be replayed: what the function holds is of the types it was of."""
        for place, identity in enumerate(self.identities):
            if id(arguments[place]) != identity and place not in self.confirmed:
                return False
        for _, what, where, type_ in self.sources:
            tensor = arguments[where] if where.__class__ is int else where
            if what == HELD and any([tensor is argument for argument in arguments]):
                return False
            if what == GRADIENT:
                tensor = tensor._grad
                if tensor is None:
                    return False
            if tensor._node.type is not type_ or (type_.requires_grad and tensor._home is not None) or not _can_be_read(tensor):
                return False
        for leaf, has, type_ in self.needs:
            gradient = (arguments[leaf] if leaf.__class__ is int else leaf)._grad
            if (gradient is not None) != has or (has and gradient._node.type is not type_):
                return False
        written = [where for where, _ in self.written]
        tensors = [arguments[where] if where.__class__ is int else where for where in written]
        leaves = [leaf for leaf, _, is_written in self.gradients if is_written]
        tensors += [(arguments[leaf] if leaf.__class__ is int else leaf)._grad for leaf in leaves]
        return all([_is_alone(tensor) and not live_views(tensor) for tensor in tensors])

    def replay(self, arguments: list[Any]) -> list[Any]:
        """Put the captured segment together anew, with these arguments; return the results."""
        values = list(self.values)
        tensors = {}
        for slot, what, where, _ in self.sources:
            tensor = arguments[where] if where.__class__ is int else where
            if what == GRADIENT:
                tensor = tensor._grad
            value = read(tensor)
            values[slot] = value.item() if tensor._node.type.is_number else value
            tensors[slot] = tensor
        segment = Segment(NO_SEGMENT.node)
        segment.origins = {slot: tensors[slot] for slot in self.origins if slot in tensors}
        segment.leaves = {slot: arguments[leaf] if leaf.__class__ is int else leaf for slot, leaf in self.leaves.items()}
        segment.released = self.released
        segment.composed = self.composed
        results = list(self.results)
        kept = []  # what is written to, as it was
        for where, node in self.written:
            kept.append(_Kept(arguments[where] if where.__class__ is int else where))
            values[node.slot] = _write(arguments[where] if where.__class__ is int else where, segment, node)
        for where, node, is_written in self.gradients:
            leaf = arguments[where] if where.__class__ is int else where
            if is_written:
                kept.append(_Kept(leaf._grad))
                values[node.slot] = _write(leaf._grad, segment, node)
            else:
                leaf._grad = values[node.slot] = new_tensor_of(segment, node)
        for place, node in self.outputs:
            if values[node.slot] is None:
                values[node.slot] = new_tensor_of(segment, node)
            results[place] = values[node.slot]
        for place, where in self.passed:
            results[place] = arguments[where] if where.__class__ is int else where
        replay_captured(segment, self.trace, self.plan, values)
        self._raise_failure(arguments, kept)
        return results

    def _raise_failure(self, arguments: list[Any], kept: list[_Kept]) -> None:
        """Raise where a gradient, or what a tensor was to become, could not be computed; then tensors are as they were."""
        error = None
        for where, _, _ in self.gradients:
            leaf = arguments[where] if where.__class__ is int else where
            value = leaf._grad._array
            if value.__class__ is Failure:
                error = value.copy_of_error()
                if not any([was.tensor is leaf._grad for was in kept]):
                    leaf._grad = None
        failures = [was.tensor._array for was in kept if was.tensor._array.__class__ is Failure]
        error = failures[0].copy_of_error() if failures else error
        if error is not None:
            for was in kept:
                was.restore()
            raise error


class _Kept:
    """A tensor that is written to, and what it was."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.value = read(tensor), tensor._node, tensor._home, tensor._home_slot

    def restore(self) -> None:
        """Let the tensor be what it was."""
        self.tensor._segment = None
        self.tensor._array, self.tensor._node, self.tensor._home, self.tensor._home_slot = self.value


def _cut_loose(result: Any) -> None:
    """Let a detached result be a tensor of its own, where nobody else has what it was detached from."""
    if not getattr(result, "_is_detached", False) or any([link[0] != "detach" for link in result._chain]):
        return
    root = result._alias_of
    # Held by the result, the segment, this variable, and the call that counts.
    if getrefcount(root) <= 4 and len(live_views(root)) == 1 and not is_concrete(root) and root._version_count == 0:
        result._alias_of, result._chain, result._chain_numbers, result._is_detached = None, (), (), False
        result._own_version = None


def _can_be_read(tensor: Any) -> bool:
    """Whether a tensor's value is there, and no array outside has it; a view without a gradient of its own will do."""
    if tensor._alias_of is None:
        return not (tensor._is_stale or tensor._is_shared)
    return not (tensor._node.type.requires_grad or tensor._is_shared or tensor._alias_of._is_shared)


def _is_alone(tensor: Any) -> bool:
    """Whether a tensor's value is not that of another, or of an array outside."""
    return not (tensor._is_stale or tensor._is_shared) and tensor._alias_of is None


def _write(tensor: Any, segment: Segment, node: Any) -> Any:
    """Let a tensor stand for another value, as an in-place operation does; return it."""
    if is_concrete(tensor):
        del tensor._array
    tensor._segment, tensor._node, tensor._home = segment, node, None
    if tensor._views:
        tensor._views = []  # none of them is alive
    count_version(tensor)
    return tensor


def _is_written(tensor: Any, segment: Segment) -> bool:
    """Whether a tensor that came onto the segment has another value by now."""
    return not (tensor._segment is segment and tensor._node.node.primitive is IMPORT)


def _place_in_user_code() -> str:
    """Return the file and line outside this package that is being run."""
    package = __name__.split(".")[0]
    for frame in reversed(traceback.extract_stack()):
        if f"/{package}/" not in frame.filename.replace("\\", "/"):
            return f"{frame.filename}:{frame.lineno} ({frame.line})"
    return "tapegrad itself"
