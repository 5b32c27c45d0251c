"""The memory of programs: it is bounded in total, is given back by what has not run for longest, and dies with the trace."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Iterator

import pytest

import tapegrad
from tapegrad.execute import arenas, tiering
from tapegrad.execute.arenas import Arenas
from tapegrad.execute.memory import Room
from tapegrad.tape import trace


class Program:
    """As much of a program as arenas know."""

    def __init__(self, size: int) -> None:
        self.lock = threading.Lock()
        self.was_used = False
        self.arena_size = size
        self.has_arena = True

    def release(self) -> bool:
        if self.lock.locked():
            return False
        self.has_arena = False
        return True


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(arenas, "LIMIT", 100)
    return 100


def admit(to: Arenas, *sizes: int) -> list[Program]:
    programs = [Program(size) for size in sizes]
    for program in programs:
        to.admit(program)
    return programs


def test_what_got_its_arena_first_gives_it_back_first(limit: int) -> None:
    all_of_them = Arenas()
    programs = admit(all_of_them, 40, 40, 40)
    assert [program.has_arena for program in programs] == [False, True, True]
    assert all_of_them.total() == 80


def test_what_was_used_gives_it_back_last(limit: int) -> None:
    all_of_them = Arenas()
    first, second = admit(all_of_them, 40, 40)
    first.was_used = True
    (third,) = admit(all_of_them, 40)
    assert first.has_arena and not second.has_arena
    (fourth,) = admit(all_of_them, 40)
    assert not first.has_arena  # it was not used since
    assert third.has_arena and fourth.has_arena


def test_a_running_program_keeps_its_arena(limit: int) -> None:
    all_of_them = Arenas()
    first, second = admit(all_of_them, 40, 40)
    with first.lock:
        (third,) = admit(all_of_them, 60)
    assert third.has_arena
    assert first.has_arena and not second.has_arena


def test_one_program_may_exceed_the_limit_alone(limit: int) -> None:
    all_of_them = Arenas()
    first, second = admit(all_of_them, 40, 400)
    assert not first.has_arena and second.has_arena


def test_programs_that_are_gone_do_not_count(limit: int) -> None:
    all_of_them = Arenas()
    first, second = admit(all_of_them, 50, 50)
    del first
    gc.collect()
    (third,) = admit(all_of_them, 50)
    assert second.has_arena and third.has_arena


def test_releasing_spares_what_runs_or_was_used_since_the_last_time() -> None:
    all_of_them = Arenas()
    used, running, unused = admit(all_of_them, 1, 1, 1)
    used.was_used = True
    with running.lock:
        all_of_them.release(are_all=False)
        assert (used.has_arena, running.has_arena, unused.has_arena) == (True, True, False)
        all_of_them.release(are_all=False)
        assert (used.has_arena, running.has_arena) == (False, True)
    used.was_used = running.was_used = True
    all_of_them.release(are_all=True)
    assert all_of_them.present() == [] and not running.has_arena


# Programs


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = tapegrad.get_mode()
    monkeypatch.setattr(tiering, "threshold", 0.0)
    tapegrad.set_mode("jit")
    trace._roots.clear()
    yield
    tapegrad.set_mode(before)


def work(length: int) -> list[float]:
    x = tapegrad.linspace(0, 1, length)
    y = tapegrad.softmax(x * 2, 0)
    return ((y - y.cumsum(0)) * x).flip(0).sum().reshape(1).tolist()


def test_programs_give_their_arenas_back_and_compute_the_same(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [3000, 4000, 5000]
    expected = [work(length) for length in lengths]
    sizes = [program.arena_size for program in arenas.arenas.present()]
    assert sum(sizes) > 0
    monkeypatch.setattr(arenas, "LIMIT", max(sizes) + 1)
    work(2000)  # a new program: room is made
    for _ in range(3):
        for length, value in zip(lengths, expected, strict=True):
            assert work(length) == value
    assert arenas.arenas.total() <= arenas.LIMIT or len(arenas.arenas.present()) == 1


def test_programs_die_with_their_traces(compiled: None) -> None:
    work(3000)
    present = [weakref.ref(program) for program in arenas.arenas.present() if program.arena_size > 3000]
    assert present
    trace._roots.clear()
    gc.collect()
    assert [program() for program in present if program() is not None] == []


def test_evicting_traces_gives_their_memory_back(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "NODE_LIMIT", 300)
    most = 0
    for length in range(2000, 2200):
        work(length)
        most = max(most, len(arenas.arenas.present()))
    gc.collect()
    assert len(arenas.arenas.present()) < 120
    assert most < 120


def test_memory_is_used_again_within_a_program(compiled: None) -> None:
    x = tapegrad.linspace(0, 1, 3000)
    y = x
    for step in range(5):
        y = tapegrad.cumsum(y * (step + 1), 0) / 3000  # each is an instruction of its own
    assert y.sum().item() > 0
    program = arenas.arenas.present()[-1]
    assert 12_000 < program.arena_size < 4 * 12_000  # bytes; a value is 12,000


def test_rooms_parts_do_not_overlap() -> None:
    draws = random.Random(0)
    room = Room()
    taken: list[tuple[int, int]] = []
    most = 0
    for _ in range(2000):
        if taken and draws.random() < 0.5:
            room.give_back(taken.pop(draws.randrange(len(taken))))
        else:
            size = draws.choice([0, 1, 64, 100, 1000])
            begin, end = room.take(size)
            assert begin % Room.ALIGNMENT == 0 and size <= end - begin < size + Room.ALIGNMENT and end <= room.size
            assert all([other_end <= begin or end <= other for other, other_end in taken if other < other_end])
            taken.append((begin, end))
        most = max(most, sum([end - begin for begin, end in taken]))
    assert most <= room.size < 2 * most
    for part in taken:
        room.give_back(part)
    assert room.take(room.size) == (0, room.size)
