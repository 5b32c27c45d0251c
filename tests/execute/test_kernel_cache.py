"""The way of a kernel: the cache on disk, the compiling process, and what happens where they fail.

Whatever fails, numbers are right, and one warning says what it was.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.__main__ import main
from tapegrad.execute import disk_cache, kernels, native, tiering
from tapegrad.execute.background import Background, background
from tapegrad.execute.worker import compile_entry, read_message
from tapegrad.tape import trace

# A process that compiles at once, and prints a gradient; then whether it has compiled, and its warnings.
STEP = """
import tapegrad as t
x = t.linspace(-2, 2, 9, requires_grad=True)
((x * 3 + 1) * x).sum().backward()
print(x.grad.tolist())
"""
REPORT = """
import sys
from tapegrad.execute.background import background
print("worker" if background.workers else "no worker", "numba" if "numba" in sys.modules else "no numba")
"""
GRADIENT = str((6 * np.linspace(-2, 2, 9, dtype=np.float32) + 1).tolist())
SOURCE = """
from tapegrad.execute.compiling import *

def kernel(args, lo, hi):
    return lo + hi + {number}
"""


def start(cache: Path, code: str = STEP, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TAPEGRAD_CACHE_DIR": str(cache), "TAPEGRAD_MODE": "jit", "TAPEGRAD_JIT_THRESHOLD": "0", **variables}
    environment["PYTHONWARNINGS"] = "always"
    root = str(Path(tapegrad.__file__).parents[1])
    environment["PYTHONPATH"] = root
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)


def run(cache: Path, code: str = STEP + REPORT, **variables: str) -> tuple[list[str], str]:
    """Run a process, and return the lines that it prints and what it warns of."""
    process = start(cache, code, **variables)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return output.splitlines(), errors


def entries(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.kernel"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has the kernels of the step."""
    cache = tmp_path_factory.mktemp("filled")
    lines, errors = run(cache)
    assert lines == [GRADIENT, "worker no numba"]
    assert errors == ""
    assert [path.suffix for path in cache.iterdir()] == [".kernel"] * len(entries(cache))
    return cache


