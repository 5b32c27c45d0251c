"""Indexing with brackets, against PyTorch: shapes, values, layouts, names, gradients, errors and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad.functions.indexing import getitem, masked_select, setitem
from tapegrad.tape.trace import root_for

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer


class Brackets:
    """Writes an index down: ``at[1:3, None]`` is what stands in the brackets."""

    def __getitem__(self, index):
        return index


at = Brackets()


@pytest.fixture
def deferred():
    """Run in the mode that computes nothing before it is read."""
    before = tapegrad.get_mode()
    tapegrad.set_mode("interpret")
    yield
    tapegrad.set_mode(before)


def data(library):
    """Return tensors to index and to index with, in one of the libraries."""

    def tensor(values, dtype=None):
        array = np.array(values, dtype)
        return tapegrad.tensor(array) if library is tapegrad else torch.from_numpy(array)

    tensors = {
        "x": tensor(np.arange(12.0).reshape(3, 4)),
        "y": tensor(np.arange(60.0).reshape(3, 4, 5)),
        "v": tensor(np.arange(3.0)),
        "z": tensor(5.0),
        "T": tensor,
        "mask": tensor(np.arange(12).reshape(3, 4) % 3 == 1),
        "rows": tensor([True, False, True]),
        "none": tensor([False, False, False]),
        "columns": tensor([True, False, False, True]),
        "at": at,
        "np": np,
    }
    return tensors


def result_and_error(function):
    """Return what a function returns, or its error as a pair, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = function()
        except Exception as error:
            outcome = error
    texts = [str(warning.message).split(" (Triggered")[0] for warning in caught]
    return outcome, texts


def assert_same_error(ours, theirs):
    assert isinstance(ours, Exception), f"no error; PyTorch raises {theirs!r}"
    assert type(ours) is type(theirs), f"{ours!r}; PyTorch raises {theirs!r}"
    assert str(ours) == str(theirs).split("\n")[0]


BASIC = """
x[:]  x[...]  x[:,:]  x[None]  x[:,None]  x[()]  x[0]  x[-1]  x[0,1]  x[...,0]  x[...,...]  x[0,...,1]  x[None,None,0]
x[np.int64(1)]  x[np.array(1)]  x[T(1)]  x[T(-1)]  x[T(1),0]  x[T(1,np.int32)]  x[1:2]  x[::2]  x[2:1]  x[5:]  x[-100:100]
x[T(1):T(3)]  x[:,1]  x[None,:1]  x[0:3,1]  x[:,0:4,None]  x[1:,::3]  x[-2:,-3:-1]  x[:,None,1:,None]  y[1,2:,None,::2]
y[...,None,0]  y[0,...,1:3]  z[()]  z[...]  z[None]  z[None,...,None]  v[None,...,None]  v[0]  v[(0,)]  v[1:]  y[:,:,4]
y[2,-1,0]  v[3:]  x[:0]  x[1:1,None]
""".split()

ADVANCED = """
x[True]  x[False]  x[0,True]  x[True,0]  x[T(True)]  x[T(False)]  x[T([1])]  x[[0,1]]  x[[True,False,True]]  x[[]]  x[T([2,0,-1])]
x[(T([0,1]),T([1,2]))]  x[np.array([0,1])]  x[np.array([[0,1]])]  x[np.array([True,False,True])]  x[T([0,1],np.int32)]
x[np.array([0,1],np.int16)]  x[np.array([0.])]  x[[0.5]]  x[:,T([0,1])]  x[0:2,T([0,1])]  x[0,T([0,1])]  y[0,:,T([0,1])]
y[T([0,1]),:,0]  y[T([0,1]),0]  y[:,T([0,1]),None]  y[T([0,1]),None,T([0,1])]  y[T([0,1]),None,:,T([0,1])]
y[T([0,1]),:,T([0,1])]  y[None,T([0,1])]  y[mask]  y[mask,1:3]  y[mask,0]  y[mask,[0,1,2,0]]  y[rows]  y[rows,T([0,1])]
y[rows,:,T([0,1])]  y[:,columns]  y[:,columns,0]  y[0,columns]  y[none]  y[...,T([0,1])]  x[mask]  x[rows,columns]
x[rows][:,columns]  z[True]  z[False]  z[T(True)]  v[T([[0,1],[1,2]])]  v[range(2)]  v[T([],np.int64)]  v[rows,None]
y[[0,1],[1,2]]  y[[0,1],:,[1,2]]  y[[[0,1]],[1,2]]  y[[True,False,True],[1,2]]  y[1:3,[0,1],None,2]  y[T(1),T([0,1])]
y[T([0,1]),T(1)]  y[T([0,1]),...,T([0,1])]  y[(0,),]  y[None,:,T([0,1]),:,None]  y[True,T([0,1])]  y[T([0,1]),True]
y[0,False]  y[T([0]),False]  y[:,True,T([0,1])]  x[np.array(True)]  x[np.array([[True,False,True,False]]*3)]
x[[[0,1],[1,2]]]  x[[0,slice(None)]]  x[[T(0),T(1)]]  x[[T([0,1]),T([1,2])]]
x[T([1,0,1],np.uint8)]  x[np.array([1,0,1],np.uint8)]  y[T([[0],[1]]),T([0,1,2])]
x[::2,T([0,1])]  y[1:,::2,T([4,0])]  x[T([0,0,0])]
""".split()

