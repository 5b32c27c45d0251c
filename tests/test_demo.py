"""The command line: help, exit codes, the demo and the facts about the installation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tapegrad.__main__ import main
from tapegrad.demo import digits, picture, train

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
QUICK = ["demo", "--epochs", "2"]


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    monkeypatch.setattr(train, "find_spec", lambda name: None if name in packages else find_spec(name))


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment)


def test_without_a_command_help_is_printed(capsys: Capture) -> None:
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


def test_it_runs_as_a_module() -> None:
    done = run_python("-m", "tapegrad", "info")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tapegrad")


@pytest.mark.parametrize("wrong", [["nothing"], ["demo", "--epochs", "0"], ["demo", "--lr", "-1"], ["demo", "--batch-size", "x"]])
def test_wrong_usage_is_exit_code_2(wrong: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as error:
        main(wrong)
    assert error.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--epochs", "abc", "'abc' is not a whole number"),
        ("--epochs", str(10**30), "is too large"),
        ("--lr", "abc", "'abc' is not a number"),
        ("--seed", str(2**64), "does not fit into 64 bits"),
    ],
)
def test_a_wrong_number_is_named(option: str, value: str, message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as error:
        main(["demo", option, value])
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_info_has_versions_mode_threads_and_caches(capsys: Capture) -> None:
    assert main(["info"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    for name in ("tapegrad", "numpy", "scipy", "numba", "python", "mode", "threads", "plans"):
        assert facts[name]
    assert facts["types"].split()[0].replace(",", "").isdigit()


def test_the_digits_are_there() -> None:
    data = digits.load()
    assert len(data.train_labels) + len(data.test_labels) == 1797
    assert data.train_images.shape == (1437, 64)
    assert (data.train_images.min().item(), data.train_images.max().item()) == (0.0, 1.0)
    assert sorted(set(data.test_labels.tolist())) == list(range(10))


def test_the_demo_learns_and_shows_the_tape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture, mode: str) -> None:
    monkeypatch.chdir(tmp_path)
    without(monkeypatch, "tqdm", "matplotlib")
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    found = re.search(r"loss [\d.]+, test accuracy ([\d.]+)%, ([\d.]+) s", printed)
    assert found is not None
    assert float(found[1]) >= 96.0
    assert float(found[2]) < 30.0
    for shown in ("slot", "adjoint", "leaf 0.weight", "leaf 2.bias", "constant images", "kept"):
        assert shown in printed
    assert "training: 30 of 30 epochs" in printed
    assert "no picture of the loss: it needs matplotlib" in printed
    assert list(tmp_path.iterdir()) == []


def test_the_seed_decides(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    without(monkeypatch, "tqdm", "matplotlib")

    def losses(seed: str) -> list[str]:
        main([*QUICK, "--seed", seed])
        return re.findall(r"loss ([\d.]+)", capsys.readouterr().out)

    assert losses("1") == losses("1") != losses("2")


def test_the_picture_is_saved_and_its_path_printed(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    for name in ("loss.png", "loss.svg"):
        path = tmp_path / name
        assert main([*QUICK, "--out", str(path)]) == 0
        assert str(path) in capsys.readouterr().out
        assert path.stat().st_size > 1000


@pytest.mark.parametrize("epochs", [1, 2, 5, 30, 1000])
def test_the_axis_of_the_picture_begins_at_the_first_epoch(epochs: int) -> None:
    pytest.importorskip("matplotlib")
    ticks = picture._ticks(epochs)
    assert ticks[0] == 1
    assert ticks == sorted(set(ticks))
    assert ticks[-1] <= epochs
    assert len(ticks) <= 11


@pytest.mark.parametrize("name", ["missing/loss.png", "loss.nothing", "loss"])
def test_an_impossible_picture_is_exit_code_1_before_training(name: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    assert main([*QUICK, "--out", str(tmp_path / name)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--out" in printed.err


def test_a_wanted_picture_without_matplotlib_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    without(monkeypatch, "matplotlib")
    assert main([*QUICK, "--out", "loss.png"]) == 1
    assert "pip install 'tapegrad[demo]'" in capsys.readouterr().err


def test_the_progress_bar_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    pytest.importorskip("tqdm")
    without(monkeypatch, "matplotlib")
    assert main(QUICK) == 0
    printed = capsys.readouterr()
    assert "training: 100%" in printed.err
    assert "2/2" in printed.err
    assert "training:" not in printed.out


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example: Path) -> None:
    done = run_python(str(example))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
