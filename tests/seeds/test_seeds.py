"""Two tutorials on requires_grad, run as they are written with tapegrad in PyTorch's place; their text is in the files here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tests import transcripts

TRANSCRIPTS = transcripts.read_all(Path(__file__).parent)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_tutorial_prints_what_it_prints_in_torch(mode: str, name: str) -> None:
    assert transcripts.transcript(tapegrad, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])


@pytest.mark.peer
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_golden_transcript_is_torch(torch: Any, name: str) -> None:
    assert transcripts.transcript(torch, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])
