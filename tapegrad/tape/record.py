"""Recording: an operation appends a record to the thread's open segment.

Python switches threads, and raises KeyboardInterrupt, only at function calls and jumps back. So between reading a
segment's node and appending to its values there must be neither: that is all the synchronisation recording needs.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from . import checks
from .buffers import buffer_is_seen, is_concrete
from .modes import mode
from .segment import Segment, open_segment, serials, state
from .trace import IMPORT, NUMBERS, SEALED, Node, grow, make_child

# tensor.py puts its class here; the tape itself knows of a tensor only _segment, _node, _array, _home and _home_slot.
new_tensor: Callable[[], Any] = object


class Failure:
    """Stands for a value whose computation raised: reading it raises the same error again."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error.with_traceback(None)  # its frames would hold every value of the segment

    def copy_of_error(self) -> BaseException:
        """Return the error to raise: a copy, since what is raised holds the frames of whoever reads, and so the tensor."""
        try:
            return copy(self.error)
        except Exception:  # a class that cannot be copied
            return self.error


def record(primitive: Any, operands: tuple[Any, ...], parameters: tuple[Any, ...] = (), name: str | None = None) -> Any:
    """Append a record and return its result, a pending tensor (a tuple of them for a primitive with several results).

    Operands are tensors and Python numbers. Errors that need no data are raised here, and leave the tape as it was.
    """
    segment = state.segment
    node = segment.node.next
    if node is not None and node.primitive is IMPORT:
        node = _enter_known(segment, operands)
    if node is not None and node.primitive is primitive and node.places is not None:
        if node.given == parameters and node.name == name:
            result = _append_known(segment, node, operands)
            if result is not None:
                return result
    while True:
        segment = state.segment
        if segment.node is SEALED:
            segment = open_segment()
        parts: list[Any] = [primitive]
        values: list[Any] = []
        entered = False
        for operand in operands:
            kind = operand.__class__
            if kind in NUMBERS:
                parts.append(kind)
                values.append(operand)
            else:
                if operand._segment is segment:
                    place = operand._node  # no call in between: another thread may bring it onto its own segment
                else:
                    if operand._is_stale and checks.is_cut_off(operand):
                        return record(primitive, _as_they_are(primitive, operands), parameters, name)
                    place = enter(operand)
                    entered = True
                parts.append(place)
        if entered and state.segment is not segment:
            continue  # an operand's value had to be computed, which sealed the segment
        parts.append(parameters)
        parts.append(name)
        key = tuple(parts)
        if primitive.results == 1:
            results: Any = new_tensor()
            values.append(results)
        else:
            results = tuple([new_tensor() for _ in range(primitive.results)])
            values.extend(results)
        node = segment.node
        child = node.next
        if child is None or child.key != key:
            try:
                child = node.children[key]
            except KeyError:
                child = None
            else:
                node.next = child if segment.recognises else None
        if child is not None:
            if primitive.results == 1:
                results._segment = segment
                results._node = segment.node = child
            else:
                for result, output in zip(results, child.outputs, strict=True):
                    result._segment = segment
                    result._node = output
                segment.node = child
            segment.values += values
            if segment.urgent:
                from .materialise import materialise

                if mode.detects_anomaly and child.requires_grad:
                    from .calls import note_call

                    note_call(segment, child.slot)
                del values, operand
                materialise(segment)
                for result in (results,) if primitive.results == 1 else results:
                    if is_concrete(result):
                        value_of(result)  # what failed is raised at once, before it takes the place of another value
            return results
        _extend(segment, node, key)


def _enter_known(segment: Segment, operands: tuple[Any, ...]) -> Node | None:
    """Bring the operands onto the segment, as the last time; return what came next then."""
    for operand in operands:
        if operand.__class__ not in NUMBERS and operand._segment is not segment and not operand._is_stale:
            enter(operand)
    return segment.node.next


def _append_known(segment: Segment, node: Node, operands: tuple[Any, ...]) -> Any:
    """Append the record that came here the last time if it is of these operands, and return its result, else None.

    As in operators.py, there is no call after the segment's node has been read. (A loop would take twice as long.)
    """
    result = new_tensor()
    number: Any = None
    try:
        if len(operands) == 1:
            (first,), (place,) = operands, node.places  # type: ignore[misc]  # it has places
            if first._node is not place or first._segment is not segment:
                return None
        else:
            places: Any = node.places
            first, second = operands[0], operands[1]
            if first._node is not places[0] or first._segment is not segment or len(operands) != len(places):
                return None
            if second.__class__ is places[1]:
                number = second
            elif second._node is not places[1] or second._segment is not segment:
                return None
            elif len(operands) == 3:
                number = operands[2]
                if number.__class__ is not places[2]:
                    return None
    except (AttributeError, IndexError, ValueError):  # a number where a tensor was, or more operands
        return None
    if segment.urgent or segment.node.next is not node:
        return None
    result._segment = segment
    result._node = segment.node = node
    if number is None:
        segment.values.append(result)
    else:
        segment.values += (number, result)
    return result


