"""Indexing primitives against PyTorch: errors that need data and errors that do not, repeated positions, precision."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad import dtypes
from tapegrad.primitives import indexing
from tapegrad.primitives.declare import TABLE
from tapegrad.tape.types import make_type, number_type
from tests.primitives.test_movement import assert_like_torch, type_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

NAMES = [name for name in indexing.__all__ if name not in ("check_positions", "put", "take")]
ROWS = [(name, sample) for name in NAMES for sample in getattr(indexing, name).samples()]


@pytest.mark.parametrize(("name", "sample"), ROWS, ids=repr)
def test_sample_matches_torch(name, sample):
    assert_like_torch(getattr(indexing, name), sample)


def raised_by(function):
    """Return the error that a function raises, its text cut at the first line."""
    with pytest.raises(Exception) as caught:
        function()
    return type(caught.value), str(caught.value).split("\n")[0]


def ours(name, *operands, **parameters):
    """Run a primitive on arrays and numbers: its type rule, then its NumPy function."""
    primitive = TABLE[name]
    operands = [x.numpy() if isinstance(x, torch.Tensor) else x for x in operands]
    primitive.type_rule(*map(type_of, operands), **parameters)
    with np.errstate(all="ignore"):
        return primitive.numpy(*operands, **parameters)


def pad(tensor, value):
    return torch.nn.functional.pad(tensor, (0, 0, 1, 0), value=value)


x = torch.arange(12.0).reshape(3, 4)
v = torch.arange(3.0)
I = lambda *positions: torch.tensor(positions)  # noqa: E731, E741
rows = ("i", ":")
ERRORS = [
    (lambda: ours("gather", v, I(5), axis=0), lambda: v.gather(0, I(5))),
    (lambda: ours("gather", v, I(-1), axis=0), lambda: v.gather(0, I(-1))),
    (lambda: ours("gather", v, I(1.0), axis=0), lambda: v.gather(0, I(1.0))),
    (lambda: ours("gather", x, I(1), axis=0), lambda: x.gather(0, I(1))),
    (lambda: ours("gather", x, torch.zeros(2, 5).long(), axis=0), lambda: x.gather(0, torch.zeros(2, 5).long())),
    (lambda: ours("scatter", v, I(5), v, axis=0), lambda: v.scatter(0, I(5), v)),
    (lambda: ours("scatter", v, I(1), I(1), axis=0), lambda: v.scatter(0, I(1), I(1))),
    (lambda: ours("scatter", v, I(1, 2), v[:1], axis=0), lambda: v.scatter(0, I(1, 2), v[:1])),
    (lambda: ours("scatter", x, torch.zeros(2, 5).long(), x, axis=0), lambda: x.scatter(0, torch.zeros(2, 5).long(), x)),
    (lambda: ours("scatter", x, torch.zeros(2, 5).long(), 1.0, axis=0), lambda: x.scatter(0, torch.zeros(2, 5).long(), 1.0)),
    (lambda: ours("scatter", v, I(0.0), v, axis=0), lambda: v.scatter(0, I(0.0), v)),
    (lambda: ours("scatter", v, I(0), 1j, axis=0), lambda: v.scatter(0, I(0), 1j)),
    (lambda: ours("scatter", v, I(0), v[:, None], axis=0), lambda: v.scatter(0, I(0), v[:, None])),
    (lambda: ours("scatter", x, I(0), v, axis=0), lambda: x.scatter(0, I(0), v)),
    (lambda: ours("scatter_add", v, I(7), v, axis=0), lambda: v.scatter_add(0, I(7), v)),
    (
        lambda: ours("scatter_reduce", v, I(1), v, axis=0, reduce="foo", include_self=True),
        lambda: v.scatter_reduce(0, I(1), v, "foo"),
    ),
    (
        lambda: ours("scatter_reduce", v > 0, I(1), v > 0, axis=0, reduce="mean", include_self=True),
        lambda: (v > 0).scatter_reduce(0, I(1), v > 0, "mean"),
    ),
    (
        lambda: ours("scatter_reduce", v, I(9), v, axis=0, reduce="amax", include_self=True),
        lambda: v.scatter_reduce(0, I(9), v, "amax"),
    ),
    (lambda: ours("index_select", x, I(5), axis=0), lambda: x.index_select(0, I(5))),
    (lambda: ours("index_select", x, I(-1), axis=0), lambda: x.index_select(0, I(-1))),
    (lambda: ours("index_select", x, I(1.0), axis=0), lambda: x.index_select(0, I(1.0))),
    (lambda: ours("index_select", x, I(1)[None], axis=0), lambda: x.index_select(0, I(1)[None])),
    (lambda: ours("index_select", x[0, 0], I(0, 0), axis=0), lambda: x[0, 0].index_select(0, I(0, 0))),
    (lambda: ours("index_add", x, I(5), x[:1], axis=0), lambda: x.index_add(0, I(5), x[:1])),
    (lambda: ours("index_add", x, I(1, 2), x[:1], axis=0), lambda: x.index_add(0, I(1, 2), x[:1])),
    (lambda: ours("index_add", x, I(1), x[:1, :2], axis=0), lambda: x.index_add(0, I(1), x[:1, :2])),
    (lambda: ours("index_add", x, I(1), x[:1].double(), axis=0), lambda: x.index_add(0, I(1), x[:1].double())),
    (lambda: ours("index_add", x, I(1.0), x[:1], axis=0), lambda: x.index_add(0, I(1.0), x[:1])),
    (lambda: ours("index_add", x, I(0)[None], x[:1], axis=0), lambda: x.index_add(0, I(0)[None], x[:1])),
    (lambda: ours("index_add", v, I(1), v[0], axis=0), lambda: v.index_add(0, I(1), v[0])),
    (lambda: ours("index_copy", x, I(5), x[:1], axis=0), lambda: x.index_copy(0, I(5), x[:1])),
    (lambda: ours("index_copy", x, I(-1), x[:1], axis=0), lambda: x.index_copy(0, I(-1), x[:1])),
    (lambda: ours("index_copy", x, I(1, 2), x[:1], axis=0), lambda: x.index_copy(0, I(1, 2), x[:1])),
    (lambda: ours("index_copy", x, I(1), x[:1, :2], axis=0), lambda: x.index_copy(0, I(1), x[:1, :2])),
    (lambda: ours("index_copy", x, I(1), x[:1].double(), axis=0), lambda: x.index_copy(0, I(1), x[:1].double())),
    (lambda: ours("index_copy", x, I(1).int(), x[:1], axis=0), lambda: x.index_copy(0, I(1).int(), x[:1])),
    (lambda: ours("index_copy", x, I(0)[None], x[:1], axis=0), lambda: x.index_copy(0, I(0)[None], x[:1])),
    (lambda: ours("index_copy", x, I(0), x[0], axis=0), lambda: x.index_copy(0, I(0), x[0])),
    (lambda: ours("index_fill", x, I(5), 1, axis=0), lambda: x.index_fill(0, I(5), 1)),
    (lambda: ours("index_fill", x, I(-5), 1, axis=0), lambda: x.index_fill(0, I(-5), 1)),
    (lambda: ours("index_fill", x, I(1.0), 1, axis=0), lambda: x.index_fill(0, I(1.0), 1)),
    (lambda: ours("index_fill", x, I(1), 1j, axis=0), lambda: x.index_fill(0, I(1), 1j)),
    (lambda: ours("index_fill", x, I(1), v, axis=0), lambda: x.index_fill(0, I(1), v)),
    (lambda: ours("index_fill", x, I(1)[None], 1, axis=0), lambda: x.index_fill(0, I(1)[None], 1)),
    (lambda: ours("index", x, I(5), pattern=rows), lambda: x[I(5)]),
    (lambda: ours("index", x, I(5), pattern=(":", "i")), lambda: x[:, I(5)]),
    (lambda: ours("index", x, I(-4), pattern=rows), lambda: x[I(-4)]),
    (lambda: ours("index", x, I(0, 1), I(0, 1, 2), pattern=("i", "i")), lambda: x[I(0, 1), I(0, 1, 2)]),
    (lambda: ours("index", x, I(0.0), pattern=rows), lambda: x[I(0.0)]),
    (lambda: ours("index", x[:0], I(0), pattern=rows), lambda: x[:0][I(0)]),
    (
        lambda: ours("index_put", x, torch.zeros(3), I(0, 1), pattern=rows, accumulate=False),
        lambda: x.index_put((I(0, 1),), torch.zeros(3)),
    ),
    (
        lambda: ours("index_put", x, x[:1].double(), I(0, 1), pattern=rows, accumulate=False),
        lambda: x.index_put((I(0, 1),), x[:1].double()),
    ),
    (
        lambda: ours("index_put", x, torch.zeros(4), I(0, 9), pattern=rows, accumulate=True),
        lambda: x.index_put((I(0, 9),), torch.zeros(4), accumulate=True),
    ),
    (lambda: ours("masked_fill", x, x > 5, 1j), lambda: x.masked_fill(x > 5, 1j)),
    (lambda: ours("masked_fill", x, x.long(), 1), lambda: x.masked_fill(x.long(), 1)),
    (lambda: ours("masked_fill", x, x > 5, v), lambda: x.masked_fill(x > 5, v)),
    (lambda: ours("masked_fill", x.byte(), x > 5, 300), lambda: x.byte().masked_fill(x > 5, 300)),
    (lambda: ours("masked_fill", x.half(), x > 5, 1e6), lambda: x.half().masked_fill(x > 5, 1e6)),
    (lambda: ours("index_fill", x.byte(), I(1), 300, axis=0), lambda: x.byte().index_fill(0, I(1), 300)),
    (lambda: ours("scatter", x.byte(), I(1)[None], 300, axis=0), lambda: x.byte().scatter(0, I(1)[None], 300)),
    (lambda: ours("pad", x.byte(), 300, low=(1, 0), high=(0, 0)), lambda: pad(x.byte(), 300)),
    (lambda: ours("pad", x.byte(), -1, low=(1, 0), high=(0, 0)), lambda: pad(x.byte(), -1)),
    (lambda: ours("masked_fill", x.byte(), x > 5, -1.5), lambda: x.byte().masked_fill(x > 5, -1.5)),
    (lambda: ours("masked_fill", x.long(), x > 5, float("nan")), lambda: x.long().masked_fill(x > 5, float("nan"))),
    (lambda: ours("masked_fill", x.long(), x > 5, float("inf")), lambda: x.long().masked_fill(x > 5, float("inf"))),
    (lambda: ours("masked_scatter", x, x > 5, v), lambda: x.masked_scatter(x > 5, v)),
    (lambda: ours("masked_scatter", x, x > 5, x.double()), lambda: x.masked_scatter(x > 5, x.double())),
    (lambda: ours("masked_scatter", x, x.long(), x), lambda: x.masked_scatter(x.long(), x)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_error_matches_torch(case):
    ours, theirs = ERRORS[case]
    assert raised_by(ours) == raised_by(theirs)


def test_bool_and_integer_tensors_are_written_as_they_are_in_torch():
    for value in (1.5, 7):
        np.testing.assert_array_equal(ours("masked_fill", x.long(), x > 5, value), x.long().masked_fill(x > 5, value).numpy())
        np.testing.assert_array_equal(ours("masked_fill", x > 3, x > 5, value), (x > 3).masked_fill(x > 5, value).numpy())
        np.testing.assert_array_equal(
            ours("index_fill", x.long(), I(1), value, axis=0), x.long().index_fill(0, I(1), value).numpy()
        )
    byte = x.byte()
    np.testing.assert_array_equal(ours("masked_fill", byte, x > 5, -1), byte.masked_fill(x > 5, -1).numpy())
    np.testing.assert_array_equal(ours("index_fill", byte, I(1), -1, axis=0), byte.index_fill(0, I(1), -1).numpy())
    np.testing.assert_array_equal(ours("scatter", byte, I(1)[None], -1, axis=0), byte.scatter(0, I(1)[None], -1).numpy())


def test_integer_mean_rounds_down():
    a, index, src = (v - 7).long(), I(1, 1, 0), v.long()
    np.testing.assert_array_equal(
        ours("scatter_reduce", a, index, src, axis=0, reduce="mean", include_self=True),
        a.scatter_reduce(0, index, src, "mean").numpy(),
    )


@pytest.mark.parametrize("reduce", ["amax", "amin", "sum", "prod", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_nan_and_infinity_are_reduced_as_in_torch(reduce, include_self):
    a = torch.tensor([1.0, float("nan"), 3.0, -float("inf")])
    src = torch.tensor([float("nan"), 1.0, float("inf"), 2.0])
    index = I(0, 1, 2, 3)
    parameters = {"axis": 0, "reduce": reduce, "include_self": include_self}
    np.testing.assert_array_equal(
        ours("scatter_reduce", a, index, src, **parameters), a.scatter_reduce(0, index, src, reduce, include_self=include_self)
    )


TIES = ([2.0, 0.0, 3.0, -1.0], [2.0, 2.0, 0.0, 5.0, 3.0, 0.0], [0, 0, 1, 1, 2, 0])
ZEROS = ([0.0, 2.0, 0.0, 4.0], [3.0, 0.0, 5.0, 0.0, 0.0, 7.0], [0, 1, 2, 2, 3, 3])
SEVERAL_ZEROS = ([0.0, 2.0, 0.0, 4.0], [0.0, 0.0, 0.0, 3.0], [0, 1, 1, 3])


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("values", [TIES, ZEROS, SEVERAL_ZEROS])
def test_gradients_of_a_reduction_at_ties_and_zeros(values, reduce, include_self, mode):
    own, sources, places = values
    if not include_self:
        own = [value + 0.25 for value in own]  # equal to no source, for which PyTorch's derivative is wrong: see below
    gradients = []
    for library in (torch, tapegrad):
        a, src = (library.tensor(part, dtype=library.float64, requires_grad=True) for part in (own, sources))
        index = library.tensor(places)
        if library is torch:
            result = a.scatter_reduce(0, index, src, reduce, include_self=include_self)
        else:
            result = indexing.scatter_reduce(a, index, src, axis=0, reduce=reduce, include_self=include_self)
        result.backward(library.tensor([1.0, 10.0, 100.0, 1000.0], dtype=library.float64))
        gradients.append(np.concatenate([a.grad.numpy(), src.grad.numpy()]))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=4e-16)


def test_an_element_that_is_not_included_takes_no_share_of_the_gradient():
    """PyTorch lets it take one if it happens to equal the largest, although it has no influence."""
    a = tapegrad.tensor([2.0], requires_grad=True)
    src = tapegrad.tensor([2.0, 1.0], requires_grad=True)
    indexing.scatter_reduce(a, tapegrad.tensor([0, 0]), src, axis=0, reduce="amax", include_self=False).backward()
    assert a.grad.tolist() == [0.0]
    assert src.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("length", [1, 3, 16])
def test_many_additions_at_one_position_are_exact(length):
    count = 1 << 25  # 2**24 float32 ones added one by one would stop there
    ones = np.broadcast_to(np.float32(1), (count // length, length))
    index = np.zeros(count // length, np.int64)
    result = indexing.index_add.numpy(np.zeros((2, length), np.float32), index, ones, axis=0)
    np.testing.assert_array_equal(result[0], count // length)
    np.testing.assert_array_equal(result[1], 0)


def test_signed_zero_and_layout_are_kept_where_nothing_is_written():
    a = np.full((4, 3), -0.0).T
    result = indexing.index_put.numpy(a, np.ones(4), np.array([1]), pattern=rows, accumulate=False)
    assert np.signbit(result[[0, 2]]).all()
    added = indexing.index_put.numpy(a, np.ones(4), np.array([1]), pattern=rows, accumulate=True)
    assert np.signbit(added[[0, 2]]).all()
    kept = indexing.index_put.type_rule(
        make_type(dtypes.float64, (3, 4), (1, 3)), number_type(int), make_type(dtypes.int64, (1,)), pattern=rows, accumulate=False
    )
    assert kept == (dtypes.float64, (3, 4), (1, 3))
