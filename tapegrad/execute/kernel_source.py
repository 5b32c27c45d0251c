"""The source of a kernel: a loop over rows and columns, written from its steps.

A kernel is `kernel(args, lo, hi)`: rows (or elements) lo to hi of the loop whose addresses, strides and lengths are in the
words at `args`. Nothing of a shape is in its text but small strides, so that loops which differ in their lengths alone share one
kernel.

The columns of a row are gone through in passes: a reduction over them ends a pass, and what depends on it belongs to the next.
What a later pass needs again it computes again, or reads from scratch memory if that would take long.
"""

from __future__ import annotations

from typing import Any

from ..tape.types import Shape, contiguous_strides
from .expressions import cast, expression_for, render
from .loops import COLUMN, FULL, ROW, TOTAL, Loop, Step
from .lowering import Interleaved
from .memory import HEAD, SIZES, Input, Memory, Number, Written, loaded, storable, stored_kind
from .vector_maths import FUNCTIONS

BLOCK = 512  # so many elements are added in any order; the sums of blocks are added in float64
_CHUNK = 1 << 14  # elements that one call of a kernel gets, at least
_MOST_CHUNKS = 64
_SMALL = 16  # strides and offsets up to here are in a kernel's text


class Space:
    """A loop's iteration space: the lengths of its row dimensions and how many columns there are; flat without rows."""

    def __init__(self, loop: Loop) -> None:
        inputs = [(step.level, operand) for step in loop.steps.values() for operand in step.operands if operand.__class__ is Input]
        self.shape = loop.shape
        self.size = 1
        for length in loop.shape:
            self.size *= length
        split = loop.split
        self.groups = _merged(loop.shape, [given.strides for level, given in inputs if level != ROW], split)
        self.is_flat = split is None and len(self.groups) <= 1
        if self.is_flat:
            self.row_groups: list[list[int]] = []
            self.columns = self.size
        else:
            last = split if split is not None else self.groups[-1][0]
            row_strides = [given.strides[:last] for _, given in inputs]
            self.row_groups = _merged(loop.shape[:last], row_strides, None)
            self.columns = _product(loop.shape[last:])
        self.row_lengths = [_product([loop.shape[axis] for axis in group]) for group in self.row_groups]
        self.rows = _product(self.row_lengths)
        self.split = 0 if self.is_flat else last

    def strides(self, given: Shape) -> tuple[list[int], int]:
        """Return the strides over the rows' dimensions, and over the columns (0 for a value a row)."""
        if self.is_flat:
            return [], given[-1] if given and len(given) == len(self.shape) else 0
        rows = [given[group[-1]] for group in self.row_groups]
        return rows, given[-1] if len(given) > self.split else 0


def _merged(shape: Shape, every: list[Shape], split: int | None) -> list[list[int]]:
    """Return the axes in groups that all of these strides go through evenly; none reaches over the split."""
    groups: list[list[int]] = []
    every = [*every, contiguous_strides(shape)]
    for axis in range(len(shape)):
        if groups and axis != split and all([s[axis - 1] == s[axis] * shape[axis] for s in every]):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _product(lengths: Any) -> int:
    product = 1
    for length in lengths:
        product *= length
    return product


