"""What programs see of modules and their functions: golden sessions of PyTorch 2.13, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tests import sessions

SESSIONS = sessions.read_all(Path(__file__).parent / "sessions")


@pytest.mark.parametrize("name", SESSIONS)
def test_session_is_golden(mode: str, name: str) -> None:
    assert sessions.transcript(tapegrad, *SESSIONS[name]) == sessions.transcript(None, *SESSIONS[name])


@pytest.mark.peer
@pytest.mark.parametrize("name", SESSIONS)
def test_golden_session_is_torch(torch: Any, name: str) -> None:
    assert sessions.transcript(torch, *SESSIONS[name]) == sessions.transcript(None, *SESSIONS[name])
