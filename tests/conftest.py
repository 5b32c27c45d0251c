"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad.primitives import load_all
from tapegrad.tape.modes import NAMES

load_all()  # the whole table, before tests are made from it


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Keep the search for doctests out of modules that help tests: they have none, and some need PyTorch."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


@pytest.fixture(params=NAMES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once in each mode."""
    before = tapegrad.get_mode()
    tapegrad.set_mode(request.param)
    yield request.param
    tapegrad.set_mode(before)


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, for tests that compare with it; they carry the marker `peer` too."""
    library = pytest.importorskip("torch")
    library.backends.opt_einsum.enabled = False  # where opt_einsum is installed, as JAX has it, results have other strides
    return library