class Writer:
    """Writes the kernel of one loop."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.space = Space(loop)
        self.words: list[Memory] = []
        self.head: list[str] = []
        self.row_head: list[str] = []
        self.order = list(loop.steps.values())
        self.names = {step.slot: f"v{number}" for number, step in enumerate(self.order)}
        self.inputs: dict[Any, Any] = {}
        self.pointers: dict[int, str] = {}  # of a slot
        self.numbers: dict[int, str] = {}
        self.passes = self._passes()
        self.last_pass = max([self.passes[step.slot] for step in self.order], default=0)
        self.scratch: dict[int, str] = {}
        self.stored: dict[int, str] = {}
        self.combinations: list[Any] = []
        self.used: set[str] = set()
        space = self.space
        count, unit = (space.columns, 1) if space.is_flat else (space.rows, max(space.columns, 1))
        step = max(1, -(-_CHUNK // unit), -(-count // _MOST_CHUNKS))
        if space.is_flat:
            step = -(-step // BLOCK) * BLOCK
        self.count, self.step = count, min(step, max(count, 1))

    # Arguments

    def word(self, what: str, value: Any) -> str:
        """Return the code of a word of the arguments."""
        self.words.append(Memory(what, value))
        return f"word(args + {8 * (len(self.words) - 1)})"

    def write(self) -> Written:
        """Return the kernel."""
        space = self.space
        if not space.is_flat:
            self.head.append(f"n = {self.word('word', space.columns)}")
            for axis in range(1, len(space.row_lengths)):
                self.head.append(f"l{axis} = {self.word('word', space.row_lengths[axis])}")
        self.head.append(f"chunk = lo // {self.word('word', self.step)}")
        for step in self.order:
            for operand in step.operands:
                self._declare(step, operand)
            if step.is_stored:
                self._declare_result(step)
        self._plan_scratch()
        body = self._body()
        lines = [*self.head, *body, "return 0"]
        text = "def kernel(args, lo, hi):\n" + "".join([f"    {line}\n" for line in lines])
        return Written(HEAD + _imports(text) + "\n\n" + text, self.words, self.count, self.step, self.combinations)

    def _declare(self, step: Step, operand: Any) -> None:
        if operand.__class__ is Number:
            if operand.slot not in self.numbers:
                name = self.numbers[operand.slot] = f"n{len(self.numbers)}"
                pointer = "pointer_f8" if operand.is_float else "pointer_i8"
                self.head.append(f"{name} = {pointer}({self.word('cell', operand.slot)})[0]")
            return
        if operand.__class__ is not Input:
            return
        row_strides, column = self.space.strides(operand.strides)
        key = (operand.slot, tuple(row_strides), column, operand.offset)
        if key in self.inputs:
            return
        number = len(self.inputs)
        name = f"x{number}"
        pointer, first = self._pointer(operand)
        offset = self._offset(number, row_strides)
        if column == 0:
            if offset:
                self.row_head.append(f"{name} = {loaded(f'{pointer}[{offset}{first}]', operand.kind)}")
            else:
                self.head.append(f"{name} = {loaded(f'{pointer}[0{first}]', operand.kind)}")
            self.inputs[key] = (name, None)
            return
        if offset:
            self.row_head.append(f"o{number} = {offset}")
        begin = f"o{number} + " if offset else ""
        if column == 1:
            place = f"{begin}j"
        elif 1 < column <= _SMALL:
            place = f"{begin}j * {column}"  # what LLVM knows, it has better code for
        else:
            self.head.append(f"c{number} = {self.word('word', column)}")
            place = f"{begin}j * c{number}"
        self.inputs[key] = (name, f"{name} = {loaded(f'{pointer}[{place}{first}]', operand.kind)}")

    def _pointer(self, operand: Input) -> tuple[str, str]:
        """Return the variable with an operand's address, and the code that adds where its first element is."""
        pointer = self.pointers.get(operand.slot)
        if pointer is None:
            pointer = self.pointers[operand.slot] = f"a{len(self.pointers)}"
            self.head.append(f"{pointer} = pointer_{stored_kind(operand.kind)}(word({self.word('cell', operand.slot)}))")
        if operand.offset < _SMALL:
            return pointer, f" + {operand.offset}" if operand.offset else ""
        return pointer, f" + {self.word('word', operand.offset)}"

    def _offset(self, number: int, strides: list[int]) -> str:
        """Return the code of where a row begins, from the row's place along each dimension."""
        terms = []
        for axis, stride in enumerate(strides):
            if stride:
                self.head.append(f"s{number}_{axis} = {self.word('word', stride)}")
                terms.append(f"{'r' if len(strides) == 1 else f'r{axis}'} * s{number}_{axis}")
        return " + ".join(terms)

    def _declare_result(self, step: Step) -> None:
        number = self.names[step.slot][1:]
        if step.level in (FULL, ROW):
            self.head.append(f"b{number} = pointer_{stored_kind(step.kind)}(word({self.word('cell', step.slot)}))")
            self.stored[step.slot] = f"b{number}"
            return
        length = self.space.columns if step.level == COLUMN else 1
        wide = _wide(step)
        where = self.word("partial", (step.slot, length))
        self.head.append(f"q{number} = pointer_{wide}({where} + 8 * chunk * {'n' if step.level == COLUMN else 1})")
        chunks = -(-self.count // self.step)
        self.combinations.append((step, wide, length, chunks))

    # Passes

    def _passes(self) -> dict[int, int]:
        """Return for each step the pass it belongs to; for a value a row, the pass it is there after."""
        passes: dict[int, int] = {}
        for step in self.order:
            of_rows = step.level == ROW and step.reduction is None or self._reduces_rows(step)
            found = -1 if of_rows else 0
            for operand in step.operands:
                if operand.__class__ is int:
                    after = self.loop.steps[operand].level == ROW and not of_rows
                    found = max(found, passes[operand] + (1 if after else 0))
            passes[step.slot] = found
        return passes

    def _reduces_rows(self, step: Step) -> bool:
        """Whether a reduction is of values that are one a row."""
        if step.reduction is None or step.level != TOTAL:
            return False
        (operand,) = step.operands
        return operand.__class__ is int and self.loop.steps[operand].level == ROW

    # The body

    def _body(self) -> list[str]:
        space = self.space
        begin = [line for step in self.order if step.level == COLUMN for line in self._clear_columns(step)]
        totals = [step for step in self.order if step.level == TOTAL]
        begin += [f"t{self.names[s.slot][1:]} = {_identity(s, _wide(s))}" for s in totals]
        end = [f"q{self.names[s.slot][1:]}[0] = t{self.names[s.slot][1:]}" for s in totals]
        if space.is_flat:
            inner = self._pass(0, "lo", "hi")
            return [*begin, *inner, *end]
        rows = [*self._row_places(), *self.row_head]
        rows += self._row_steps(-1)
        for number in range(self.last_pass + 1):
            rows += self._pass(number, "0", "n")
            rows += self._row_steps(number)
        return [*begin, "for r in range(lo, hi):", *[f"    {line}" for line in rows], *end]

    def _row_places(self) -> list[str]:
        lengths = self.space.row_lengths
        if len(lengths) < 2:
            return []
        lines = ["rest = r"]
        for axis in range(len(lengths) - 1, 0, -1):
            lines += [f"r{axis} = rest % l{axis}", f"rest = rest // l{axis}"]
        return [*lines, "r0 = rest"]

    def _clear_columns(self, step: Step) -> list[str]:
        number = self.names[step.slot][1:]
        return ["for j in range(n):", f"    q{number}[j] = {_identity(step, _wide(step))}"]

    def _row_steps(self, number: int) -> list[str]:
        """Write the values a row that are there after a pass, and their reductions."""
        lines: list[str] = []
        for step in self.order:
            if self.passes[step.slot] != number:
                continue
            if step.level == ROW and step.node.primitive.__class__ is Interleaved:
                lines += self._interleaved(step, "r", [self._operand(operand, number, None, None)[0] for operand in step.operands])
                continue
            if step.level == ROW and step.reduction is None:
                lines.append(f"{self.names[step.slot]} = {self._value(step)}")
            elif self._reduces_rows(step):
                name = f"t{self.names[step.slot][1:]}"
                value = _entering(step, self.names[step.operands[0]], self._kind_of(step.operands[0]))
                lines.append(f"{name} = {_combine(step, name, value)}")
            if step.level == ROW and step.slot in self.stored:
                lines.append(f"{self.stored[step.slot]}[r] = {storable(self.names[step.slot], step.kind)}")
        return lines

    def _pass(self, number: int, first: str, last: str) -> list[str]:
        """Write one pass over the columns."""
        wanted = [s for s in self.order if self.passes[s.slot] == number and not (s.level == ROW and s.reduction is None)]
        wanted = [s for s in wanted if not self._reduces_rows(s)]
        if not wanted:
            return []
        lines: list[str] = []
        seen: set[Any] = set()  # slots of steps, and keys of inputs
        reduced = []
        for step in wanted:
            if step.node.primitive.__class__ is Interleaved:
                columns = [self._operand(operand, number, seen, lines)[0] for operand in step.operands]
                lines += self._interleaved(step, self._place(), columns)
            elif step.reduction is None:
                self._need(step.slot, number, seen, lines)
                if step.slot in self.stored:
                    lines.append(f"{self.stored[step.slot]}[{self._place()}] = {storable(self.names[step.slot], step.kind)}")
                elif step.slot in self.scratch:
                    lines.append(f"{self.scratch[step.slot]}[j] = {storable(self.names[step.slot], step.kind)}")
            else:
                reduced.append(step)
        sums = []
        for step in reduced:
            value = self._operand(step.operands[0], number, seen, lines)[0]
            if step.level == COLUMN:
                name = f"q{self.names[step.slot][1:]}"
                converted = _entering(step, value, self._kind_of(step.operands[0]))
                lines.append(f"{name}[j] = {_combine(step, f'{name}[j]', converted)}")
            else:
                sums.append(step)
                lines += self._gather(step, value)
        return self._blocks(sums, lines, first, last)

    def _interleaved(self, step: Step, row: str, columns: list[str]) -> list[str]:
        """Write how the columns of a row are put beside each other."""
        begin = f"{self.stored[step.slot]}[({row}) * {len(columns)}"
        return [f"{begin} + {place}] = {storable(column, step.kind)}" for place, column in enumerate(columns)]

    def _place(self) -> str:
        return "j" if self.space.is_flat else "r * n + j"

    def _gather(self, step: Step, value: str) -> list[str]:
        """Write how one element enters the block's reduction."""
        number = self.names[step.slot][1:]
        kind = self._kind_of(step.operands[0])
        if step.reduction == "sum":
            if kind in ("f4", "f8"):
                return [f"e{number} = add_in_any_order(e{number}, {value})"]
            return [f"e{number} += {cast(value, 'i8', kind)}"]
        if step.reduction == "prod":
            if kind in ("f4", "f8"):
                return [f"e{number} = multiply_in_any_order(e{number}, {value})"]
            return [f"e{number} *= {cast(value, 'i8', kind)}"]
        if step.reduction in ("any", "all"):
            sign = "|" if step.reduction == "any" else "&"
            return [f"e{number} = e{number} {sign} (1 if {value} else 0)"]
        if kind in ("f4", "f8"):
            smallest = step.reduction == "min"
            return [
                f"k = ordered_{kind}({value})",
                f"e{number} = k if k {'<' if smallest else '>'} e{number} else e{number}",
                f"w{number} = w{number} | (1 if {value} != {value} else 0)",
            ]
        sign = "<" if step.reduction == "min" else ">"
        value = cast(value, "u1", kind) if kind == "b1" else value
        return [f"e{number} = {value} if {value} {sign} e{number} else e{number}"]

    def _blocks(self, sums: list[Step], lines: list[str], first: str, last: str) -> list[str]:
        """Write the loop over the columns: in blocks where something is reduced."""
        if not sums:
            return [f"for j in range({first}, {last}):", *[f"    {line}" for line in lines]]
        begin, end = [], []
        written = [] if self.space.is_flat else [f"t{self.names[s.slot][1:]} = {_identity(s, _wide(s))}" for s in sums if s.level == ROW]
        for step in sums:
            number = self.names[step.slot][1:]
            kind = self._kind_of(step.operands[0])
            begin.append(f"e{number} = {_block_identity(step, kind)}")
            value = f"e{number}"
            if step.reduction in ("max", "min") and kind in ("f4", "f8"):
                begin.append(f"w{number} = i8(0)")
                value = f"where(w{number} != 0, {kind}(np.nan), unordered_{kind}(e{number}))"
            end.append(f"t{number} = {_combine(step, f't{number}', cast(value, _wide(step)))}")
        written += [f"start = {first}", f"while start < {last}:", f"    stop = least(start + {BLOCK}, {last})"]
        written += [f"    {line}" for line in begin]
        written += ["    for j in range(start, stop):", *[f"        {line}" for line in lines]]
        written += [*[f"    {line}" for line in end], f"    start += {BLOCK}"]
        for step in sums:
            if step.level == ROW:
                written.append(f"{self.names[step.slot]} = {cast(f't{self.names[step.slot][1:]}', step.kind)}")
        return written

    # Values

    def _need(self, slot: int, number: int, seen: set[Any], lines: list[str]) -> None:
        """Write a value of every column where it is not there yet in this pass."""
        if slot in seen:
            return
        step = self.loop.steps[slot]
        seen.add(slot)
        if self.passes[slot] < number:
            kept = self._kept(step)
            if kept is not None:
                lines.append(f"{self.names[slot]} = {kept}")
                return
        lines.append(f"{self.names[slot]} = {self._value(step, number, seen, lines)}")

    def _kept(self, step: Step) -> str | None:
        """Return the code that reads a value of an earlier pass, or None if it is computed again."""
        if step.slot in self.stored:
            return loaded(f"{self.stored[step.slot]}[r * n + j]", step.kind)
        if step.slot in self.scratch:
            return loaded(f"{self.scratch[step.slot]}[j]", step.kind)
        return None

    def _plan_scratch(self) -> None:
        """Give scratch memory to what a later pass needs and would take long to compute again."""
        for step in self.order:
            if step.level != FULL or step.reduction is not None or step.is_stored:
                continue
            later = [o for o in self.order if self.passes[o.slot] > self.passes[step.slot] and step.slot in o.operands]
            if later and not self._is_cheap(step, 3):
                number = self.names[step.slot][1:]
                size = SIZES[step.kind] * self.space.columns
                begin, size_word = self.word("scratch", size), self.word("word", size)
                self.head.append(f"h{number} = pointer_{stored_kind(step.kind)}({begin} + chunk * {size_word})")
                self.scratch[step.slot] = f"h{number}"

    def _is_cheap(self, step: Step, depth: int) -> bool:
        expression = expression_for(step.node)
        if depth == 0 or expression is None or "/" in expression or _calls(expression):
            return False
        for operand in step.operands:
            if operand.__class__ is int:
                made = self.loop.steps[operand]
                if made.level == FULL and not made.is_stored and made.slot not in self.scratch and not self._is_cheap(made, depth - 1):
                    return False
        return True

    def _value(self, step: Step, number: int = 0, seen: set[Any] | None = None, lines: list[str] | None = None) -> str:
        variables, kinds = [], []
        for operand in step.operands:
            variable, kind = self._operand(operand, number, seen, lines)
            variables.append(variable)
            kinds.append(kind)
        expression = expression_for(step.node)
        assert expression is not None
        return render(step.node, expression, variables, kinds)

    def _operand(self, operand: Any, number: int, seen: set[Any] | None, lines: list[str] | None) -> tuple[str, str]:
        if operand.__class__ is Number:
            return self.numbers[operand.slot], "f8" if operand.is_float else "i8"
        if operand.__class__ is Input:
            row_strides, column = self.space.strides(operand.strides)
            key = (operand.slot, tuple(row_strides), column, operand.offset)
            name, load = self.inputs[key]
            if load is not None and seen is not None and lines is not None and key not in seen:
                seen.add(key)
                lines.append(load)
            return name, operand.kind
        made = self.loop.steps[operand]
        if made.level == FULL and seen is not None and lines is not None:
            self._need(operand, number, seen, lines)
        return self.names[operand], made.kind

    def _kind_of(self, operand: Any) -> str:
        if operand.__class__ is Number:
            return "f8" if operand.is_float else "i8"
        return operand.kind if operand.__class__ is Input else self.loop.steps[operand].kind


def _imports(text: str) -> str:
    """Return the imports of the vector maths that a kernel's text calls."""
    lines = []
    for name, function in sorted(FUNCTIONS.items()):
        lines += [
            f"from tapegrad.execute.vector_maths.{function.module} import {name}_{kind}\n"
            for kind in ("f4", "f8")
            if f"{name}_{kind}(" in text
        ]
    return "".join(lines)


def _calls(expression: str) -> bool:
    """Whether an expression takes long: it calls vector maths."""
    return any([f"{name}(" in expression for name in FUNCTIONS])


def _wide(step: Step) -> str:
    """Return the kind in which the results of blocks, rows and chunks are combined."""
    if step.reduction in ("max", "min"):
        return step.kind if step.kind in ("f8", "i8") else ("f8" if step.kind == "f4" else "i8")
    return "f8" if step.kind in ("f4", "f8") else "i8"


def _identity(step: Step, kind: str) -> str:
    if step.reduction in ("sum", "prod"):
        return f"{kind}({int(step.reduction == 'prod')})"
    if step.reduction in ("any", "all"):
        return f"{kind}({int(step.reduction == 'all')})"
    sign = "-" if step.reduction == "max" else ""
    if kind == "f8":
        return f"{sign}np.inf"
    return "i8(-9223372036854775808)" if sign else "i8(9223372036854775807)"


def _block_identity(step: Step, kind: str) -> str:
    """Return what a block's reduction begins with."""
    if step.reduction in ("sum", "prod"):
        return f"{kind if kind in ('f4', 'f8') else 'i8'}({int(step.reduction == 'prod')})"
    if step.reduction in ("any", "all"):
        return f"i8({int(step.reduction == 'all')})"
    if kind in ("f4", "f8"):
        return f"ordered_{kind}({kind}({'-' if step.reduction == 'max' else ''}np.inf))"
    limits = {"i1": 7, "i2": 15, "i4": 31, "i8": 63}
    if kind in ("u1", "b1"):
        return "u1(0)" if step.reduction == "max" else "u1(255)"
    low = -(1 << limits[kind])
    return f"{kind}({low if step.reduction == 'max' else -low - 1})"


def _entering(step: Step, value: str, kind: str) -> str:
    """Return the code of an element as it is combined with others: of any and all, whether it is true."""
    if step.reduction in ("any", "all") and kind != "b1":
        return cast(f"({value} != 0)", _wide(step), "b1")
    return cast(value, _wide(step), kind)


def _combine(step: Step, a: str, b: str) -> str:
    if step.reduction in ("sum", "prod"):
        return f"{a} {'+' if step.reduction == 'sum' else '*'} {b}"
    if step.reduction in ("any", "all"):
        return f"{a} {'|' if step.reduction == 'any' else '&'} {b}"
    return f"{'larger' if step.reduction == 'max' else 'smaller'}({a}, {b})"


def combination(kind: str, wide: str, reduction: str) -> str:
    """Return the source of a kernel that combines the results of chunks: columns lo to hi of the table of partial results."""
    name = {"sum": "a + b", "prod": "a * b", "any": "a | b", "all": "a & b", "max": "larger(a, b)", "min": "smaller(a, b)"}[reduction]
    result = storable(cast("a", kind), kind)
    return f"""{HEAD}

def kernel(args, lo, hi):
    partial = pointer_{wide}(word(args))
    result = pointer_{stored_kind(kind)}(word(word(args + 8)))
    chunks = word(args + 16)
    n = word(args + 24)
    for j in range(lo, hi):
        a = partial[j]
        for chunk in range(1, chunks):
            b = partial[chunk * n + j]
            a = {name}
        result[j] = {result}
    return 0
"""
