"""The operands that a row of the primitive table is tested on.

The row's samples are the seed. Each becomes several cases: in another dtype, laid out differently in memory, and, where
any shape will do, with other shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tapegrad
from tapegrad.dtypes import array_type
from tapegrad.primitives import batching
from tapegrad.primitives.declare import Primitive
from tapegrad.primitives.movement import expand, permute, slice_axis

LAYOUTS = ("transposed", "strided", "expanded")
NARROWER = {"float64": "float32", "complex128": "complex64"}
OTHER_DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16")
TOLERANCES = {
    "float64": 1e-10,
    "complex128": 1e-10,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float16": 2**-9,
    "bfloat16": 2**-6,
    "int64": 1e-5,  # a result of the default dtype, float32
    "int32": 1e-5,
    "uint8": 1e-5,
    "bool": 1e-5,
}


@dataclass(frozen=True)
class Case:
    """One primitive, operands and static parameters.

    `changed` says what about the operands was not written by the row's author. `alone` is the place of the only operand
    that requires grad, if not all do.
    """

    primitive: Primitive
    operands: tuple[Any, ...]
    parameters: dict[str, Any]
    sample: int
    layout: str = "contiguous"
    changed: str = ""
    alone: int | None = None

    def __str__(self) -> str:
        operands = [f"{o.dtype}{list(o.shape)}" if is_array(o) else repr(o) for o in self.operands]
        parameters = [f"{key}={value!r}" for key, value in self.parameters.items()]
        notes = [
            f"sample {self.sample}",
            self.changed,
            "" if self.layout == "contiguous" else self.layout,
            "" if self.alone is None else f"only operand {self.alone} requires grad",
        ]
        return f"{self.primitive.name}({', '.join(operands + parameters)}) [{', '.join(filter(None, notes))}]"

    @property
    def arrays(self) -> list[Any]:
        return [operand for operand in self.operands if is_array(operand)]

    @property
    def tolerance(self) -> float:
        """How far results may be off, relatively: less than two units in the last place in half precision."""
        return max([TOLERANCES.get(array.dtype.name, 0.0) for array in self.arrays], default=1e-10)

    @property
    def least(self) -> float:
        """What the tolerance of a value is relative to, at least (see `assert_close`): 0 where nothing is summed."""
        return 0.0 if is_elementwise(self.primitive) else 1.0

    def with_arrays(self, arrays: Sequence[Any], changed: str = "") -> Case:
        """Return the case with other arrays in place of its own. NumPy's arithmetic on 0-d arrays gives no arrays."""
        remaining = map(np.asarray, arrays)
        operands = tuple([next(remaining) if is_array(operand) else operand for operand in self.operands])
        return replace(self, operands=operands, changed=", ".join(filter(None, [self.changed, changed])))

    @property
    def active(self) -> list[int]:
        """The places of the operands that require grad, where one asks for derivatives."""
        return [place for place, o in enumerate(self.operands) if is_inexact(o) and self.alone in (None, place)]

    def random(self) -> np.random.Generator:
        """Return a random generator that is the same for the same case."""
        return np.random.default_rng([self.sample, len(self.primitive.name)])


def is_array(operand: Any) -> bool:
    """Whether the operand becomes a tensor (and not a Python number)."""
    return isinstance(operand, np.ndarray)


def is_inexact(operand: Any) -> bool:
    """Whether the operand is an array that can have a derivative."""
    return is_array(operand) and operand.dtype.kind in "fc"


# From samples to cases


def sample_cases(primitive: Primitive) -> list[Case]:
    """Return the row's own samples, contiguous and in float64."""
    assert primitive.samples is not None, f"{primitive.name} has no samples"
    cases = []
    for number, sample in enumerate(primitive.samples()):
        operands = tuple([np.array(o, order="C") if isinstance(o, (np.ndarray, np.generic)) else o for o in sample.operands])
        cases.append(Case(primitive, operands, sample.parameters, number))
    return cases


def all_cases(primitive: Primitive) -> list[Case]:
    """Return the samples and everything made of them, in both precisions."""
    cases = []
    for sample in sample_cases(primitive):
        cases += [sample, *layouts(sample), *shapes(sample), *one_by_one(sample)]
    return cases + [narrow(case) for case in cases if any(map(is_inexact, case.operands))]


def narrow(case: Case) -> Case:
    """Return the case in single precision."""
    arrays = [array.astype(NARROWER[array.dtype.name]) if array.dtype.name in NARROWER else array for array in case.arrays]
    return case.with_arrays(arrays)


def is_emptied(case: Case) -> bool:
    """Whether the case has length 0 where its sample has some length."""
    return case.changed.endswith("made 0")


def one_by_one(case: Case) -> list[Case]:
    """Return the case with one operand after another the only one that requires grad."""
    return [replace(case, alone=place) for place in case.active] if len(case.active) > 1 else []


def layouts(case: Case) -> Iterator[Case]:
    """Yield the case with its arrays laid out differently in memory."""
    deepest = max((array.ndim for array in case.arrays if array.size), default=0)
    if deepest >= 2:
        yield replace(case, layout="transposed")
    if deepest >= 1:
        yield replace(case, layout="strided")
        if allows_any_values(case.primitive):
            arrays = [np.broadcast_to(array[:1], array.shape) if is_expandable(array) else array for array in case.arrays]
            yield replace(case.with_arrays(arrays), layout="expanded")


