"""What programs see of automatic differentiation: golden transcripts of PyTorch 2.13, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad import printing
from tests import transcripts

TRANSCRIPTS = transcripts.read_all(Path(__file__).parent / "transcripts")


@pytest.fixture(autouse=True)
def _same_settings_after() -> Iterator[None]:
    yield
    tapegrad.autograd.set_inplace_checks(False)
    printing.set_printoptions(profile="default", sci_mode=None)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcript_is_golden(mode: str, name: str) -> None:
    assert transcripts.transcript(tapegrad, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])


def test_batch_of_cotangents_of_the_wrong_shape(mode: str) -> None:
    """PyTorch names another shape here than that of the cotangent; the rest of its text is the same."""
    x = tapegrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="^If `is_grads_batched=True`, we interpret the first dimension"):
        tapegrad.autograd.grad(x * x, x, tapegrad.eye(2), is_grads_batched=True)


@pytest.mark.peer
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_golden_transcript_is_torch(torch: Any, name: str) -> None:
    assert transcripts.transcript(torch, *TRANSCRIPTS[name]) == transcripts.transcript(None, *TRANSCRIPTS[name])
