"""Narrow values are taken apart: what their columns give is what the interpreter gives, whoever reads the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import tiering
from tapegrad.execute.loops import Interleaved, Loop, Special

from .comparing import calls, compiled, read

ROWS = 50


@pytest.fixture
def programs() -> Iterator[list[Any]]:
    tapegrad.manual_seed(0)
    with compiled() as programs:
        yield programs


def rows(columns: int, dtype: Any = None, requires_grad: bool = False) -> Any:
    return tapegrad.randn(ROWS, columns, dtype=dtype, requires_grad=requires_grad)


def is_taken_apart(program: Any) -> bool:
    """Whether all that a program does is in loops over rows alone."""
    stages = program.fusion.stages
    return bool(program.fusion.columns.of) and all([isinstance(s, Loop) and s.shape in ((ROWS,), ()) and s.split is None for s in stages])


COMPUTATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a value a row": lambda x, y, z: x * z + y,
    "sums of rows": lambda x, y, z: x / (x * y).sum(1, keepdim=True),
    "sums without the dimension": lambda x, y, z: (x * y).sum(-1) * 2,
    "largest of rows": lambda x, y, z: x - x.amax(1, keepdim=True) + y.amin(1, keepdim=True),
    "cross products": lambda x, y, z: tapegrad.linalg.cross(x, tapegrad.linalg.cross(x * z, y)),
    "slices": lambda x, y, z: (x * z)[:, :2] / (y + 3 * z)[:, 2:],
    "steps": lambda x, y, z: (x * z)[:, ::2] + (x * z)[:, -2:],
    "one column": lambda x, y, z: (x * z)[:, 1] * y[:, -1],
    "flip and roll": lambda x, y, z: (x * z).flip(1) + y.roll(1, 1) - (x * z).roll(-2, 1),
    "stack": lambda x, y, z: tapegrad.stack((x[:, 0] * 2, y[:, 1], z[:, 0]), 1) * x,
    "concatenation": lambda x, y, z: tapegrad.cat((x[:, :1] * y[:, :1], z), 1) * (x * z)[:, :2],
    "expand": lambda x, y, z: (z * 2).expand(ROWS, 3) * x,
    "everything": lambda x, y, z: ((x * z) ** 2).sum() + (x * z).sum(1).sum(),
    "columns' sums": lambda x, y, z: (x * z).sum(0) * 2,
    "whole and in part": lambda x, y, z: (x * z) @ tapegrad.ones(3, 2, dtype=x.dtype) + (x * z)[:, 1:],
    "a vector": lambda x, y, z: (x * z) * tapegrad.tensor([1.0, 2.0, 3.0], dtype=x.dtype),
    "softmax": lambda x, y, z: (x * z).softmax(1) * y - (x + z).log_softmax(1),
    "norms": lambda x, y, z: x / (x * z).norm(dim=1, keepdim=True) + (y - x).norm(p=1, dim=1)[:, None] * z,
    "logarithms of sums": lambda x, y, z: (x * z).logsumexp(1) * y[:, 0],
    "truth": lambda x, y, z: tapegrad.where((x > z) & (y * z < x), x, z),
    "integers": lambda x, y, z: ((x * z * 10).int() // 3).sum(1) + (x > z).sum(1),
    "a product with a row in memory": lambda x, y, z: x.T.contiguous().T * z,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_values_and_gradients(name: str, dtype: str, programs: list[Any]) -> None:
    x, y, z = [rows(columns, getattr(tapegrad, dtype), True) for columns in (3, 3, 1)]
    result = COMPUTATIONS[name](x, y, z)
    if result.requires_grad:
        (result * 2).sum().backward()
        read(*[given.grad for given in (x, y, z) if given.grad is not None])
    read(result.detach())
    assert any([program.fusion.columns.of or program.fusion.columns.read for program in programs])


def test_what_is_taken_apart_is_in_loops_over_rows(programs: list[Any]) -> None:
    x, y, z = rows(3, requires_grad=True), rows(3), rows(1)
    loss = (tapegrad.linalg.cross(x[:, :3], y) / (x * y).sum(1, keepdim=True) + z).flip(1)[:, :2].sum()
    loss.backward()
    read(x.grad, loss.detach())
    assert is_taken_apart(programs[-1])


def test_columns_are_put_together_of_values_a_row(programs: list[Any]) -> None:
    wide = tapegrad.randn(ROWS, 20).sum(1, keepdim=True)
    read((wide * rows(3) + wide) @ tapegrad.ones(3, 2))
    read(tapegrad.cat((wide * 2, wide * 3), 1) @ tapegrad.ones(2, 2))
    assert all([program.fusion.columns.of and not calls(program) for program in programs])


def test_nothing_is_taken_apart_without_a_reason(programs: list[Any]) -> None:
    x = rows(3)
    read(x * 2 + x.exp())
    read((tapegrad.randn(ROWS, 20) * 2).sum(1))
    read((tapegrad.randn(5, 3) * tapegrad.randn(5, 1)).sum(1))
    assert not any([program.fusion.columns.of for program in programs])


def test_a_value_is_put_together_once(programs: list[Any]) -> None:
    x, z = rows(3), rows(1)
    y = x * z
    read(y @ tapegrad.ones(3, 4), y @ tapegrad.ones(3, 5), y)
    steps = [step for stage in programs[-1].fusion.stages if isinstance(stage, Loop) for step in stage.steps.values()]
    assert len([step for step in steps if isinstance(step.node.primitive, Interleaved)]) == 1
    assert not calls(programs[-1])


def test_columns_of_layouts(programs: list[Any]) -> None:
    z = rows(1)
    wide = tapegrad.randn(ROWS, 40)
    for x in (wide[:, 5:8], wide[:, ::15], tapegrad.randn(3, ROWS).T, tapegrad.randn(1, 3).expand(ROWS, 3), wide[:, 3:6].flip(1)):
        read(x * z)
        read((x * z).sum(1))
    for x in (tapegrad.randn(ROWS, 2, 3), tapegrad.randn(2, ROWS, 3).transpose(0, 1)):
        read(x * tapegrad.randn(ROWS, 1, 1), (x / x.sum(2, keepdim=True))[..., 1:])


def test_zeros_have_the_sign_that_the_interpreter_gives_them(programs: list[Any]) -> None:
    def gradient() -> Any:
        x = tapegrad.zeros(ROWS, 3, requires_grad=True)
        y = x * -tapegrad.ones(ROWS, 1)
        ((y[:, :2] * 0.0).sum() + (y[:, 1:] * -0.0).sum()).backward()
        return np.signbit(x.grad.numpy())

    found = gradient()
    assert programs[-1].fusion.columns.of
    tapegrad.set_mode("interpret")
    np.testing.assert_array_equal(found, gradient())


def test_another_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first program has the number in it; the next takes any."""
    monkeypatch.setattr(tiering, "threshold", 0.0)
    made = []
    compile_plan = tiering.compile_plan

    def compile_and_note(plan: Any, *arguments: Any) -> Any:
        made.append(compile_plan(plan, *arguments))
        return made[-1]

    monkeypatch.setattr(tiering, "compile_plan", compile_and_note)
    before = tapegrad.get_mode()
    tapegrad.set_mode("jit")
    try:
        x, z = rows(3), rows(1)
        expected = x.numpy() * z.numpy()
        for start in (0, 1, 0, 2, -3, -1, 1):
            np.testing.assert_allclose((x * z)[:, start].numpy(), expected[:, start])
    finally:
        tapegrad.set_mode(before)
    assert len(made) == 2
    assert made[0].fusion.columns.known and not made[1].fusion.columns.known
    assert not any([calls(program) for program in made])
    assert any([isinstance(stage, Special) for stage in made[1].fusion.stages])
