"""Functions and methods against what PyTorch gives: values, dtypes, layouts, names, gradients, errors.

The outcomes are kept in files (see expressing.py), so that PyTorch is needed only to show that they are right.
"""

from __future__ import annotations

from typing import Any

import pytest

import tapegrad
from tests.functions.expressing import FOLDER, agrees, outcome, read

CASES = [
    pytest.param(source, golden, id=f"{path.stem}: {source}")
    for path in sorted(FOLDER.glob("*.txt"))
    for source, golden in read(path).items()
]


@pytest.mark.parametrize(("source", "golden"), CASES)
def test_expression_gives_what_it_gives_in_torch(mode: str, source: str, golden: Any) -> None:
    found = outcome(tapegrad, source)
    assert agrees(found, golden), f"{source}\n  found  {found}\n  golden {golden}"


@pytest.mark.peer
@pytest.mark.parametrize(("source", "golden"), CASES)
def test_golden_outcome_is_right(torch: Any, source: str, golden: Any) -> None:
    found = outcome(torch, source)
    assert agrees(found, golden), f"{source}\n  found  {found}\n  golden {golden}"
