"""Movement primitives against PyTorch: values, layouts and errors."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import dtypes
from tapegrad.primitives import movement
from tapegrad.primitives.complex_pairs import check_pairs
from tapegrad.primitives.declare import TABLE
from tapegrad.tape.types import make_type, number_type

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

VIEWS = ("reshape permute expand alias slice_axis select flip roll concatenate contiguous diagonal unfold tril triu").split()
MODULES = ("movement", "diagonals", "sliding", "complex_pairs", "update", "concatenation")
ROWS = [
    (name, sample)
    for name, primitive in sorted(TABLE.items())
    if primitive.samples is not None and primitive.type_rule.__module__.rpartition(".")[2] in MODULES
    for sample in primitive.samples()
]


def type_of(operand):
    """Return the type of a sample's operand."""
    if isinstance(operand, np.ndarray):
        strides = tuple(torch.from_numpy(operand).stride())
        return make_type(dtypes.from_array_type(operand.dtype), operand.shape, strides)
    return number_type(type(operand))


def in_torch(primitive, sample):
    """Run a sample in PyTorch."""
    operands = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in sample.operands]
    return primitive.torch(torch, *operands, **sample.parameters)


def assert_like_torch(primitive, sample):
    """Check value, dtype and shape, and the strides of what PyTorch makes a view."""
    expected = in_torch(primitive, sample)
    before = [np.array(x) for x in sample.operands]
    result = primitive.numpy(*sample.operands, **sample.parameters)
    for operand, copy in zip(sample.operands, before, strict=True):
        np.testing.assert_array_equal(operand, copy)
    np.testing.assert_array_equal(np.asarray(result), expected.numpy())
    dtype, shape, *strides = primitive.type_rule(*map(type_of, sample.operands), **sample.parameters)
    assert shape == tuple(expected.shape) == np.shape(result)
    assert repr(dtype) == str(expected.dtype)
    if primitive.name in VIEWS and expected.numel() > 1:
        assert make_type(dtype, shape, *strides).strides == tuple(expected.stride())


@pytest.mark.parametrize(("name", "sample"), ROWS, ids=repr)
def test_sample_matches_torch(name, sample):
    assert_like_torch(TABLE[name], sample)


def test_rows_are_complete():
    names = {name for name, _ in ROWS}
    assert names >= {*VIEWS, "pad_slice", "pad_diagonal", "fold", "update"}


SHAPES = [(), (1,), (4,), (2, 6), (3, 4), (12,), (1, 12), (2, 1, 6), (2, 3, 2), (0, 3), (3, 0, 2), (1, 1), (4, 1, 3)]
LAYOUTS = [
    lambda x: x,
    lambda x: x.t() if x.dim() <= 2 else x.transpose(0, 2),
    lambda x: x[..., ::2] if x.dim() else x,
    lambda x: x[:1] if x.dim() else x,
    lambda x: x.unsqueeze(0).expand(2, *x.shape),
    lambda x: x.unsqueeze(-1),
]


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_view_strides_match_torch(shape, layout):
    viewed = LAYOUTS[layout](torch.zeros(shape))
    for new in SHAPES:
        if np.prod(new) != viewed.numel():
            continue
        try:
            expected = tuple(viewed.view(new).stride())
        except RuntimeError:
            expected = None
        assert movement.view_strides(tuple(viewed.shape), tuple(viewed.stride()), new) == expected


def ruled(primitive, *shapes, dtype=dtypes.float32, **parameters):
    """Apply a type rule to shapes."""
    return primitive.type_rule(*[make_type(dtype, shape) for shape in shapes], **parameters)


def zeros(*shape):
    return torch.zeros(shape)


