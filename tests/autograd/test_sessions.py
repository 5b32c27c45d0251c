"""What programs see of automatic differentiation: golden sessions of PyTorch 2.13, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad import printing
from tests import sessions

SESSIONS = sessions.read_all(Path(__file__).parent / "sessions")


@pytest.fixture(autouse=True)
def _same_settings_after() -> Iterator[None]:
    yield
    tapegrad.autograd.set_inplace_checks(False)
    printing.set_printoptions(profile="default", sci_mode=None)


@pytest.mark.parametrize("name", SESSIONS)
def test_session_is_golden(mode: str, name: str) -> None:
    assert sessions.transcript(tapegrad, *SESSIONS[name]) == sessions.transcript(None, *SESSIONS[name])


@pytest.mark.peer
@pytest.mark.parametrize("name", SESSIONS)
def test_golden_session_is_torch(torch: Any, name: str) -> None:
    assert sessions.transcript(torch, *SESSIONS[name]) == sessions.transcript(None, *SESSIONS[name])
