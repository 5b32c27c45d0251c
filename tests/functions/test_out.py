"""Results written into tensors given as ``out=``."""

from __future__ import annotations

import pytest

import tapegrad as t


def test_out_is_returned_and_written(mode: str) -> None:
    out = t.zeros(2)
    result = t.add(t.ones(2), 1, out=out)
    assert result is out
    assert out.tolist() == [2.0, 2.0]


def test_out_takes_the_result_in_its_own_dtype(mode: str) -> None:
    out = t.zeros(2, dtype=t.float64)
    t.exp(t.zeros(2), out=out)
    assert out.dtype is t.float64
    assert out.tolist() == [1.0, 1.0]


def test_several_results_go_into_several_tensors(mode: str) -> None:
    values, indices = t.zeros(2), t.zeros(2, dtype=t.int64)
    result = t.max(t.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
    assert result.values is values
    assert result[1] is indices
    assert (values.tolist(), indices.tolist()) == ([5.0, 7.0], [1, 0])


def test_out_of_another_shape_is_resized_with_a_warning(mode: str) -> None:
    out = t.zeros(3)
    with pytest.warns(UserWarning, match=r"An output with one or more elements was resized since it had shape \[3\]"):
        t.cumsum(t.ones(2), 0, out=out)
    assert out.tolist() == [1.0, 2.0]


def test_out_without_elements_is_resized_without_a_warning(mode: str) -> None:
    assert t.neg(t.ones(2), out=t.zeros(0)).tolist() == [-1.0, -1.0]


def test_out_through_a_view_changes_its_base(mode: str) -> None:
    base = t.zeros(2, 2)
    t.mul(t.ones(2), 3, out=base[1])
    assert base.tolist() == [[0.0, 0.0], [3.0, 3.0]]


def test_out_refuses_what_requires_grad_unless_gradients_are_off(mode: str) -> None:
    x = t.ones(2, requires_grad=True)
    out = t.zeros(2)
    with pytest.raises(RuntimeError, match=r"mul\(\): functions with out=... arguments don't support automatic differentiation"):
        t.mul(x, 2, out=out)
    with pytest.raises(RuntimeError, match=r"cat\(\): functions with out="):
        t.cat([x, x], out=t.zeros(4))
    assert out.tolist() == [0.0, 0.0]
    with t.no_grad():
        assert t.mul(x, 2, out=out).tolist() == [2.0, 2.0]


def test_a_result_that_does_not_fit_the_dtype_leaves_out_as_it_was(mode: str) -> None:
    out = t.tensor([1, 2])
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        t.div(t.ones(2), 2, out=out)
    assert out.tolist() == [1, 2]


def test_the_version_counts_what_out_wrote(mode: str) -> None:
    out = t.zeros(2)
    t.add(t.ones(2), 1, out=out)
    assert out._version == 1
