"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad.execute import tiering
from tapegrad.primitives import load_all
from tapegrad.tape.modes import NAMES

load_all()  # the whole table, before tests are made from it


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Keep the search for doctests out of modules that help tests: they have none, and some need PyTorch."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


@pytest.fixture(scope="session", autouse=True)
def _kernel_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled kernels in pytest's own cache, from run to run, unless TAPEGRAD_CACHE_DIR says where."""
    kept = getattr(request.config, "cache", None)
    with pytest.MonkeyPatch.context() as patch:
        if "TAPEGRAD_CACHE_DIR" not in os.environ:
            folder = tmp_path_factory.mktemp("kernels") if kept is None else kept.mkdir("kernels")
            patch.setitem(os.environ, "TAPEGRAD_CACHE_DIR", str(folder))
        yield


# Folders whose tests run in jit too, each plan compiled before it is first run. TAPEGRAD_JIT_THRESHOLD=0 does so with all tests,
# which takes long: thousands of kernels are compiled.
_COMPILED = {"autograd", "execute", "fuzz", "seeds", "tape"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of modes once in each."""
    if "mode" in metafunc.fixturenames:
        compiles = tiering.threshold == 0 or not _COMPILED.isdisjoint(metafunc.definition.path.parts)
        metafunc.parametrize("mode", [name for name in NAMES if compiles or name != "jit"], indirect=True)


@pytest.fixture
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the test in this mode; in jit, every plan is compiled before it is run for the first time."""
    before = tapegrad.get_mode()
    monkeypatch.setattr(tiering, "threshold", 0.0)
    tapegrad.set_mode(request.param)
    yield request.param
    tapegrad.set_mode(before)


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, for tests that compare with it; they carry the marker `peer` too."""
    library = pytest.importorskip("torch")
    library.backends.opt_einsum.enabled = False  # where opt_einsum is installed, as JAX has it, results have other strides
    return library
