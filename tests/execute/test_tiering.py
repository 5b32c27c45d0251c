"""When plans are compiled, for which layouts, and what happens when a program cannot run now."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.execute import tiering
from tapegrad.execute.loops import Call
from tapegrad.primitives import batching
from tapegrad.primitives.declare import TABLE, Primitive

Runs = list[tuple[Any, list[Any]]]


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    """Compile every plan at once; give for each run of a plan what it has compiled, and what it was run on."""
    found: Runs = []
    run = tiering.Compiled.run

    def noted(compiled: Any, plan: Any, environment: list[Any]) -> bool:
        given = list(environment)
        done = run(compiled, plan, environment)
        found.append((compiled, given if done else []))
        return done

    monkeypatch.setattr(tiering, "threshold", 0.0)
    monkeypatch.setattr(tiering.Compiled, "run", noted)
    before = tg.get_mode()
    tg.set_mode("jit")
    yield found
    tg.set_mode(before)


@pytest.fixture
def visited() -> Iterator[tuple[Primitive, list[Any]]]:
    """Return a primitive that Python runs: it doubles, and calls the functions in the list, each once."""
    visitors: list[Any] = []

    def run(a: Any) -> Any:
        if visitors:
            visitors.pop()()
        return a * 2

    primitive = Primitive(
        "visited", run, lambda a: (a.dtype, a.shape), derivatives=(lambda g, r: g * 2 + r * 0,), batch=batching.leading
    )
    yield primitive, visitors
    del TABLE["visited"]


def calls(program: Any) -> int:
    return sum([isinstance(stage, Call) for stage in program.fusion.stages])


def laid_out(array: Any) -> Any:
    """Return a tensor of contiguous type whose array lies otherwise, as NumPy's functions lay out some of their results."""
    tensor = tg.tensor(array.tolist(), dtype=tg.float64)
    tensor._array = array
    return tensor


def test_a_plan_has_a_program_for_each_layout(runs: Runs) -> None:
    grid = np.arange(12.0).reshape(3, 4)
    layouts = [grid, np.asfortranarray(grid), np.repeat(grid, 2, axis=1)[:, ::2], np.broadcast_to(np.array(3.0), (3, 4)), grid + 1]
    for _ in range(3):
        for array in layouts:
            assert (laid_out(array) * 2 + 1).tolist() == (array * 2 + 1).tolist()
    assert all([given for _, given in runs])
    (compiled,) = {id(compiled): compiled for compiled, _ in runs}.values()
    assert len(compiled.programs) == 4 and not any(map(calls, compiled.programs))


def test_layouts_beyond_the_most_are_interpreted(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "_MOST_LAYOUTS", 2)
    wide = np.arange(48.0).reshape(3, 16)
    for step in (1, 2, 3, 4, 1):
        array = wide[:, : 4 * step : step]
        assert (laid_out(array) - 3).tolist() == (array - 3).tolist()
    assert [bool(given) for _, given in runs] == [True, True, False, False, True]


def test_python_reads_arrays_that_are_not_aligned(runs: Runs) -> None:
    records = np.zeros(3, np.dtype({"names": ["x"], "formats": ["f8"], "offsets": [1], "itemsize": 16}))
    records["x"] = [1.0, 2.0, 3.0]
    x = tg.from_numpy(records["x"])
    assert ((x * 2).exp() + x).sum().item() == pytest.approx(sum([np.exp(2 * a) + a for a in (1.0, 2.0, 3.0)]))


def test_python_numbers_of_any_size(runs: Runs) -> None:
    x = tg.tensor([1.0, 2.0], dtype=tg.float64)
    for number in (2, (1 << 64) - 1, 3, True):
        assert (x * number).tolist() == [1.0 * number, 2.0 * number]
    assert (tg.tensor([1, 2]) + (1 << 63)).tolist() == [1 - (1 << 63), 2 - (1 << 63)]


def test_a_program_that_is_wanted_in_its_own_run(runs: Runs, visited: tuple[Primitive, list[Any]]) -> None:
    primitive, visitors = visited

    def compute(start: float) -> Any:
        x = tg.tensor([start, 2.0])
        return (primitive(x * 3) + x).tolist()

    assert compute(1.0) == [7.0, 14.0]
    within: list[Any] = []
    visitors.append(lambda: within.append(compute(2.0)))
    assert compute(1.0) == [7.0, 14.0] and within == [[14.0, 14.0]]
    assert compute(3.0) == [21.0, 14.0]
    assert [bool(given) for _, given in runs] == [True, False, True, True]


def test_an_interrupted_program_runs_again(runs: Runs, visited: tuple[Primitive, list[Any]]) -> None:
    primitive, visitors = visited

    def interrupt() -> None:
        raise KeyboardInterrupt

    x = tg.tensor([1.0, 2.0])
    assert (primitive(x) * 2).tolist() == [4.0, 8.0]
    y = primitive(x + 1 - 1) * 2
    visitors.append(interrupt)
    with pytest.raises(KeyboardInterrupt):
        y.tolist()
    assert y.tolist() == [4.0, 8.0]
    assert (primitive(x) * 2).tolist() == [4.0, 8.0]
    assert all([given for _, given in runs])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_runs_a_program_that_another_thread_is_in(visited: tuple[Primitive, list[Any]]) -> None:
    primitive, visitors = visited
    inside, done = threading.Event(), threading.Event()

    def compute() -> Any:
        return (primitive(tg.tensor([1.0, 2.0]) * 3) + 1).tolist()

    def wait() -> None:
        inside.set()
        done.wait(60)

    assert compute() == [7.0, 13.0]
    visitors.append(wait)
    other = threading.Thread(target=compute)
    other.start()
    inside.wait(60)
    child = os.fork()
    if not child:
        code = 1
        try:
            threading.Timer(30, os._exit, [2]).start()
            code = int(compute() != [7.0, 13.0])
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    done.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_take_turns_in_a_program(runs: Runs) -> None:
    def compute(start: int, found: list[Any]) -> None:
        for step in range(50):
            x = tg.full((100,), float(start * 50 + step), dtype=tg.float64)
            found.append(((x * 2 + 1).sum() / 100).item())

    found: list[list[float]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=compute, args=(start, part)) for start, part in enumerate(found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [value for part in found for value in part] == [number * 2.0 + 1 for number in range(200)]


def test_a_plan_that_raised_is_compiled_later(runs: Runs) -> None:
    x, positions = tg.arange(5.0), [tg.tensor([7]), tg.tensor([3])]
    with pytest.raises(IndexError, match="out of bounds"):
        (x[positions[0] + 1 - 1] * 2).tolist()
    for _ in range(2):
        assert (x[positions[1] + 1 - 1] * 2).tolist() == [6.0]
    assert [bool(given) for _, given in runs][-3:] == [False, True, True]


def test_a_plan_whose_layouts_change_all_the_time_is_interpreted(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "_MOST_LAYOUTS", 2)
    monkeypatch.setattr(tiering, "_MOST_MISSES", 5)
    for step in range(1, 13):
        array = np.arange(48.0).reshape(3, 16)[:, : 1 * step + 1 : step]
        assert (laid_out(array) - 3).tolist() == (array - 3).tolist()
    (compiled,) = {id(compiled): compiled for compiled, _ in runs}.values()
    assert compiled.is_hopeless and not compiled.programs
