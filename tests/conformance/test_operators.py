"""The operations of PyTorch's own database do as in PyTorch: values, dtypes, gradients, second derivatives, errors.

``python -m tests.conformance.survey [names]`` prints how any operation differs. One that has come to do as in PyTorch is
added to the list of its tier in expectations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tapegrad

pytestmark = pytest.mark.peer
pytest.importorskip("torch")
pytest.importorskip("expecttest")  # the database needs it

from tests.conformance.expectations import EXCEPTIONS, NAMES, TIERS, TOLERANCES, is_expected  # noqa: E402
from tests.conformance.operators import all_operators  # noqa: E402
from tests.conformance.survey import Survey  # noqa: E402

SURVEY = Survey()


@pytest.mark.filterwarnings("ignore:torch.*is deprecated")  # what the database's own samples are made with
@pytest.mark.parametrize("name", NAMES)
def test_operation_does_as_in_pytorch(name: str) -> None:
    found = SURVEY.differences(all_operators()[name])
    unexpected = [text for text in found if not is_expected(name, text)]
    assert not unexpected, "\n".join([f"{len(unexpected)} differences:", *unexpected[:5]])
    assert found or name not in EXCEPTIONS, "nothing differs any more: remove the exception"


def test_lists_name_operations_of_the_database() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(NAMES) <= set(all_operators())
    assert set(TOLERANCES) | set(EXCEPTIONS) <= set(NAMES)
    assert sorted(TIERS) == [1, 2, 3]


# That the comparison sees what is wrong


def _sum_of_squares_but(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a `square` whose result is changed."""
    square = tapegrad.square
    return lambda input, *, out=None: change(square(input))


def _with_wrong_second_derivative(input: Any, *, out: Any = None) -> Any:
    fixed = input.detach()
    return fixed * fixed + 2 * fixed * (input - fixed)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (_sum_of_squares_but(lambda result: result + 1e-8), "results.values"),
        (_sum_of_squares_but(lambda result: result.unsqueeze(0)), "results.values: shape"),
        (_sum_of_squares_but(lambda result: result.to(tapegrad.float32)), "results.dtype"),
        (_sum_of_squares_but(lambda result: result.detach()), "results.requires_grad"),
        (_sum_of_squares_but(lambda result: 2 * result - result.detach()), "gradients."),
        (_with_wrong_second_derivative, "second."),
        (_sum_of_squares_but(lambda result: result[0, 0, 0, 0, 0]), "raised IndexError"),
    ],
)
def test_a_wrong_operation_is_seen(monkeypatch: pytest.MonkeyPatch, changed: Any, what: str) -> None:
    monkeypatch.setattr(tapegrad, "square", changed)
    found = Survey({"float64": (4, 4)}).differences(all_operators()["square"])
    assert any(f": {what}" in text for text in found), found


def test_a_missing_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapegrad, "cat", lambda tensors, *arguments, **options: tensors[0])
    assert any("error, " in text and "raised None, not RuntimeError" in text for text in Survey({}).differences(all_operators()["cat"]))


def test_the_mode_stays(mode: str) -> None:
    Survey({"float64": (1, 0)}).differences(all_operators()["sin"])
    assert tapegrad.get_mode() == mode
