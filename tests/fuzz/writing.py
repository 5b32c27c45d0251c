"""Writing random programs: what the statements are chosen and made with.

A program is written while it runs, in eager mode, so that statements mostly fit the shapes and dtypes that are there.
That run only guides: it counts for nothing in a comparison.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapegrad

from .comparing import mode
from .running import execute, is_leaf, namespace

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3), (3, 1), (1, 3), (3, 3), (2, 1, 3), (2, 3, 2), (0,), (0, 3), (2, 0))
LEAVES = tuple(f"w{number}" for number in range(4))
TENSORS = tuple(f"x{number}" for number in range(12))
ARRAYS = tuple(f"a{number}" for number in range(3))
NUMBERS = ("c(0.37)", "c(-0.61)", "c(1.13)", "0.5", "2", "-1", "1", "3", "True")
_LARGE, _LARGE_GRADIENT = 2.5, 50.0
# PyTorch's keep an operand for its shape alone, or where a product or formula is composed of other operations here.
KEEPING_OTHERS = ("masked_select", "gather", "scatter", "cummax", "cummin", ".var(", ".std(", "gelu", " @ ", "compiled(")

Production = Callable[["Writer"], str | None]


class Writer:
    """Writes one program, statement by statement.

    With `singles`, some tensors are float32; with `graphs`, there are gradients of gradients, and no empty tensors;
    without `outside`, no NumPy array shares a tensor's memory; with `checked`, no operation keeps values that PyTorch's
    does not, or the other way round.
    """

    def __init__(
        self, chance: random.Random, singles: bool = False, graphs: bool = True, outside: bool = True, checked: bool = False
    ) -> None:
        self.chance = chance
        self.singles = singles
        self.graphs = graphs
        self.outside = outside
        self.checked = checked
        self.program: list[str] = []
        self.names = namespace(tapegrad)
        self.recent: list[str] = []

    def emit(self, statement: str) -> None:
        """Append a statement, and run it."""
        self.program.append(statement)
        execute(statement, self.names)

    # Choices

    def pick(self, choices: Sequence[Any]) -> Any:
        """Return one of them."""
        return choices[self.chance.randrange(len(choices))]

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return self.chance.randrange(low, high + 1)

    def happens(self, one_in: int) -> bool:
        """Return True once in so many times."""
        return self.chance.randrange(one_in) == 0

    def number(self) -> str:
        """Return a Python number."""
        return str(self.pick(NUMBERS))

    def seed(self) -> int:
        """Return a number that data is made of."""
        return self.integer(0, 99)

    def shape(self) -> tuple[int, ...]:
        """Return a shape, rarely an empty one."""
        found: tuple[int, ...] = self.pick(SHAPES if not self.graphs and self.happens(4) else SHAPES[:9])
        return found

    def keeping(self) -> str:
        """Return whether the graph is released or kept after a sweep, or one of its gradients created."""
        return str(self.pick(("create_graph=True" if self.graphs else "", "", "retain_graph=True", "retain_graph=True")))

    # What is there

    def tensors(self, fits: Callable[[Any], bool] = lambda tensor: True) -> list[str]:
        """Return the names of the tensors that fit."""
        names = [*LEAVES, *TENSORS]
        return [name for name in names if self.is_tensor(name) and fits(self.names[name])]

    def is_tensor(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return isinstance(self.names.get(name), tapegrad.Tensor)

    def tensor(self, fits: Callable[[Any], bool] = lambda tensor: True) -> str | None:
        """Return the name of a tensor that fits, more often a recent one; None if there is none."""
        names = self.tensors(fits)
        if not names:
            return None
        recent = [name for name in self.recent[-4:] if name in names]
        return str(self.pick(recent if recent and self.happens(2) else names))

    def floating(self) -> str | None:
        """Return the name of a floating point tensor."""
        return self.tensor(is_floating)

    def leaf(self) -> str | None:
        """Return the name of a leaf that requires grad."""
        return self.tensor(is_free)

    def differentiable(self) -> str | None:
        """Return the name of a tensor that requires grad."""
        return self.tensor(lambda tensor: tensor.requires_grad)

    def of(self, name: str) -> Any:
        """Return the tensor of this name."""
        return self.names[name]

    def fitting(self, name: str) -> str:
        """Return an operand to go with a tensor: one that broadcasts with it, a number, rarely any tensor."""
        shape = tuple(self.of(name).shape)
        if self.happens(5):
            return self.number()
        other = self.tensor() if self.happens(20) else self.tensor(lambda tensor: broadcasts(shape, tuple(tensor.shape)))
        return other or self.number()

    def filling(self, name: str, shape: tuple[int, ...]) -> str:
        """Return a value to write to a place of this shape in a tensor: a tensor that can be expanded to it, or a number."""
        if self.happens(3):
            return self.number()
        apart = self.apart(name)
        fits = self.happens(20)
        other = self.tensor(lambda tensor: apart(tensor) and (fits or expands(tuple(tensor.shape), shape)))
        return other or self.number()

    def like(self, name: str) -> str:
        """Return a floating point tensor that broadcasts to the shape of a tensor."""
        shape, apart = tuple(self.of(name).shape), self.apart(name)
        return self.tensor(lambda tensor: apart(tensor) and is_floating(tensor) and expands(tuple(tensor.shape), shape)) or name

    def apart(self, name: str) -> Callable[[Any], bool]:
        """Return whether a tensor may be written to this one: what PyTorch does with others depends on their layout."""
        written = self.of(name)
        same = self.happens(4) and written.is_contiguous()
        root, shared = written._root(), written._root()._is_shared
        return lambda tensor: (
            (tensor._root() is not root and not (shared and tensor._root()._is_shared))
            or (same and tensor._root() is root and tensor.is_contiguous() and tensor is not written)
        )

    def has_views(self, tensor: Any) -> bool:
        """Whether there are views of a tensor."""
        return any(self.of(name)._base is tensor for name in self.tensors())

    # Names to assign to

    def target(self) -> str:
        """Return a name for a new tensor; what it named before loses a reference."""
        name = str(self.pick(TENSORS))
        self.recent.append(name)
        return name


def is_floating(tensor: Any) -> bool:
    """Whether a tensor is of floating point."""
    return bool(tensor.dtype.is_floating_point)


def is_free(tensor: Any) -> bool:
    """Whether a tensor is a leaf that requires grad."""
    return bool(tensor.requires_grad and is_leaf(tensor) is True)


def broadcasts(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast."""
    try:
        np.broadcast_shapes(first, second)
    except ValueError:
        return False
    return True