WRONG = """
x[3]  x[-4]  x[0,1,2]  x[0,...,1,1]  x[T(5)]  x[T(1.)]  x[T([0.])]  x[[True,False]]  x[np.bool_(True)]  x[np.float64(1)]  x[1.0]
x['a']  x[0.5,0]  x[{}]  x[['a']]  x[::-1]  x[::0]  x[1.:]  x['a':]  y[:,columns,0,0]  y[v>0,rows]  y[rows[:2]]  y[:,rows]
y[mask[:,:2]]  y[mask[:,:,None]]  y[...,rows]  z[0]  z[T(0)]  z[[0]]  z[:]  z[T([0])]  v[T([0,1]),T([0,1])]  v[0,0]  v[:,:]
v[T([5])]  v[T([-4])]  y[T([0,1]),:,:,T([0,1])]  x[:,:,None,:]  x[T([0,1],np.int8)]  y[T([0,1]),T([0,1,2])]
y[False,T([0,1])]  x[:,T([4])]  x[T([[9]])]  x[[[True,False,True,False]]*3]  x[[5]]  x[0:2,T([2]),0]  v[:0][T([0])]
""".split()


def evaluate(library, text):
    """Return the tensor and the index of an expression such as ``x[0]``."""
    names = data(library)
    name, _, index = text.partition("[")
    rest = ""
    if "][" in index:
        first, _, rest = index.partition("][")
        names[name] = take(library, names[name], eval(f"at[{first}]", names))
        index = rest
    return names[name], eval(f"at[{index}", names)


def take(library, tensor, index):
    return getitem(tensor, index) if library is tapegrad else tensor[index]


def read(library, text):
    tensor, index = evaluate(library, text)
    tensor.requires_grad_()
    result = take(library, tensor, index)
    (result * result).sum().backward() if library is torch else backward(result * result)
    return result, tensor


def backward(result):
    result.backward(gradient=tapegrad.tensor(np.ones(tuple(result.shape))))


@pytest.mark.parametrize("text", BASIC + ADVANCED)
def test_reading(text, mode):
    (expected, leaf), expected_warnings = result_and_error(lambda: read(torch, text))
    outcome, found_warnings = result_and_error(lambda: read(tapegrad, text))
    if isinstance(outcome, Exception):
        raise outcome
    result, own_leaf = outcome
    assert tuple(result.shape) == tuple(expected.shape)
    np.testing.assert_array_equal(result.detach().numpy(), expected.detach().numpy())
    assert type(result.grad_fn).__name__ == type(expected.grad_fn).__name__
    np.testing.assert_array_equal(own_leaf.grad.numpy(), leaf.grad.numpy())
    assert set(found_warnings) == set(expected_warnings)  # PyTorch warns of a byte mask twice


@pytest.mark.parametrize("text", BASIC)
def test_basic_indices_make_views(text, mode):
    tensor, index = evaluate(tapegrad, text)
    other, other_index = evaluate(torch, text)
    view, expected = getitem(tensor, index), other[other_index]
    assert view._base is tensor
    if expected.numel() > 1:
        strides = [s for s, n in zip(expected.stride(), expected.shape, strict=True) if n > 1]
        assert [s for s, n in zip(view._node.type.strides, view.shape, strict=True) if n > 1] == strides
    setitem(view, at[...], 100)
    expected[...] = 100
    np.testing.assert_array_equal(tensor.numpy(), other.numpy())


@pytest.mark.parametrize("text", WRONG)
def test_errors(text, mode):
    theirs, expected_warnings = result_and_error(lambda: read(torch, text))

    def attempt():
        tensor, index = evaluate(tapegrad, text)
        return getitem(tensor, index).detach().numpy()

    ours, found_warnings = result_and_error(attempt)
    assert_same_error(ours, theirs)
    assert set(found_warnings) == set(expected_warnings)  # PyTorch warns of a byte mask twice


