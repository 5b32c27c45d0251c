"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tapegrad
from tapegrad.primitives import load_all
from tapegrad.tape.modes import NAMES

load_all()  # the whole table, before tests are made from it


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
    return pytest.importorskip("torch")