def expands(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape can be expanded to another."""
    return broadcasts(shape, wanted) and np.broadcast_shapes(shape, wanted) == wanted


def keeps_other_values(statement: str) -> bool:
    """Whether an operation saves other values for its gradient than PyTorch's, so that other changes are refused."""
    return any([name in statement for name in KEEPING_OTHERS])


def write_program(chance: random.Random, length: int, productions: Sequence[tuple[int, Production]], **options: bool) -> list[str]:
    """Return a program of about so many statements.

    `productions` are the statements to choose from, each with its weight.
    """
    writer = Writer(chance, **options)
    weighted = [production for weight, production in productions for _ in range(weight)]
    with mode("eager"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not writer.singles:
                writer.emit("t.set_default_dtype(t.float64)")
            for name in LEAVES:
                grad = writer.integer(0, 3) > 0
                dtype = "float32" if writer.singles and writer.happens(3) else "float64"
                writer.emit(f"{name} = t.tensor(values({writer.seed()}, {writer.shape()}), dtype=t.{dtype}, requires_grad={grad})")
            while len(writer.program) < length:
                statement = writer.pick(weighted)(writer)
                if statement is not None and not (writer.checked and keeps_other_values(statement)):
                    writer.emit(statement)
                    _calm(writer)
        finally:
            tapegrad.set_grad_enabled(True)
            tapegrad.set_default_dtype(tapegrad.float32)
    return writer.program


def _calm(writer: Writer) -> None:
    """Make large values smaller, so that rounding errors stay small."""
    for name in [*LEAVES, *TENSORS]:
        if not writer.is_tensor(name):
            continue
        tensor = writer.of(name)
        size = _size(tensor)
        if not np.isfinite(size) or (writer.graphs and tensor.numel() == 0):
            writer.emit(f"del {name}")
            continue
        if size > (_LARGE if is_floating(tensor) else 9):
            writer.emit(f"{name} = {name}.tanh()" if is_floating(tensor) else f"{name} = {name} % 5")
        if tensor.grad is not None and _size(tensor.grad) > _LARGE_GRADIENT:
            writer.emit(f"{name}.grad = None")


def _size(tensor: Any) -> float:
    """Return the largest absolute value, infinity for NaN."""
    try:
        array = np.array(tensor.tolist())
    except Exception:  # a bug that the comparison will meet
        return np.inf
    if array.size == 0 or array.dtype == bool:
        return 0.0
    largest = float(np.abs(array).max())
    return largest if np.isfinite(largest) else np.inf