WRITES = """
x[0]=1  x[-1]=2.5  x[0]=T([1.,2,3,4])  x[0]=T([[1.,2,3,4]])  x[0]=np.float64(3)  x[0]=T([1,2,3,4])  x[...]=1  x[:]=T([1.,2,3,4])
x[None]=5  x[mask]=3  x[mask]=T(1.5,np.float32)  x[mask]=T([9.,8,7,6])  x[mask]=T([7.])  y[mask]=3  y[mask]=T([1.,2,3,4,5])
y[:,columns]=4  y[0,columns]=4  y[rows,0]=4  x[T([0,1])]=T([[[1.,2,3,4]]])  x[T([0,1])]=2  x[[0,1],[1,2]]=T([9.,8.])
x[0,[1,2]]=T([9.,8.])  x[:,[1,2]]=T([9.,8.])  x[True]=1  x[False]=1  x[T(True)]=1  v[0]=x[0,0]  v[:2]=x[0,:2]  v[T([0,1])]=x[0,:2]
v[:]=x[0,:3]  v[rows]=x[0,:2]  v[::2]=T([5.,6.])  v[1:1]=T([])  v[1:1]=3  z[...]=3  z[()]=3  z[None]=4  z[True]=4  x[T([0,-1])]=7
x[0]=True  x[rows]=T([[1.],[2.]])  y[T([0,1]),:,T([0,1])]=T([1.,2,3,4])  y[1,::2]=T([1.,2,3,4,5])  x[T(1)]=8
x[1,T(2)]=8  i[0]=1.7  i[T([0,1])]=1.7  i[0]=T(1.7)  u[0]=-1  u[T([0])]=-1  x[0,...,1]=6  x[:,None,1]=T([[1.],[2.],[3.]])
""".split()

WRONG_WRITES = """
x[0]=T([1.,2])  x[0]=T([[1.,2,3,4]]*2)  x[0]=[1,2,3,4]  x[0]=np.array([1,2,3,4])  x[0]=1j  x[0]='a'  x[0]=None  x[mask]=T([1.,2])
x[T([0,1])]=T([1,2,3,4])  x[T([0,1])]=T([1.,2,3,4],np.float32)  x[T([0,1])]=T(2)  x[T([0,1])]=T([1.,2])  x[T([0,1])]=[1,2,3,4]
i[T([0,1])]=T(1.7)  u[0]=300  u[T([0])]=300  x[5]=1  x[0,0,0]=1  x[T([5])]=1  z[0]=3  x[0]=T([])  x[rows[:2]]=1  x[T([0])]=None
x[mask[:2]]=1  x[columns]=1  x[none]=T([])
""".split()


def write(library, text, requires_grad=False):
    names = data(library)
    names |= {"i": names["T"]([0, 0, 0]), "u": names["T"]([0, 0, 0], np.uint8)}
    target, _, value = text.partition("=")
    name, _, index = target.partition("[")
    source = names["x"]
    if requires_grad and source.dtype.is_floating_point:
        source.requires_grad_()
    index, value = eval(f"at[{index}", names), eval(value, names)
    if library is tapegrad:
        setitem(names[name], index, value)
    else:
        names[name][index] = value
    return names[name], source


@pytest.mark.parametrize("text", WRITES)
def test_writing(text, mode):
    (expected, _), expected_warnings = result_and_error(lambda: write(torch, text))
    outcome, found_warnings = result_and_error(lambda: write(tapegrad, text))
    if isinstance(outcome, Exception):
        raise outcome
    np.testing.assert_array_equal(outcome[0].numpy(), expected.numpy())
    assert outcome[0].numpy().dtype == expected.numpy().dtype
    assert set(found_warnings) == set(expected_warnings)  # PyTorch warns of a byte mask twice


@pytest.mark.parametrize("text", WRONG_WRITES)
def test_errors_of_writing(text, mode):
    theirs, _ = result_and_error(lambda: write(torch, text))

    def attempt():
        target, _ = write(tapegrad, text)
        return target.numpy()

    ours, _ = result_and_error(attempt)
    assert_same_error(ours, theirs)


@pytest.mark.parametrize("text", [text for text in WRITES if text.startswith("v") and "=x" in text])
def test_gradients_of_what_was_written(text, mode):
    expected, leaf = write(torch, text, requires_grad=True)
    (expected * torch.arange(3.0)).sum().backward()
    result, own_leaf = write(tapegrad, text, requires_grad=True)
    assert type(result.grad_fn).__name__ == type(expected.grad_fn).__name__
    backward(result * tapegrad.tensor(np.arange(3.0)))
    np.testing.assert_array_equal(own_leaf.grad.numpy(), leaf.grad.numpy())


