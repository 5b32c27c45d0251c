"""Copying, pickling, saving and loading."""

from __future__ import annotations

import copy
import fractions
import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import serialization


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def _saved(value: Any) -> Any:
    file = io.BytesIO()
    serialization.save(value, file)
    file.seek(0)
    return serialization.load(file)


COPIES: list[Callable[[Any], Any]] = [copy.deepcopy, _pickled, _saved]


class Named(tg.Tensor):
    """A subclass, which copies keep."""


def _leaf_with_grad() -> tg.Tensor:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.note = ["kept"]
    return x


def test_deepcopy_keeps_requires_grad_grad_and_attributes(mode: str) -> None:
    x = _leaf_with_grad()
    y = copy.deepcopy(x)
    assert y.tolist() == [1.0, 2.0] and y.requires_grad and y.is_leaf
    assert y.grad.tolist() == [2.0, 4.0] and y.grad is not x.grad
    assert y.note == ["kept"] and y.note is not x.note
    with tg.no_grad():
        y.uniform_()
    assert x.tolist() == [1.0, 2.0]


def test_deepcopy_of_a_non_leaf_is_refused() -> None:
    message = r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol at the moment\."
    with pytest.raises(RuntimeError, match=message):
        copy.deepcopy(_leaf_with_grad() * 2)


def test_deepcopy_copies_one_tensor_once() -> None:
    x = tg.ones(2)
    first, (second,) = copy.deepcopy((x, [x]))
    assert first is second is not x


def test_pickle_drops_grad(mode: str) -> None:
    y = _pickled(_leaf_with_grad())
    assert y.tolist() == [1.0, 2.0] and y.requires_grad and y.is_leaf and y.note == ["kept"]
    assert y.grad is None


def test_pickled_non_leaf_comes_back_a_leaf(mode: str) -> None:
    y = _pickled(_leaf_with_grad() * 2)
    assert y.tolist() == [2.0, 4.0] and y.requires_grad and y.is_leaf


@pytest.mark.parametrize("make_copy", [copy.copy, *COPIES[:2]])
def test_subclass_is_kept(make_copy: Callable[[Any], Any]) -> None:
    x = Named([1.0, 2.0])
    y = make_copy(x)
    assert type(y) is Named and y.tolist() == [1.0, 2.0] and y.dtype is tg.float32


def _fill(tensor: tg.Tensor, value: float) -> None:
    with tg.no_grad():
        tensor.uniform_(value, value)


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_shared_memory_stays_shared(make_copy: Callable[[Any], Any], order: tuple[int, ...], mode: str) -> None:
    base = tg.zeros(2, 3)
    tensors = (base, base[1], base.T)
    copies = make_copy([tensors[place] for place in order])
    copied = {place: tensor for place, tensor in zip(order, copies, strict=True)}
    _fill(copied[1], 5.0)
    assert copied[0].tolist() == [[0.0] * 3, [5.0] * 3]
    assert copied[2].tolist() == [[0.0, 5.0]] * 3
    _fill(copied[0], 1.0)
    assert copied[1].tolist() == [1.0] * 3
    assert base.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("make_copy", COPIES)
def test_detached_tensor_still_shares(make_copy: Callable[[Any], Any]) -> None:
    x = tg.ones(2, requires_grad=True)
    y, detached = make_copy((x, x.detach()))
    assert y.requires_grad and not detached.requires_grad
    _fill(detached, 4.0)
    assert y.tolist() == [4.0, 4.0] and y.requires_grad


def test_view_without_its_base_is_enough(mode: str) -> None:
    view = _pickled(tg.arange(6).reshape(2, 3)[1])
    assert view.tolist() == [3, 4, 5]


def test_view_of_a_leaf_comes_back_a_leaf() -> None:
    x = tg.ones(3, requires_grad=True)
    y, view = _pickled((x, x[1:]))
    assert view.is_leaf and view.requires_grad
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2.0, 2.0] and y.grad is None