def shapes(case: Case) -> Iterator[Case]:
    """Yield the case with other shapes: of length 0 where it had some length; 0-d and broadcast for elementwise rows."""
    arrays = case.arrays
    for length in sorted({length for array in arrays for length in array.shape if length > 1}):
        emptied = [array[tuple([slice(0 if n == length else n) for n in array.shape])] for array in arrays]
        yield case.with_arrays(emptied, f"length {length} made 0")
    if not is_elementwise(case.primitive) or not all(array.size for array in arrays):
        return
    if any(array.ndim for array in arrays):
        yield case.with_arrays([array.reshape(-1)[0].reshape(()) for array in arrays], "made 0-d")
    if len(arrays) > 1:
        for index, array in enumerate(arrays):
            if array.ndim:
                yield case.with_arrays([*arrays[:index], array[:1], *arrays[index + 1 :]], f"operand {index} made length 1")
                yield case.with_arrays([*arrays[:index], array[0], *arrays[index + 1 :]], f"operand {index} lost an axis")


def is_elementwise(primitive: Primitive) -> bool:
    """Whether operands of any shapes that broadcast will do."""
    return primitive.casts is not None and primitive.batch is batching.elementwise


def allows_any_values(primitive: Primitive) -> bool:
    """Whether equal values are not special to it, as they are to a sort, nor equal rows, as they are to a solver."""
    return is_elementwise(primitive) or bool(primitive.linear_in)


def is_expandable(array: Any) -> bool:
    """Whether the expanded layout repeats this array's first row; indices stay as they are, for scatter's sake."""
    return is_inexact(array) and array.ndim > 0 and array.shape[0] > 1


def to_complex(case: Case) -> Case:
    """Return the case in complex128. A symmetric matrix becomes a Hermitian one."""
    random = case.random()
    arrays = []
    for array in case.arrays:
        if is_inexact(array):
            imaginary = random.uniform(-0.5, 0.5, array.shape)
            if array.ndim >= 2 and array.shape[-1] == array.shape[-2]:
                imaginary = imaginary - imaginary.swapaxes(-1, -2)
            array = array + 1j * imaginary
        arrays.append(array)
    return case.with_arrays(arrays, "made complex")


def to_dtype(case: Case, dtype: str) -> Case:
    """Return the case with operands of a dtype that the row's author did not write: integers, bool, half precision."""
    arrays = []
    for array in case.arrays:
        if is_inexact(array) and array.dtype.kind != "c":
            if dtype in ("bfloat16", "float16"):
                array = array.astype(array_type(getattr(tapegrad, dtype)))
            else:
                whole = np.trunc(2 * np.nan_to_num(array, posinf=0.0, neginf=0.0))
                array = (np.abs(whole) if dtype == "uint8" else whole).astype(dtype)
        arrays.append(array)
    return case.with_arrays(arrays, f"made {dtype}")


# From cases to tensors. Each is laid out as the case says by views of a contiguous tensor.


def pack(array: Any, layout: str) -> Any:
    """Return the contiguous array whose view is `array` in that layout."""
    if layout == "transposed":
        return np.array(array.T, order="C")
    if layout == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)
    if layout == "expanded" and is_expandable(array):
        return np.array(array[:1], order="C")
    return np.array(array, order="C")


def tapegrad_operands(case: Case, requires_grad: bool = False) -> list[Any]:
    """Return the operands as tensors of tapegrad, and numbers as they are."""

    def laid_out(array: Any) -> Any:
        tensor = tapegrad.tensor(pack(array, case.layout))
        if case.layout == "transposed":
            return permute(tensor, axes=tuple(reversed(range(array.ndim))))
        if case.layout == "strided" and array.ndim:
            return slice_axis(tensor, 0, axis=array.ndim - 1, length=array.shape[-1], step=2)
        if case.layout == "expanded" and is_expandable(array):
            return expand(tensor, shape=array.shape)
        return tensor

    return as_leaves(case, laid_out, requires_grad)


def torch_operands(torch: Any, case: Case, requires_grad: bool = False) -> list[Any]:
    """Return the operands as tensors of PyTorch, and numbers as they are."""

    def laid_out(array: Any) -> Any:
        tensor = to_torch(torch, pack(array, case.layout))
        if case.layout == "transposed":
            return tensor.permute(tuple(reversed(range(array.ndim))))
        if case.layout == "strided" and array.ndim:
            return tensor[..., ::2]
        if case.layout == "expanded" and is_expandable(array):
            return tensor.expand(array.shape)
        return tensor

    return as_leaves(case, laid_out, requires_grad)


def to_torch(torch: Any, array: Any) -> Any:
    """Return the array as a tensor of PyTorch, whose `from_numpy` does not know bfloat16."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype(np.float32)).bfloat16()
    return torch.from_numpy(array)


def as_leaves(case: Case, make: Callable[[Any], Any], requires_grad: bool) -> list[Any]:
    """Return the operands as tensors without a history, and numbers as they are."""
    operands = [make(operand).detach() if is_array(operand) else operand for operand in case.operands]
    for place in case.active if requires_grad else []:
        operands[place].requires_grad_()
    return operands
