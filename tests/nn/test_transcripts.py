"""What programs see of modules and their functions: golden transcripts of PyTorch 2.13, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tests import transcripts

TRANSCRIPTS = transcripts.read_all(Path(__file__).parent / "transcripts")


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcript_is_golden(mode: str, name: str) -> None:
    assert transcripts.transcript(tapegrad, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])


@pytest.mark.peer
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_golden_transcript_is_torch(torch: Any, name: str) -> None:
    assert transcripts.transcript(torch, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])