start = number_type(int)
ERRORS = [
    (lambda: ruled(movement.reshape, (3, 4), shape=(5,)), lambda: zeros(3, 4).view(5)),
    (lambda: ruled(movement.permute, (3, 4), axes=(0,)), lambda: zeros(3, 4).permute(0)),
    (lambda: ruled(movement.permute, (3, 4), axes=(0, 0)), lambda: zeros(3, 4).permute(0, 0)),
    (lambda: ruled(movement.expand, (3, 4), shape=(2, 4)), lambda: zeros(3, 4).expand(2, 4)),
    (lambda: ruled(movement.expand, (3, 4), shape=(4,)), lambda: zeros(3, 4).expand(4)),
    (lambda: ruled(movement.concatenate, (3, 4), (2, 3), axis=1), lambda: torch.cat([zeros(3, 4), zeros(2, 3)], 1)),
    (lambda: ruled(movement.concatenate, (3, 4), (4,), axis=0), lambda: torch.cat([zeros(3, 4), zeros(4)])),
    (lambda: ruled(movement.concatenate, (), axis=0), lambda: torch.cat([zeros()])),
    (lambda: ruled(movement.unfold, (3, 4), axis=1, size=5, step=1), lambda: zeros(3, 4).unfold(1, 5, 1)),
    (lambda: ruled(movement.unfold, (3, 4), axis=1, size=2, step=0), lambda: zeros(3, 4).unfold(1, 2, 0)),
    (lambda: ruled(movement.unfold, (3, 4), axis=1, size=-1, step=1), lambda: zeros(3, 4).unfold(1, -1, 1)),
    (lambda: ruled(movement.diagonal, (3, 4), offset=0, axis1=0, axis2=0), lambda: zeros(3, 4).diagonal(0, 0, 0)),
    (lambda: ruled(movement.tril, (3,), k=0), lambda: zeros(3).tril()),
    (lambda: ruled(movement.triu, (3,), k=0), lambda: zeros(3).triu()),
    (lambda: ruled(movement.view_as_real, (3,)), lambda: torch.view_as_real(zeros(3))),
    (lambda: ruled(movement.view_as_complex, (3,)), lambda: torch.view_as_complex(zeros(3))),
    (lambda: ruled(movement.view_as_complex, ()), lambda: torch.view_as_complex(zeros())),
    (
        lambda: ruled(movement.view_as_complex, (3, 2), dtype=dtypes.int64),
        lambda: torch.view_as_complex(zeros(3, 2).long()),
    ),
    (
        lambda: check_pairs(make_type(dtypes.float32, (3, 2), (1, 3))),
        lambda: torch.view_as_complex(zeros(2, 3).t()),
    ),
    (
        lambda: check_pairs(make_type(dtypes.float32, (2, 2), (3, 1))),
        lambda: torch.view_as_complex(zeros(2, 3)[:, :2]),
    ),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_error_matches_torch(case):
    ours, theirs = ERRORS[case]
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as raised:
        ours()
    assert str(raised.value) == str(expected.value).split("\n")[0]


def test_concatenate_promotes():
    types = [make_type(dtype, (2,)) for dtype in (dtypes.int64, dtypes.float16, dtypes.bool)]
    assert movement.concatenate.type_rule(*types, axis=0)[0] is dtypes.float16


def test_complex_pairs_are_laid_out_as_in_torch():
    pairs = torch.zeros(3, 4, 2).transpose(0, 1)
    strides = movement.view_as_complex.type_rule(make_type(dtypes.float32, (4, 3, 2), tuple(pairs.stride())))[2]
    assert strides == torch.view_as_complex(pairs).stride()
    numbers = torch.zeros(3, 4, dtype=torch.complex64).t()
    strides = movement.view_as_real.type_rule(make_type(dtypes.complex64, (4, 3), tuple(numbers.stride())))[2]
    assert strides == torch.view_as_real(numbers).stride()


@pytest.mark.parametrize("operand", [np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(4, 3).T])
def test_views_share_memory(operand):
    for primitive, numbers, parameters in [
        (movement.permute, (), {"axes": (1, 0)}),
        (movement.expand, (), {"shape": (2, 3, 4)}),
        (movement.slice_axis, (1,), {"axis": 1, "length": 2, "step": 2}),
        (movement.diagonal, (), {"offset": 1, "axis1": 0, "axis2": 1}),
        (movement.unfold, (), {"axis": 0, "size": 2, "step": 1}),
        (movement.flip, (), {"axes": (0,)}),
    ]:
        assert np.shares_memory(operand, primitive.numpy(operand, *numbers, **parameters)), primitive


def test_update_of_a_layout_without_the_view():
    chain = (("reshape", ((12,),), 0), ("slice_axis", (0, 3, 4), 1))
    operand = np.arange(12.0).reshape(4, 3).T
    result = movement.update.numpy(operand, np.array([-1.0, -2.0, -3.0]), 1, chain=chain)
    expected = np.ascontiguousarray(operand).reshape(-1)
    expected[1::4] = [-1, -2, -3]
    np.testing.assert_array_equal(result, expected.reshape(3, 4))


def test_update_through_complex_parts():
    operand = np.arange(4) * (1 + 1j)
    new = np.full(4, 9.0)
    np.testing.assert_array_equal(movement.update.numpy(operand, new, chain=(("imag", (), 0),)), np.arange(4) + 9j)
    pairs = np.zeros((4, 2))
    np.testing.assert_array_equal(movement.update.numpy(operand, pairs, chain=(("view_as_real", (), 0),)), np.zeros(4))


def test_update_of_an_expanded_view_is_an_error():
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        ruled(movement.update, (1,), (3,), chain=(("expand", ((3,),), 0),))
    with pytest.raises(RuntimeError, match="cannot be replaced by"):
        ruled(movement.update, (3,), (2,), chain=(("alias", (), 0),))