@pytest.mark.parametrize("dtype", [tg.float16, tg.bfloat16, tg.float32, tg.complex64, tg.int8, tg.int64, tg.bool])
@pytest.mark.parametrize("make_copy", COPIES)
def test_every_dtype(make_copy: Callable[[Any], Any], dtype: Any) -> None:
    x = tg.tensor([1, 0], dtype=dtype)
    y = make_copy(x)
    assert y.dtype is dtype and y.tolist() == x.tolist()


@pytest.mark.parametrize("make_copy", COPIES)
def test_layout_is_kept(make_copy: Callable[[Any], Any]) -> None:
    x = tg.zeros_like(tg.ones(2, 3).T)
    assert make_copy(x).stride() == x.stride() == (1, 3)
    assert make_copy(tg.zeros(2, 0)).shape == (2, 0)
    assert make_copy(tg.tensor(3.0)).tolist() == 3.0


def test_copy_does_not_see_what_is_written_to_a_shared_array() -> None:
    array = np.zeros(2)
    x = tg.from_numpy(array)
    copied = copy.copy(x)
    array[0] = 1
    assert x.tolist() == [1.0, 0.0] and copied.tolist() == [0.0, 0.0]


def test_copy_of_an_inference_tensor_is_a_normal_one() -> None:
    with tg.inference_mode():
        x = tg.ones(2)
    assert not copy.deepcopy(x).is_inference() and not _pickled(x).is_inference()


def test_small_values_pickle_to_themselves() -> None:
    for value in (tg.float32, tg.strided, tg.channels_last):
        assert _pickled(value) is value
    assert repr(_pickled(tg.ones(2, 3).shape)) == "torch.Size([2, 3])"


# Files


def test_save_and_load_by_path(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    state = OrderedDict(weight=tg.ones(2, 2), steps=[1, 2.5, None, "name", {3}], shape=tg.ones(2).shape, dtype=tg.float64)
    state["array"] = np.arange(3)
    serialization.save(state, path)
    found = serialization.load(str(path), map_location="cpu")
    assert list(found) == list(state) and isinstance(found, OrderedDict)
    assert found["weight"].tolist() == [[1.0, 1.0]] * 2 and found["steps"] == state["steps"]
    assert found["dtype"] is tg.float64 and found["array"].tolist() == [0, 1, 2]


class Unknown:
    """Something that a file of weights has no business to contain."""


def test_load_reads_only_weights_unless_told_otherwise() -> None:
    file = io.BytesIO()
    serialization.save([Unknown()], file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed\. Unsupported global: GLOBAL .*Unknown"):
        serialization.load(file)
    file.seek(0)
    assert isinstance(serialization.load(file, weights_only=False)[0], Unknown)


def test_load_runs_no_code_of_the_file() -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return exec, ("raise SystemExit",)

    with pytest.raises(pickle.UnpicklingError, match="GLOBAL builtins.exec"):
        serialization.load(io.BytesIO(pickle.dumps(Attack())))


def test_classes_can_be_trusted() -> None:
    file = io.BytesIO(pickle.dumps(fractions.Fraction(1, 3)))
    serialization.add_safe_globals([fractions.Fraction])
    assert serialization.load(file) == fractions.Fraction(1, 3)


def test_files_that_are_none_of_ours() -> None:
    with pytest.raises(pickle.UnpicklingError, match="this is a zip archive, as torch.save writes it"):
        serialization.load(io.BytesIO(b"PK\x03\x04"))
    with pytest.raises(EOFError):
        serialization.load(io.BytesIO())
    with pytest.raises(FileNotFoundError):
        serialization.load("/no/such/file")
    with pytest.raises(AttributeError, match="file-like object with a 'write' attribute"):
        serialization.save(1, 3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="file-like object with a 'read' attribute"):
        serialization.load(3)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="CUDA"):
        serialization.load(io.BytesIO(pickle.dumps(1)), map_location="cuda")
