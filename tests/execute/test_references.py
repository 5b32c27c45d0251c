"""Counting references in machine code finds what counting them in Python finds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tapegrad.execute import references


class Value:
    pass


@pytest.fixture(params=["python", "machine code"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(references, "_count", None)
    if request.param == "machine code":
        pytest.importorskip("numba")
        references.load()
        assert references._count is not None
    yield request.param


@pytest.mark.usefixtures("way")
def test_held_values_are_found() -> None:
    values = [Value() for _ in range(300)]
    marks = np.zeros(300, np.bool_)
    held = [values[3], values[4], values[200], values[299]]
    assert references.held_places(values, marks) == [3, 4, 200, 299]
    del held[1:3]
    assert references.held_places(values, marks) == [3, 299]


@pytest.mark.usefixtures("way")
def test_marked_places_and_nothing_are_left_out() -> None:
    values = [Value() if place % 2 else None for place in range(10)]
    marks = np.zeros(10, np.bool_)
    held = list(values)
    marks[[1, 5]] = True
    assert references.held_places(values, marks) == [3, 7, 9]
    assert held[1] is values[1]


@pytest.mark.usefixtures("way")
def test_a_list_may_be_empty() -> None:
    assert references.held_places([], np.zeros(0, np.bool_)) == []