@pytest.fixture
def cache(tmp_path: Path, filled: Path) -> Path:
    """A copy of the filled cache, to be damaged."""
    return Path(shutil.copytree(filled, tmp_path / "cache"))


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache for this process, which has neither kernels nor warnings yet."""
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(tmp_path / "fresh"))
    monkeypatch.setattr(kernels, "_addresses", {})
    monkeypatch.setattr(kernels, "_warned", set())
    monkeypatch.setattr(tiering, "_structures", {})
    before = tapegrad.get_mode(), tiering.threshold
    monkeypatch.setattr(tiering, "threshold", 0.0)
    background.stop()
    tapegrad.set_mode("jit")
    trace._roots.clear()
    yield tmp_path / "fresh"
    tapegrad.set_mode(before[0])
    background.stop()
    background.is_possible = True


def gradient(scale: float = 3.0) -> list[float]:
    x = tapegrad.linspace(-2, 2, 9, requires_grad=True)
    ((x * scale + 1) * x).sum().backward()
    assert x.grad is not None
    return x.grad.tolist()


# The disk


def test_a_full_cache_is_loaded_without_a_compiler(cache: Path) -> None:
    assert run(cache) == ([GRADIENT, "no worker no numba"], "")


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign"])
def test_a_damaged_entry_is_compiled_anew_with_a_warning(cache: Path, damage: str) -> None:
    whole = {path: path.read_bytes() for path in entries(cache)}
    for path, content in whole.items():
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:middle], "changed": changed, "empty": b"", "foreign": b"\x7fELF" * 1000}[damage])
    lines, errors = run(cache)
    assert lines[0] == GRADIENT
    assert errors.count("RuntimeWarning") == 1
    assert "is damaged" in errors
    assert all(disk_cache.unpack(path.read_bytes()) for path in entries(cache))


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    lines, errors = run(tmp_path / "file")
    assert lines[0] == GRADIENT
    assert errors.count("RuntimeWarning") == 1
    assert "compiled kernels cannot be kept in" in errors
    assert "TAPEGRAD_CACHE_DIR" in errors


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_full_disk_is_one_warning(tmp_path: Path) -> None:
    lines, errors = run(tmp_path / "cache", FULL + STEP)
    assert lines == [GRADIENT]
    assert errors.count("RuntimeWarning") == 1
    assert "File too large" in errors
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_user_without_a_home_has_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("TAPEGRAD_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert disk_cache.folder().is_dir()
    assert disk_cache.folder() == disk_cache.folder()


def test_a_full_disk_leaves_nothing_half_written(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*paths: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="No space left"):
        disk_cache.keep(fresh / "a.kernel", b"content")
    assert list(fresh.iterdir()) == []


def test_two_processes_share_an_empty_cache(tmp_path: Path) -> None:
    processes = [start(tmp_path / "shared") for _ in range(2)]
    for process in processes:
        output, errors = process.communicate(timeout=240)
        assert (process.returncode, output.strip(), errors) == (0, GRADIENT, "")
    assert all(disk_cache.unpack(path.read_bytes()) for path in (tmp_path / "shared").iterdir())


def test_the_longest_unused_entries_go_first(fresh: Path) -> None:
    fresh.mkdir()
    for number in range(6):
        path = fresh / f"{number}.kernel"
        path.write_bytes(b"x" * 100)
        os.utime(path, (number, number))
    (fresh / "killed.part").write_bytes(b"x")
    os.utime(fresh / "killed.part", (0, 0))
    (fresh / "written.part").write_bytes(b"x")
    disk_cache.evict(350)
    assert sorted(path.name for path in fresh.iterdir()) == ["3.kernel", "4.kernel", "5.kernel", "written.part"]


def test_reading_an_entry_makes_it_the_last_to_go(fresh: Path) -> None:
    path = fresh / "a.kernel"
    disk_cache.keep(path, disk_cache.pack("symbol", b"code", "source"))
    os.utime(path, (0, 0))
    assert disk_cache.read(path) == ("symbol", b"code")
    assert time.time() - path.stat().st_mtime < 60


def test_writing_looks_after_the_size(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "SIZE_LIMIT", 500)
    monkeypatch.setattr(disk_cache, "_EVERY", 1)
    for number in range(10):
        disk_cache.keep(fresh / f"{number}.kernel", b"x" * 100)
    assert len(entries(fresh)) == 5


# The compiling process


def has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def ends_soon(pid: int) -> bool:
    for _ in range(100):
        if has_ended(pid):
            return True
        time.sleep(0.1)
    return False


WORKER = "\nfrom tapegrad.execute.background import background\nprint(background.workers[0].process.pid, flush=True)\n"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_compiling_process_ends_with_its_parent(tmp_path: Path) -> None:
    lines, _ = run(tmp_path / "cache", STEP + WORKER)
    assert not Path(f"/proc/{lines[1]}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_kill_while_compiling_leaves_a_sound_cache_and_no_process(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    many = "from tapegrad.execute import kernels\n" + f"kernels.request([{SOURCE!r}.format(number=i) for i in range(40)])"
    process = start(cache, many + WORKER + "import time; time.sleep(200)")
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    for _ in range(600):
        if entries(cache):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert ends_soon(worker)
    assert 0 < len(entries(cache)) < 40
    assert all(disk_cache.unpack(path.read_bytes()) for path in entries(cache))


def test_a_killed_compiling_process_is_done_without(fresh: Path) -> None:
    background.request(SOURCE.format(number=1))
    background.workers[0].process.kill()
    assert gradient() == eval(GRADIENT)
    assert not background.workers
    assert not background.is_possible
    assert kernels._addresses


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_compiler_that_crashes_is_not_called_here(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def receive(worker: Any) -> Any:
        worker.process.send_signal(signal.SIGSEGV)
        return read_message(worker.process.stdout)

    monkeypatch.setattr("tapegrad.execute.background.Worker.receive", receive)
    with pytest.warns(RuntimeWarning, match=r"the compiler crashed \(SIGSEGV\)"):
        assert gradient() == eval(GRADIENT)
    assert not kernels._addresses
    assert background.is_possible


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_compiler_that_crashed_at_another_kernel_is_started_again(fresh: Path) -> None:
    background.request(SOURCE.format(number=1))
    crashed = background.workers[0].process
    crashed.send_signal(signal.SIGSEGV)
    crashed.wait()
    assert gradient() == eval(GRADIENT)
    assert kernels._addresses
    assert background.workers[0].process is not crashed


def test_without_an_interpreter_kernels_are_compiled_here(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/editor")
    assert gradient() == eval(GRADIENT)
    assert not background.workers
    assert kernels._addresses


def test_an_interrupt_while_waiting_ends_the_process_alone(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(stream: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tapegrad.execute.background.read_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kernels.address_of(SOURCE.format(number=2))
    assert not background.workers
    assert background.is_possible
    assert kernels.address_of(SOURCE.format(number=2))


def test_what_is_waited_for_is_compiled_first(fresh: Path) -> None:
    other = Background()
    try:
        for number in range(40):
            other.request(SOURCE.format(number=number))
        reply = other.fetch(SOURCE.format(number=100))
        assert reply is not None
        assert reply[0] is not None
        assert len(entries(fresh)) < 40
    finally:
        other.stop()


def test_many_kernels_are_compiled_by_several_processes(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapegrad.execute.background.usable_cores", lambda: 2)
    sources = [SOURCE.format(number=number) for number in range(10)]
    kernels.request(sources)
    assert len(background.workers) == 2
    pids = {worker.process.pid for worker in background.workers}
    assert len({kernels.address_of(source) for source in sources}) == 10
    assert [worker.process.pid in pids for worker in background.workers] == [True]
    assert not background.pending


def test_a_script_that_ends_early_does_not_wait(tmp_path: Path) -> None:
    code = f"from tapegrad.execute import kernels\nkernels.request([{SOURCE!r}.format(number=i) for i in range(100)])"
    run(tmp_path / "cache", code)
    assert len(entries(tmp_path / "cache")) < 100


# Where nothing can be compiled


@pytest.mark.parametrize("missing", ["numba", "llvmlite"])
def test_without_a_compiler_plans_are_interpreted_with_one_warning(fresh: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(background, "is_possible", False)
    for name in [name for name in sys.modules if name.split(".")[0] == missing or name == "tapegrad.execute.compiling"]:
        monkeypatch.setitem(sys.modules, name, None)
    disk_cache._surroundings.cache_clear()
    with pytest.warns(RuntimeWarning, match="interpreted: .*Error") as caught:
        assert gradient() == eval(GRADIENT)
        assert gradient() == eval(GRADIENT)
    assert len(caught) == 1
    assert not kernels._addresses
    disk_cache._surroundings.cache_clear()


def test_a_kernel_that_cannot_be_compiled_is_a_warning_with_the_reason(fresh: Path) -> None:
    with pytest.raises(kernels.NoKernel, match="NameError: name 'nonsense' is not defined"):
        kernels.address_of("nonsense")
    entry, complaint = compile_entry("nonsense")
    assert entry is None
    assert "nonsense" in complaint


def test_a_mistake_in_writing_kernels_is_a_warning(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Any:
        raise ValueError("wrong")

    monkeypatch.setattr("tapegrad.execute.program.Fusion", fail)
    with pytest.warns(RuntimeWarning, match="a mistake in tapegrad; please report ValueError: wrong") as caught:
        assert gradient() == eval(GRADIENT)
        assert gradient() == eval(GRADIENT)
    assert len(caught) == 1


def powers(number: int) -> list[float]:
    """Return what a program of its own kernel computes."""
    x = tapegrad.linspace(1, 2, 5, dtype=tapegrad.float64)
    y = x + 0.5
    for _ in range(number):
        y = y * x
    return (y - 1).tolist()


def test_past_the_bound_kernels_make_room_for_others(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries: weakref.WeakSet[native.Library] = weakref.WeakSet()

    class Library(native.Library):
        def __init__(self, llvm: Any) -> None:
            super().__init__(llvm)
            libraries.add(self)

    monkeypatch.setattr(kernels, "LIMIT", 8)
    monkeypatch.setattr(native, "_FILES", 2)
    monkeypatch.setattr(native, "_library", None)
    monkeypatch.setattr(native, "Library", Library)
    x = np.linspace(1, 2, 5)
    for _ in range(2):  # the second time, they are loaded anew
        for number in range(12):
            np.testing.assert_allclose(powers(number), (x + 0.5) * x**number - 1, rtol=1e-13)
            assert len(kernels._addresses) <= 8
    gc.collect()
    assert sum([library.files for library in libraries]) <= 9  # one may be there only to be filled
    assert kernels._warned == set()


def test_kernels_in_use_are_not_given_up(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads run programs, and make others, in a process that may have few kernels."""
    monkeypatch.setattr(kernels, "LIMIT", 8)
    monkeypatch.setattr(native, "_FILES", 1)
    expected = [powers(number) for number in range(12)]
    wrong: list[Any] = []

    def work(start: int) -> None:
        for step in range(150):
            number = (start + step) % 12
            if powers(number) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(3 * place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_plan_of_more_kernels_than_the_bound_is_interpreted_with_one_warning(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "LIMIT", 1)
    with pytest.warns(RuntimeWarning, match="a process may have 1 kernels, and so many are in use") as caught:
        assert gradient() == eval(GRADIENT)
        assert (tapegrad.ones(3) * 7).tolist() == [7.0, 7.0, 7.0]
    assert len(caught) == 1
    assert len(kernels._addresses) <= 1


# Fork and spawn


FORK = """
import os
def child():
    pid = os.fork()
    if pid == 0:
        y = t.linspace(-2, 2, 9, requires_grad=True)
        for _ in range(2):
            ((y * 3 + 1) * y).sum().backward()
        (y * y * y).sum().backward()
        print(y.grad.tolist(), flush=True)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
child()
(x.tanh() * 5).sum().backward()
print(x.grad.sum().item() > 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_computes_and_compiles(cache: Path) -> None:
    lines, errors = run(cache, STEP + FORK)
    line = np.linspace(-2, 2, 9, dtype=np.float32)
    np.testing.assert_allclose(eval(lines[1]), 2 * (6 * line + 1) + 3 * line * line, rtol=1e-6)
    assert lines[2] == "True"
    assert errors == ""


SPAWN = """
import multiprocessing
import sys

def work(scale):
    import tapegrad as t
    x = t.linspace(-2, 2, 9, requires_grad=True)
    ((x * scale + 1) * x).sum().backward()
    return x.grad.tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for result in pool.map(work, [3, 3]):
            print(result)
"""


def test_spawned_processes_share_the_cache(cache: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SPAWN)
    lines, errors = run(cache, f"import runpy, sys; sys.argv = [{str(script)!r}]; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert lines == [GRADIENT, GRADIENT]
    assert errors == ""


# The fixed points


def test_the_switch_does_not_depend_on_the_cache(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "threshold", 1e-4)

    def switch() -> list[bool]:
        made = []
        x = tapegrad.linspace(-2, 2, 9)
        for _ in range(40):
            (x * 3 + x * x * 0.5 - x.exp()).tolist()
            made.append(bool(kernels._addresses))
        return made

    with_empty = switch()
    trace._roots.clear()
    tiering._structures.clear()
    kernels._addresses.clear()
    assert switch() == with_empty
    assert with_empty[0] is False
    assert with_empty[-1] is True


def test_plans_of_all_shapes_are_hot_together(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "threshold", 1e-4)
    monkeypatch.setattr(tiering, "_DRAFT", 1e-6)  # of which each has five

    def work(length: int) -> None:
        x = tapegrad.linspace(-2, 2, length)
        (x * 3 + x * x * 0.5 - x.exp()).tolist()

    for length in range(2, 42):  # each runs once, and costs less than a program
        work(length)
    assert not kernels._addresses
    work(41)
    assert kernels._addresses


# What there is to see


def test_kernels_say_what_was_fused(fresh: Path) -> None:
    gradient()
    found = tapegrad.kernels()
    fused = next(kernel for kernel in found if "mul" in kernel.records)
    assert "reduce_sum" in fused.records
    assert repr(fused).startswith(f"<kernel {fused.name}: ")
    assert "def kernel(args, lo, hi):" in str(fused)
    assert fused.source in str(fused)


def test_the_cache_command(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(filled, tmp_path / "copy")
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(copy))
    count = len(entries(copy))
    assert main(["cache"]) == 0
    assert f"{copy}: {count} kernels, " in capsys.readouterr().out
    assert main(["info"]) == 0
    assert str(copy) in capsys.readouterr().out
    entries(copy)[0].write_bytes(b"")
    assert main(["cache", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == count + 1  # and the size
    assert sum("damaged" in line for line in listed) == 1
    assert main(["cache", "clear"]) == 0
    assert f"deleted {count} kernels" in capsys.readouterr().out
    assert list(copy.iterdir()) == []


def test_warnings_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_warned", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernels.warn_once("kind", "text")
        kernels.warn_once("kind", "text again")
    assert [str(warning.message) for warning in caught] == ["tapegrad: text."]