def _as_they_are(primitive: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands, with the present value alone of those that cannot have their root's history (or raise)."""
    found = []
    for operand in operands:
        if operand.__class__ not in NUMBERS and operand._is_stale and checks.is_cut_off(operand):
            if state.grad_enabled and primitive.differentiable:
                checks.check_cut_off(operand)
            operand = operand._as_it_is()
        found.append(operand)
    return tuple(found)


# What leaves a path that it has followed for so many records is a branch, and grows there; but a path that has left known
# ones so often, or followed one for long, is taken for another program's: that gets a segment of its own, from the root on,
# where it is soon recognised. Whatever is decided about a record is decided alike when the same comes again, so that results
# are the same, bit for bit: what has grown is there, and what was cut is cut.
_KNOWN_PATH = 16
_LONG_PATH = 1024
_MOST_FORKS = 2


def _extend(segment: Segment, node: Node, key: tuple[Any, ...]) -> None:
    """Make the missing child of the trie, or a new segment where this one is full or another program begins."""
    if node is SEALED:
        return
    known = node.length - segment.grown_at
    forks = known >= _KNOWN_PATH
    departs = known >= _LONG_PATH or (forks and node.forks >= _MOST_FORKS)
    ends = state.capture is None and (departs or node.begins_again(key[0]))
    if node.has_records and (node.is_full or ends):
        from .materialise import materialise

        make_child(node, key)  # raises what is wrong with the record: an error does not cut the tape
        materialise(segment)
        return
    segment.grown_at = grow(node, key, forks).length


def wrap(array: Any, type_: Any) -> Any:
    """Return a concrete tensor of this array and type."""
    tensor = new_tensor()
    tensor._segment = None
    tensor._node = type_
    tensor._array = array
    return tensor


def new_tensor_of(segment: Segment, output: Any) -> Any:
    """Return a tensor that stands for a result on an open segment."""
    tensor = new_tensor()
    tensor._segment = segment
    tensor._node = output
    return tensor


def enter(tensor: Any) -> Any:
    """Bring a tensor onto the open segment, and return its place there.

    Its value is imported: a stale view is regenerated, and what is pending on another segment is waited for.
    """
    if tensor._is_stale:
        tensor._regenerate()
        return tensor._node if tensor._segment is state.segment else enter(tensor)
    is_shared = (tensor._is_shared or tensor._alias_of is not None) and _is_shared(tensor)
    while True:
        was = tensor._segment
        try:
            value = tensor._array
        except AttributeError:
            _wait_for(tensor)
            continue
        if value.__class__ is Failure:
            value_of(tensor)
        type_ = tensor._node.type
        array = value
        if type_.is_number and not isinstance(value, (bool, int, float, complex)):
            array = value.item()  # on the tape it is what it stands for: a Python number, of Python's precision
        segment = state.segment
        if segment.node is SEALED:
            segment = open_segment()
        node = segment.node
        child = node.next
        if child is None or child.first is not type_ or child.primitive is not IMPORT:
            key = (IMPORT, type_)
            child = node.children.get(key)
            if child is None:
                _extend(segment, node, key)
                continue
            node.next = child if segment.recognises else None
        if type_.requires_grad and tensor._home is not None:
            segment.rise_above(tensor._home)
        segment.imports.append(tensor)
        try:
            if segment.node is not node or tensor._segment is not was or tensor._array is not value:
                continue
        except AttributeError:  # another thread has written to the tensor
            continue
        segment.node = tensor._node = child  # from here to the end of the loop there is no call, at which an interrupt may come
        tensor._segment = segment
        segment.values += (array,)
        if type_.requires_grad:
            segment.origins[child.slot] = tensor if tensor._home is None else (tensor._home, tensor._home_slot)
        if is_shared:
            segment.urgent = True
            segment.shared += (array,)
        break
    if checks.inplace_checks:
        checks.note_version(tensor)
    if state.capture is not None:
        state.capture.imported[child.slot] = tensor
    return child


def _is_shared(tensor: Any) -> bool:
    """Whether an outside array may write to the tensor's buffer; if none can any more, nothing will be written to it."""
    root = tensor if tensor._alias_of is None else tensor._alias_of
    if root._is_shared and not (is_concrete(root) and buffer_is_seen(root)):
        root._is_shared = False
    return bool(root._is_shared)


def _wait_for(tensor: Any) -> None:
    """Let a pending tensor have its value; another thread may be computing it."""
    from .materialise import materialise

    segment = tensor._segment
    if segment is not None:
        materialise(segment)
    if not is_concrete(tensor):
        settle(tensor)


def value_of(tensor: Any) -> Any:
    """Return a concrete tensor's array, or raise the error that computing it raised."""
    array = tensor._array
    if array.__class__ is Failure:
        raise array.copy_of_error()
    return array


def look_at(tensor: Any) -> Any:
    """Return the tensor's array, to check its values and for nothing else: a call that is being captured can go on."""
    return read(tensor) if state.capture is None or not is_concrete(tensor) else value_of(tensor)


def is_failure(tensor: Any) -> bool:
    """Whether a tensor has been computed, and that raised."""
    return getattr(tensor, "_array", None).__class__ is Failure and is_concrete(tensor)


def settle(tensor: Any) -> None:
    """Give a tensor that still points to a sealed segment its value from there."""
    segment = tensor._segment
    if segment is None or segment.node is not SEALED:
        return
    from .materialise import materialise

    materialise(segment)  # which another thread may be doing just now
    if tensor._segment is not segment:
        return
    node = tensor._node
    if not is_concrete(tensor):
        if node.slot not in segment.residuals:
            raise RuntimeError("tapegrad: a value on the tape was given up while a tensor still needed it; please report this")
        tensor._array = segment.residuals[node.slot]
        if node.type.requires_grad and tensor._home is None:
            tensor._home = segment
            tensor._home_slot = node.slot
    tensor._segment = None
    tensor._node = node.type


def read(tensor: Any) -> Any:
    """Return the tensor's array, materialising its segment if it is pending."""
    if state.capture is not None:
        state.capture.end_early()  # what is done with the value, the tape does not see
    if tensor._is_stale:
        if checks.is_cut_off(tensor):
            return read(tensor._as_it_is())
        tensor._regenerate()
    while True:
        if not is_concrete(tensor):
            _wait_for(tensor)
        try:
            array = tensor._array
        except AttributeError:  # another thread has written to the tensor
            continue
        return value_of(tensor) if array.__class__ is Failure else array


def here() -> tuple[int, int]:
    """Return the address (serial of the segment, slot) of the next record on this thread."""
    segment = state.segment
    return (next(serials), 0) if segment.node is SEALED else (segment.serial, segment.node.next_slot)


def mark_composed(name: str, result: Any, start: tuple[int, int]) -> None:
    """Mark that the records from address `start` to the result are one operation of the user's, shown under this name."""
    segment, slot = address_of(result)
    if segment is not None and (segment.serial > start[0] or (segment.serial == start[0] and slot >= start[1])):
        if segment.composed is None:
            segment.composed = {}
        serial, first = start
        segment.composed[slot] = (name, (None if serial == segment.serial else serial, first))


def address_of(tensor: Any) -> tuple[Segment | None, int]:
    """Return the segment and slot at which the reverse sweep meets the tensor; (None, 0) for one without history."""
    if tensor._is_stale:
        tensor._regenerate()
    if is_concrete(tensor):
        home = tensor._home
        return (None, 0) if home is None else (home, tensor._home_slot)
    if tensor._segment.node is SEALED:
        settle(tensor)
        return address_of(tensor)
    return tensor._segment, tensor._node.slot


def history_address(tensor: Any) -> tuple[Any, int]:
    """Return the address at which the tensor's gradient is complete: that from before edits of its data alone."""
    segment, slot = address_of(tensor)
    while segment is not None:
        node = record_at(segment, slot)
        if node.primitive is IMPORT:
            origin = segment.origins.get(slot)
            if not isinstance(origin, tuple):
                break
            segment, slot = origin
        elif node.primitive.transparent:
            slot = node.operands[0].slot
        else:
            break
    return segment, slot


def record_at(segment: Segment, slot: int) -> Node:
    """Return the record (or import) of a slot, by walking back from the end of the segment."""
    at = segment.trace if segment.node is SEALED else segment.node
    assert at is not None
    while at.parent is not None and at.parent.next_slot > slot:
        at = at.parent
    return at