@pytest.mark.parametrize("text", ["x[0]", "x[1:,::2]", "x[None]", "x[...,0]", "x[T([1,0])]", "x[mask]"])
def test_only_what_kept_index_tensors_is_released(text, mode):
    """As in PyTorch, a view can be replayed again; where its slice starts is no residual."""
    outcomes = []
    for library in (torch, tapegrad):
        tensor, index = evaluate(library, text)
        tensor.requires_grad_()
        result = take(library, tensor, index)
        cotangent = library.ones_like(result)
        result.backward(cotangent)
        error, _ = result_and_error(lambda result=result, cotangent=cotangent: result.backward(cotangent))
        outcomes.append((str(error), tensor.grad.tolist()))
    assert outcomes[0] == outcomes[1]


def test_writing_to_a_view_shows_in_the_base_and_in_other_views(mode):
    base = tapegrad.tensor(np.zeros((3, 4)))
    row, column = getitem(base, 1), getitem(base, at[:, 2])
    setitem(row, at[1:3], 5)
    np.testing.assert_array_equal(base.numpy(), [[0, 0, 0, 0], [0, 5, 5, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(column.numpy(), [0, 5, 0])
    setitem(column, tapegrad.tensor(np.array([0, 2])), 7)
    np.testing.assert_array_equal(base.numpy(), [[0, 0, 7, 0], [0, 5, 5, 0], [0, 0, 7, 0]])


def test_writing_to_a_leaf_that_requires_grad_is_an_error(mode):
    leaf = tapegrad.tensor(np.zeros(3)).requires_grad_()
    for index in (0, at[:], at[...], tapegrad.tensor(np.array([0])), tapegrad.tensor(np.array([True, False, True]))):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
            setitem(leaf, index, 1)
    np.testing.assert_array_equal(leaf.detach().numpy(), np.zeros(3))


def test_warnings_point_at_the_brackets():
    tensor = tapegrad.tensor(np.arange(12.0).reshape(3, 4))
    for index in ([[0, 1], [1, 2]], np.array([1, 0, 1], np.uint8)):
        with pytest.warns(UserWarning) as caught:
            tensor[index]
        assert {warning.filename for warning in caught} == {__file__}


def test_an_index_array_may_be_written_to_afterwards():
    tensor, index = tapegrad.tensor(np.arange(3.0)), np.array([0, 1])
    taken = getitem(tensor, index)
    index[:] = 2
    np.testing.assert_array_equal(taken.numpy(), [0, 1])


def test_a_position_that_is_not_computed_yet_stays_on_the_tape(deferred):
    tensor = tapegrad.tensor(np.arange(12.0).reshape(3, 4)).requires_grad_()
    position = tapegrad.tensor(np.array(1)) - 2
    row = getitem(tensor, position)
    assert not hasattr(position, "_array")
    backward(row * row)
    np.testing.assert_array_equal(row.detach().numpy(), [8, 9, 10, 11])
    np.testing.assert_array_equal(tensor.grad.numpy(), np.diag([0, 0, 2.0]) @ np.arange(12.0).reshape(3, 4))
    outside = getitem(tapegrad.tensor(np.zeros(3)), tapegrad.tensor(np.array(1)) + 2)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        outside.detach().numpy()


def test_filling_by_a_mask_does_not_read_it(deferred):
    tensor = tapegrad.tensor(np.arange(3.0))
    mask = tensor > 0
    setitem(tensor, mask, 0)
    assert not hasattr(mask, "_array")
    np.testing.assert_array_equal(tensor.numpy(), [0, 0, 0])


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 4)), ((), ()), ((0, 3), (0, 3))])
def test_masked_select(shapes, mode):
    random = np.random.default_rng(0)
    values, mask = random.normal(size=shapes[0]), random.random(shapes[1]) < 0.5
    values, mask = np.asarray(values), np.asarray(mask)
    leaf, own_leaf = torch.from_numpy(values).requires_grad_(), tapegrad.tensor(values).requires_grad_()
    expected = leaf.masked_select(torch.from_numpy(mask))
    result = masked_select(own_leaf, tapegrad.tensor(mask))
    np.testing.assert_array_equal(result.detach().numpy(), expected.detach().numpy())
    assert type(result.grad_fn).__name__ == type(expected.grad_fn).__name__
    (expected * expected).sum().backward()
    backward(result * result)
    np.testing.assert_array_equal(own_leaf.grad.numpy(), leaf.grad.numpy())
    with pytest.raises(RuntimeError, match="masked_select: expected BoolTensor for mask"):
        masked_select(own_leaf, own_leaf)


def test_loops_over_positions_do_not_grow_the_tape_structure(deferred):
    """Where a slice starts is a run-time number: a loop of such slices is one structure, found again."""
    tensor = tapegrad.tensor(np.arange(40.0).reshape(20, 2))
    counts = []
    for step in range(3, 12):
        getitem(getitem(tensor, step), at[1:]).tolist()
        getitem(tensor, at[step : step + 2]).tolist()
        counts.append(root_for(False).count)
    assert len(set(counts[1:])) == 1
