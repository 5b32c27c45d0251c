"""A captured call as one straight-line Python function: what `Captured.fits` and `replay` do, in the usual state of things.

It is written when the plan has a program. Arguments that differ, an in-place check that is on, a tensor on an open segment or
with views: wherever anything is not as usual, it does nothing and returns OTHERWISE, and the general way is taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .structures import NUMBERS, Leaf
from .tape import checks
from .tape.capture import ARGUMENT, GRADIENT, HELD, Captured
from .tape.modes import mode
from .tape.record import new_tensor
from .tape.segment import Segment, state
from .tape.trace import SEALED, touch

OTHERWISE: Any = object()
CHECK = "TAPEGRAD_CHECK_COMPILED"
# The dictionary in `os.environ`: the latter takes a microsecond to say that a variable is not set.
_variables: Any = getattr(os.environ, "_data", os.environ)
_check: Any = CHECK if _variables is os.environ else os.environ.encodekey(CHECK)

Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def write_call(captured: Captured, structure: Any, form: Any, modes: tuple[Any, ...]) -> Call | None:
    """Return the function of a call's arguments and options that repeats the captured call; None where there is no way to.

    `structure` is that of arguments and options, `form` that of the results, and `modes` are the grad mode, the inference mode
    and the default dtype of the call.
    """
    compiled = captured.plan.compiled
    if compiled is None or not compiled.programs:
        return None
    writer = _Writer(captured, compiled.programs)
    return writer.write(structure, form, modes) if writer.is_usual() else None


class _Writer:
    """Writes the function: first what may say otherwise, then the run, then calls, and at last what no interrupt can divide."""

    def __init__(self, captured: Captured, programs: list[Any]) -> None:
        self.captured = captured
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "OTHERWISE": OTHERWISE,
            "state": state,
            "mode": mode,
            "checks": checks,
            "default_dtype": dtypes.get_default_dtype,
            "variables": _variables,
            "programs": programs,
            "numbers": captured.values,
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "new_tensor": new_tensor,
            "Segment": Segment,
            "SEALED": SEALED,
            "touch": touch,
        }
        self.held: dict[int, str] = {}  # of a tensor's identity: its variable
        self.conditions: list[str] = []  # of which none may be true

    def is_usual(self) -> bool:
        """Whether this can be written: what is read are arrays, and what is written to is among that."""
        captured = self.captured
        read = [where if where.__class__ is int else id(where) for _, what, where, _ in captured.sources if what != GRADIENT]
        if any([(where if where.__class__ is int else id(where)) not in read for where, _ in captured.written]):
            return False
        return not any([type_.is_number and what != ARGUMENT for _, what, _, type_ in captured.sources])

    def name(self, value: Any) -> str:
        """Return a name for a value."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def tensor(self, where: Any) -> str:
        """Return the variable of an argument, or of a tensor that the function holds."""
        if where.__class__ is int:
            return f"a{where}"
        if id(where) not in self.held:
            self.held[id(where)] = self.name(where)
        return self.held[id(where)]

    def write(self, structure: Any, form: Any, modes: tuple[Any, ...]) -> Call:
        """Return the function."""
        grad_enabled, inference, default_dtype = modes
        self.conditions = [
            f"state.grad_enabled is not {grad_enabled}",
            f"state.inference is not {inference}",
            f"default_dtype() is not {self.name(default_dtype)}",
            "state.capture is not None",
            "mode.eager",
            "not mode.compiles",
            "checks.inplace_checks",
            f"{self.name(_check)} in variables",
        ]
        self._end_conditions()
        arguments, options = structure[1:]
        self._take(arguments, "arguments")
        self._take(options, "options")
        environment = self._read()
        self._end_conditions()
        self._run(environment)
        self._commit()
        self.lines.append(f"return {self._expression(form)}")
        source = "def call(arguments, options):\n" + "".join([f"    {line}\n" for line in self.lines])
        exec(compile(source, "<captured call>", "exec"), self.names)  # noqa: S102 - written here, of places, slots and names alone
        call: Call = self.names.pop("call")
        return call

    def _end_conditions(self) -> None:
        """Write that the call is done otherwise where a condition holds."""
        if self.conditions:
            self.lines.append(f"if {' or '.join(self.conditions)}: return OTHERWISE")
        self.conditions = []

    # Arguments

    def _take(self, structure: Any, code: str) -> None:
        """Write that a value has this structure, and its leaves to variables."""
        if structure.__class__ is Leaf:
            self._take_leaf(structure, code)
            return
        kind, *parts = structure
        self.conditions.append(f"{code}.__class__ is not {'dict' if kind is dict else self.name(kind or parts[0].__class__)}")
        if kind is None:
            self.conditions.append(f"{code} != {self.name(parts[0])}")
            return
        self.conditions.append(f"len({code}) != {len(parts)}")
        if kind is dict:
            keys = [key for key, _ in parts]
            if keys:
                self.conditions.append(f"[*{code}] != {self.name(keys)}")
            parts = [part for _, part in parts]
            codes = [f"{code}[{self.name(key)}]" for key in keys]
        else:
            codes = [f"{code}[{place}]" for place in range(len(parts))]
        for part, code_of_part in zip(parts, codes, strict=True):
            self._take(part, code_of_part)

    def _take_leaf(self, leaf: Leaf, code: str) -> None:
        variable = f"a{leaf.place}"
        if variable in self.names:  # taken before: it is the same tensor again
            self.conditions.append(f"{variable} is not {code}")
            return
        self._end_conditions()
        self.lines.append(f"{variable} = {code}")
        if leaf.kind in NUMBERS:
            self.conditions.append(f"{variable}.__class__ is not {leaf.kind.__name__}")
        else:
            type_, has_no_home, kind = leaf.kind
            self.conditions.append(f"{variable}.__class__ is not {self.name(kind)}")
            self.conditions.append(f"{variable}._node is not {self.name(type_)}")
            self.conditions.append(f"{variable}._home is {'not ' if has_no_home else ''}None")
            others = [other for other in self.names if other[0] == "a" and other[1:].isdecimal() and self.names[other] is type_]
            self.conditions += [f"{variable} is {other}" for other in others]
            if leaf.place not in self.captured.confirmed:
                self.conditions.append(f"id({variable}) != {self.captured.identities[leaf.place]}")
        self.names[variable] = leaf.kind if leaf.kind in NUMBERS else leaf.kind[0]

    # Values

    def _read(self) -> dict[int, str]:
        """Write what has to hold of the tensors that are read; return the code of their arrays by slot."""
        captured = self.captured
        environment: dict[int, str] = {}
        for slot, what, where, type_ in captured.sources:
            variable = self.tensor(where)
            if what == GRADIENT:
                self._end_conditions()
                self.lines.append(f"g{slot} = {variable}._grad")
                self.conditions.append(f"g{slot} is None")
                variable = f"g{slot}"
            elif type_.is_number:
                environment[slot] = variable
                continue
            if what != ARGUMENT:
                self.conditions.append(f"{variable}._node is not {self.name(type_)}")
                if type_.requires_grad:
                    self.conditions.append(f"{variable}._home is not None")
            alias = "" if type_.requires_grad else f" and {variable}._alias_of._is_shared"
            self.conditions += [f"{variable}._is_stale", f"{variable}._is_shared", f"{variable}._alias_of is not None{alias}"]
            if what == HELD:
                arguments = [f"a{place}" for place in range(len(captured.identities)) if self.names.get(f"a{place}") is type_]
                self.conditions += [f"{variable} is {argument}" for argument in arguments]
            environment[slot] = f"{variable}._array"
        for leaf, has, type_ in captured.needs:
            gradient = f"{self.tensor(leaf)}._grad"
            self.conditions.append(f"{gradient} is {'' if has else 'not '}None")
            if has:
                self.conditions.append(f"{gradient}._node is not {self.name(type_)}")
        written = [self.tensor(where) for where, _ in captured.written]
        written += [f"{self.tensor(leaf)}._grad" for leaf, _, is_written in captured.gradients if is_written]
        for variable in written:
            self.conditions.append(f"{variable}._views")
            self.conditions += [f"{variable}._is_shared", f"{variable}._alias_of is not None"]
        return environment

    def _run(self, environment: dict[int, str]) -> None:
        """Write the run of the program; what cannot be run is left to the general way, since nothing has been changed."""
        numbers = "numbers"
        if any([type_.is_number for _, _, _, type_ in self.captured.sources]):
            numbers = "None"
            self.lines.append("values = [*numbers]")
            self.lines += [f"values[{slot}] = {code}" for slot, code in environment.items()]
        else:
            constants = [slot for slot in self._slots_read() if slot not in environment and self.captured.values[slot] is not None]
            environment = {**environment, **{slot: self.name(self.captured.values[slot]) for slot in constants}}
            self.lines.append(f"values = {{{', '.join([f'{slot}: {code}' for slot, code in environment.items()])}}}")
        self.lines += ["try:", f"    programs[0](values, {numbers})", "except Exception:", "    return OTHERWISE"]

    def _slots_read(self) -> list[int]:
        """Return the slots whose values the program's function reads, or a segment keeps."""
        function = self.names["programs"][0].source.partition("def program")[2]
        return sorted({*map(int, re.findall(r"values\[(\d+)\]", function)), *self.captured.plan.residuals})

    # Results

    def _commit(self) -> None:
        """Write how results come to be in their tensors."""
        captured, plan = self.captured, self.captured.plan
        self.results: dict[int, str] = {}  # of a slot: the tensor's variable
        calls, stores = [], []
        for slot in plan.live:
            calls.append(f"r{slot} = values[{slot}]")
            calls.append(f"if r{slot}.__class__ is not ndarray: r{slot} = asarray(r{slot})")
        if plan.with_history:
            calls.append("segment = Segment(SEALED)")
            stores += self._history()
        for where, node in captured.written:
            stores += self._written(self.tensor(where), node)
        for leaf, node, is_written in captured.gradients:
            owner = self.tensor(leaf)
            if is_written:
                variable = self.results[node.slot] = f"t{node.slot}"
                calls.append(f"{variable} = {owner}._grad")
                stores += self._written(variable, node)
            else:
                self._make(node, calls, stores)
                stores.append(f"{owner}._grad = t{node.slot}")
        for _, node in captured.outputs:
            if node.slot not in self.results:
                self._make(node, calls, stores)
        self.lines += [*calls, *stores, f"touch({self.name(captured.trace)})"]

    def _history(self) -> list[str]:
        """Return what the segment keeps of the call for the reverse sweep, as `materialise` has it."""
        captured, plan = self.captured, self.captured.plan
        tensors = {slot: self.tensor(where) for slot, what, where, _ in captured.sources if what != GRADIENT and slot in captured.origins}
        origins = [f"{slot}: {tensors[slot]}" for slot in plan.origins if slot in tensors]
        leaves = [f"{slot}: {self.tensor(captured.leaves[slot])}" for slot in plan.origins if slot in captured.leaves]
        residuals = [f"{slot}: values[{slot}]" for slot in plan.residuals]
        lines = [f"segment.trace = {self.name(captured.trace)}", f"segment.released = {self.name(captured.released)}"]
        for what, parts in (("origins", origins), ("leaves", leaves), ("residuals", residuals)):
            lines += [f"segment.{what} = {{{', '.join(parts)}}}"] if parts else []
        return [*lines, f"segment.composed = {self.name(captured.composed)}"] if captured.composed else lines

    def _make(self, node: Any, calls: list[str], stores: list[str]) -> None:
        variable = self.results[node.slot] = f"t{node.slot}"
        calls.append(f"{variable} = new_tensor()")
        stores += [f"{variable}._segment = None", *self._valued(variable, node)]

    def _written(self, variable: str, node: Any) -> list[str]:
        home = [] if node.slot in self.captured.plan.with_history else [f"{variable}._home = None"]
        version = [f"if {variable}._own_version is None: {variable}._version_count += 1", f"else: {variable}._own_version[0] += 1"]
        return [*self._valued(variable, node), *home, *version]

    def _valued(self, variable: str, node: Any) -> list[str]:
        lines = [f"{variable}._array = r{node.slot}", f"{variable}._node = {self.name(node.type)}"]
        if node.slot in self.captured.plan.with_history:
            lines += [f"{variable}._home = segment", f"{variable}._home_slot = {node.slot}"]
        return lines

    def _expression(self, form: Any) -> str:
        """Return the code of the results."""
        if form.__class__ is Leaf:
            slots = [node.slot for place, node in self.captured.outputs if place == form.place]
            if slots:
                return self.results[slots[0]]
            return self.tensor(next(where for place, where in self.captured.passed if place == form.place))
        kind, *parts = form
        if kind is None:
            return self.name(parts[0])
        if kind is dict:
            return f"{{{', '.join([f'{self.name(key)}: {self._expression(part)}' for key, part in parts])}}}"
        codes = "".join([f"{self._expression(part)}, " for part in parts])
        return f"[{codes}]" if kind is list else f"({codes})"
