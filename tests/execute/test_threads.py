"""Large instructions are shared with helper threads, and results do not depend on how many there are."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tapegrad
from tapegrad.execute import threads, tiering
from tapegrad.execute.threads import pool

LENGTH = 600_000


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compile at once, and leave the number of threads as it was."""
    before = tapegrad.get_mode(), tapegrad.get_num_threads()
    monkeypatch.setattr(tiering, "threshold", 0.0)
    tapegrad.set_mode("jit")
    yield
    tapegrad.set_mode(before[0])
    tapegrad.set_num_threads(before[1])


def work(seed: int = 0) -> tuple[float, bytes]:
    """Return a sum and a gradient of many chunks, to the last bit."""
    x = tapegrad.linspace(-3, 2 + seed, LENGTH, requires_grad=True)
    y = ((x * 0.3 + 1) * x - x * x * x).sum()
    y.backward()
    assert x.grad is not None
    return y.item(), x.grad.numpy().tobytes()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    tapegrad.set_num_threads(1)
    alone = work()
    assert not pool.helpers
    for number in (2, 3, 5):
        tapegrad.set_num_threads(number)
        assert tapegrad.get_num_threads() == number
        for _ in range(20):
            assert work() == alone
        assert len(pool.helpers) == number - 1
    tapegrad.set_num_threads(1)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tapegrad-")]


def test_helpers_that_sleep_are_woken() -> None:
    tapegrad.set_num_threads(3)
    expected = work()
    for _ in range(10):
        time.sleep(0.01)
        assert work() == expected


def test_helpers_help() -> None:
    tapegrad.set_num_threads(2)
    work()
    before = time.thread_time(), time.process_time()
    for _ in range(30):
        work()
    mine, all_of_us = time.thread_time() - before[0], time.process_time() - before[1]
    assert all_of_us > mine


def test_small_instructions_start_no_helper() -> None:
    tapegrad.set_num_threads(2)
    tapegrad.set_num_threads(3)
    assert (tapegrad.ones(1000) * 2).sum().item() == 2000
    assert not pool.helpers


def test_threads_that_run_large_programs_at_once() -> None:
    tapegrad.set_num_threads(2)
    expected = [work(seed) for seed in range(4)]
    wrong: list[int] = []

    def check(seed: int) -> None:
        for _ in range(15):
            if work(seed) != expected[seed]:
                wrong.append(seed)

    workers = [threading.Thread(target=check, args=(number % 4,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for number in (3, 1, 2, 4):
        time.sleep(0.02)
        tapegrad.set_num_threads(number)
    for worker in workers:
        worker.join()
    assert not wrong


def test_an_error_in_a_shared_instruction_is_raised() -> None:
    tapegrad.set_num_threads(2)
    x = tapegrad.arange(10.0)
    positions = tapegrad.arange(LENGTH) % 10
    for wrong in (LENGTH - 1, 0, LENGTH // 2):
        index = positions.clone()
        index[wrong] = 10
        with pytest.raises(IndexError, match="out of range"):
            x.index_select(0, index).sum().item()
    assert x.index_select(0, positions).sum().item() == 4.5 * LENGTH


FORK = """
import os
import tapegrad as t
t.set_num_threads(2)
def work():
    x = t.linspace(-3, 2, 600_000, requires_grad=True)
    y = ((x * 0.3 + 1) * x - x * x * x).sum()
    y.backward()
    return y.item(), x.grad.sum().item()
from tapegrad.execute.threads import pool
first = work()
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        assert not pool.helpers
        assert all(work() == first for _ in range(5))
        assert len(pool.helpers) == 1
        os._exit(0)
    assert all(work() == first for _ in range(5))
    assert os.waitpid(pid, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    environment = {**os.environ, "TAPEGRAD_MODE": "jit", "TAPEGRAD_JIT_THRESHOLD": "0"}
    root = Path(tapegrad.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", FORK], env=environment, cwd=root, capture_output=True, text=True, timeout=240)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize("given", ["0", "-1", "two", "", "1.5"])
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TAPEGRAD_NUM_THREADS", given)
    with pytest.raises(ValueError, match=f"TAPEGRAD_NUM_THREADS is '{given}'"):
        threads._from_environment()


def test_the_variable_and_the_cores_say_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_NUM_THREADS", "3")
    assert threads._from_environment() == 3
    monkeypatch.delenv("TAPEGRAD_NUM_THREADS")
    assert threads._from_environment() == threads.usable_cores()


@pytest.mark.peer
def test_wrong_numbers_are_refused_as_in_torch(torch: object) -> None:
    for number in (0, -1, 1.5, "2", True):
        with pytest.raises(RuntimeError) as ours:
            tapegrad.set_num_threads(number)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError) as theirs:
            torch.set_num_threads(number)  # type: ignore[attr-defined]
        assert str(ours.value) == str(theirs.value)
