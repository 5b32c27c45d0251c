"""The tape table: what it shows, in both modes, before and after things are computed and released."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.tape.segment import state
from tapegrad.tape.trace import path_to
from tapegrad.teach import Row, print_tape, tape_rows, tape_table


def column(rows: list[Row], name: str) -> list[str]:
    return [getattr(row, name) for row in rows]


@pytest.fixture(autouse=True)
def own_mode() -> Iterator[None]:
    before = tapegrad.get_mode()
    tapegrad.set_mode("interpret")
    yield
    tapegrad.set_mode(before)


def leaf(values: Any, dtype: Any = None) -> tapegrad.Tensor:
    return tapegrad.tensor(values, dtype=dtype, requires_grad=True)


def test_a_line_has_operation_operands_shape_value_kept_and_adjoint(mode: str) -> None:
    x = leaf([1.0, 2.0])
    rows = tape_rows((x * 3).exp().sum(), {"x": x})
    assert column(rows, "slot") == ["v0", "v1", "v2", "v3"]
    assert column(rows, "operation") == ["leaf x", "mul", "exp", "reduce_sum axes=(0)"]
    assert column(rows, "operands") == ["", "v0, 3", "v1", "v2"]
    assert column(rows, "shape") == ["[2]", "[2]", "[2]", "[]"]
    assert column(rows, "value") == ["[1, 2]", "[3, 6]", "[20.09, 403.4]", "423.5"]
    assert column(rows, "kept") == ["", "", "kept", ""]
    assert column(rows, "adjoint") == ["[60.26, 1210]", "[20.09, 403.4]", "[1, 1]", "1"]


def test_the_tape_stays_as_it_is(mode: str) -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    loss = y.sum()
    tape_rows(loss)
    before = state.segment, state.segment.node, len(state.segment.values)
    table = tape_table(loss)
    assert (state.segment, state.segment.node, len(state.segment.values)) == before
    assert tape_table(loss) == table
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_what_is_pending_stays_pending() -> None:
    x = leaf(2.0)
    y = x.sin()
    tape_rows(y)
    assert not hasattr(y, "_array")
    assert y.item() == pytest.approx(np.sin(2.0))


def test_adjoints_are_the_gradients(mode: str) -> None:
    generator = np.random.default_rng(0)
    w = tapegrad.from_numpy(generator.standard_normal((2, 2))).requires_grad_()
    b = tapegrad.from_numpy(generator.standard_normal(2)).requires_grad_()
    hidden = (w @ w.T + b).tanh()
    loss = (hidden * hidden).sum()
    names = {"w": w, "b": b, "hidden": hidden}
    shown = {row.operation.rpartition(" ")[2]: row.adjoint for row in tape_rows(loss, names)}
    gradients = tapegrad.autograd.grad(loss, list(names.values()))
    for name, gradient in zip(names, gradients, strict=True):
        assert np.allclose(json.loads(shown[name]), gradient.tolist(), rtol=1e-3)


def test_a_sealed_tape_shows_the_same_until_it_is_released(mode: str) -> None:
    x = leaf([1.0, 2.0])
    loss = ((x * 3).exp() * x).sum()
    pending = tape_rows(loss)
    loss.item()
    assert tape_rows(loss) == pending
    loss.backward()
    rows = tape_rows(loss)
    assert set(column(rows, "kept")) == {"", "released"}
    assert set(column(rows, "adjoint")) == {""}
    assert column(rows, "operation") == column(pending, "operation")


def test_a_history_over_several_segments_is_one_table() -> None:
    def table(mode: str, seal: bool) -> str:
        tapegrad.set_mode(mode)
        x = leaf([1.0, 2.0])
        hidden = x.exp()
        if seal:
            hidden.tolist()
        return tape_table((hidden * x).sum())

    tables = {table(mode, seal) for mode in ("eager", "interpret") for seal in (False, True)}
    assert len(tables) == 1


def test_a_leaf_used_in_several_segments_is_one_line_with_its_whole_gradient(mode: str) -> None:
    x = leaf([1.0, 2.0])
    with tapegrad.no_grad():
        x += 1
    first = (x + 1).sum()
    first.item()
    rows = tape_rows(first + (x + 2).sum(), {"x": x})
    assert column(rows, "operation").count("leaf x") == 1
    assert rows[0].adjoint == "[2, 2]"


def test_a_leaf_updated_in_place_begins_the_history(mode: str) -> None:
    x = leaf([1.0, 2.0])
    with tapegrad.no_grad():
        x -= 0.5
    rows = tape_rows((x * x).sum(), {"x": x})
    assert column(rows, "operation") == ["leaf x", "mul", "reduce_sum axes=(0)"]
    assert rows[0].value == "[0.5, 1.5]"
    assert rows[0].adjoint == "[1, 3]"


def replace_data(x: Any) -> None:
    x.data = tapegrad.zeros(2)


@pytest.mark.parametrize("modify", [lambda x: x.data.mul_(10), lambda x: x.detach().mul_(10), replace_data])
def test_the_value_of_a_leaf_that_was_modified_since_is_not_made_up(mode: str, modify: Callable[[Any], object]) -> None:
    x = leaf([1.0, 2.0])
    total = x.sum()
    total.item()
    assert tape_rows(total)[0].value == "[1, 2]"
    modify(x)
    assert tape_rows(total)[0].value in ("-", f"now [{', '.join(f'{number:g}' for number in x.tolist())}]")


def test_a_leaf_that_may_have_been_modified_shows_its_present_value(mode: str) -> None:
    x = leaf([1.0, 2.0])
    with tapegrad.no_grad():
        x += 1
    total = x.sum()
    total.item()
    x.tolist()
    assert tape_rows(total, {"x": x})[0][1:5:3] == ("leaf x", "now [2, 3]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0],), "tensor must be a tensor, not list"),
        ((leaf(1.0), [leaf(1.0)]), "names must be a mapping"),
        ((leaf(1.0), {"x": 1.0}), "'x' is mapped to float"),
        ((leaf(1.0), None, 2.0), "cotangent must be a tensor, not float"),
        ((None, None, leaf(1.0)), "needs the tensor"),
    ],
)
def test_wrong_arguments_are_type_errors(arguments: Any, message: str) -> None:
    tensor, names, cotangent = (*arguments, None, None)[:3]
    for show in (print_tape, tape_table, tape_rows):
        with pytest.raises(TypeError, match=message):
            show(tensor, names, cotangent=cotangent)


def test_a_cotangent_of_another_shape_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"\[3\].*\[2\]"):
        tape_rows(leaf([1.0, 2.0]) * 2, cotangent=tapegrad.ones(3))


def test_a_note_says_why_there_are_no_adjoints(mode: str) -> None:
    x = leaf([1.0, 2.0])
    assert "(no adjoints: the last value has shape [2]" in tape_table(x * x).splitlines()[-1]
    assert "is complex" in tape_table(leaf(1 + 2j) * 2)
    for table in (tape_table(x * x, cotangent=tapegrad.ones(2)), tape_table((x * x).sum()), tape_table(x), tape_table(x.detach() * 2)):
        assert "no adjoints" not in table


def test_a_number_that_was_not_kept_is_shown_by_its_kind() -> None:
    total = leaf(1.0) + 1
    assert tape_rows(total)[1].operands == "v0, 1"
    total.item()
    assert tape_rows(total)[1].operands == "v0, int"


def test_several_results_are_several_lines(mode: str) -> None:
    x = leaf([[1.0, 3.0], [4.0, 2.0]])
    rows = tape_rows(x.max(1).values.sum())
    assert column(rows, "operation")[1:3] == ["max_with_index[0] axis=1", "max_with_index[1] axis=1"]
    assert column(rows, "shape")[1:3] == ["[2]", "[2] int64"]
    assert column(rows, "adjoint") == ["[[0, 1], [1, 0]]", "[1, 1]", "", "1"]


def test_values_of_all_kinds_are_short(mode: str) -> None:
    x = leaf(list(range(9)), tapegrad.float64)
    rows = tape_rows(x * 2)
    assert rows[0].value == "0 .. 8"
    assert rows[0].shape == "[9] float64"
    assert tape_rows(x > 2)[-1].value == "6 of 9 True"
    assert tape_rows(tapegrad.full((9,), 0.5) * 1)[-1].value == "0.5"
    assert tape_rows(tapegrad.full((9,), tapegrad.nan) * 1)[-1].value == "nan .. nan"
    z = tapegrad.tensor([3 + 4j, 0, 0, 0, 0], requires_grad=True)
    assert tape_rows(z * 2)[-1].value == "0 .. 10 in magnitude"
    assert tape_rows(tapegrad.ones(0) * 2)[-1].value == "[]"


def test_a_tensor_without_one_element_has_adjoints_for_a_cotangent(mode: str) -> None:
    x = leaf([1.0, 2.0])
    assert column(tape_rows(x * x), "adjoint") == ["", ""]
    assert column(tape_rows(x * x, cotangent=tapegrad.tensor([0.0, 1.0])), "adjoint") == ["[0, 4]", "[0, 1]"]


def test_a_tensor_without_history_is_one_line(mode: str) -> None:
    x = leaf([1.0, 2.0])
    assert tape_table(x, {"x": x}).splitlines()[1].split() == ["v0", "leaf", "x", "[2]", "[1,", "2]"]
    assert tape_rows(tapegrad.ones(()))[0].operation == "constant"


def test_gradients_of_gradients(mode: str) -> None:
    x = leaf(2.0)
    (first,) = tapegrad.autograd.grad(x**3, x, create_graph=True)
    rows = tape_rows(first, {"x": x})
    assert rows[0].adjoint == "12"
    assert rows[-1].value == "12"


def test_an_error_that_waits_is_shown() -> None:
    x = leaf([1.0, 2.0])
    wrong = x[tapegrad.tensor([5]) + 0]
    rows = tape_rows((wrong * wrong).sum())
    assert "IndexError!" in column(rows, "value")
    assert column(rows, "value")[-1] == "-"
    assert set(column(rows, "adjoint")) == {""}


def test_what_has_no_derivative_has_no_adjoints(mode: str) -> None:
    rows = tape_rows(leaf(3.0) // leaf(2.0))
    assert column(rows, "operation") == ["leaf", "leaf", "floor_divide"]
    assert column(rows, "adjoint") == ["", "", ""]


def test_without_a_tensor_the_open_segment_is_shown() -> None:
    x = leaf(1.0)
    with tapegrad.no_grad():
        x.mul_(2)
    y = x * 3
    operations = column(tape_rows(), "operation")
    assert operations == ["gradients off", "leaf", "mul", "leaf", "gradients on", "mul"]
    assert len(path_to(state.segment.node)) == len(operations)
    assert y.item() == 6.0
    assert tape_rows() == []


def test_print_tape_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    x = leaf(1.0)
    print_tape(x * x, {"x": x})
    assert capsys.readouterr().out == tape_table(x * x, {"x": x}) + "\n"
    table = tape_table(x * x).splitlines()
    assert table[0].index("adjoint") == table[1].index("2")
