"""Matrix products in compiled programs: by loops and by BLAS, in every layout."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import blas, products
from tapegrad.primitives.declare import TABLE
from tapegrad.tape.types import Shape

from .comparing import calls, compiled, floats, layouts_of, run_row

ROWS = [TABLE[name] for name in ("matmul", "matmul_nt", "matmul_tn")]
DTYPES = ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_samples(row: Any, dtype: str) -> None:
    for sample in row.samples():
        for operands in layouts_of(floats(sample, dtype)):
            program = run_row(row, operands, sample.parameters)
            assert bool(calls(program)) == (0 in (*operands[0].shape, *operands[1].shape))


# Left, right: of a size for BLAS, and for matrices that are vectors
SHAPES: list[tuple[Shape, Shape]] = [
    ((9, 11), (11, 7)),
    ((3, 9, 11), (11, 7)),
    ((9, 11), (3, 11, 7)),
    ((4, 3, 9, 11), (4, 3, 11, 7)),
    ((4, 1, 9, 11), (3, 11, 7)),
    ((2, 1, 3, 9, 11), (5, 1, 11, 7)),
    ((1, 40), (40, 30)),
    ((30, 40), (40, 1)),
    ((4, 30, 40), (40, 1)),
    ((30, 1), (1, 40)),
    ((2, 3, 30, 1), (3, 1, 40)),
    ((1, 4000), (4000, 1)),
    ((5, 1, 11), (11, 7)),
    ((17, 25), (25, 40)),  # BLAS gets one of these turned: the smaller
    ((40, 25), (25, 17)),
    ((30, 16, 33), (30, 33, 24)),
]


def turned(array: Any) -> Any:
    """Return the same matrices, lying column by column."""
    return np.ascontiguousarray(np.swapaxes(array, -1, -2)).swapaxes(-1, -2)


def cut(array: Any) -> Any:
    """Return the same matrices, cut out of larger ones."""
    larger = np.zeros((*array.shape[:-2], array.shape[-2] + 2, array.shape[-1] + 3), array.dtype)
    larger[..., 1:-1, 2:-1] = array
    return larger[..., 1:-1, 2:-1]


LAYOUTS: list[Callable[[Any], Any]] = [np.ascontiguousarray, turned, cut, lambda array: turned(cut(turned(array)))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_layouts(left: Shape, right: Shape, dtype: str) -> None:
    """None of these is left to Python."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=left).astype(dtype), random.normal(size=right).astype(dtype)
    for of_a, of_b in itertools.product(LAYOUTS, LAYOUTS):
        assert not calls(run_row(TABLE["matmul"], [of_a(a), of_b(b)], {}))
        if a.ndim == b.ndim == 2:
            assert not calls(run_row(TABLE["matmul_nt"], [of_a(a), of_b(b).T], {}))
            assert not calls(run_row(TABLE["matmul_tn"], [of_a(a).T, of_b(b)], {}))


def test_layouts_that_blas_cannot_read_are_left_to_python() -> None:
    a = np.random.default_rng(0).normal(size=(40, 40))
    assert calls(run_row(TABLE["matmul"], [a[:, ::2], a[::2]], {})) == ["matmul"]
    assert calls(run_row(TABLE["matmul"], [a, np.broadcast_to(a[0], (40, 40))], {})) == ["matmul"]
    assert calls(run_row(TABLE["matmul"], [a[:5, ::2], a[::2, :5]], {})) == []  # few elements: a loop


@pytest.mark.parametrize("find", [blas._of_numpy, blas._of_scipy])
@pytest.mark.parametrize("dtype", DTYPES)
def test_either_library_multiplies(find: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = {"float32": "f4", "float64": "f8"}[dtype]
    routine = find(kind)
    if routine is None:
        pytest.skip("this library does not show its routines")
    monkeypatch.setattr(blas, "gemm", lambda kind: routine)
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 9, 11)).astype(dtype), random.normal(size=(2, 11, 7)).astype(dtype)
    for of_a, of_b in itertools.product(LAYOUTS, LAYOUTS):
        program = run_row(TABLE["matmul"], [of_a(a), of_b(b)], {})
        assert any([f"{routine.caller}(" in source for source in program.kernels])


def test_without_a_library_python_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "gemm", lambda kind: None)
    a = np.random.default_rng(0).normal(size=(40, 11))
    assert calls(run_row(TABLE["matmul"], [a, a.T.copy()], {})) == ["matmul"]
    assert calls(run_row(TABLE["matmul"], [a[:2], a.T[:, :2].copy()], {})) == []  # a loop


def test_rows_of_all_matrices_are_one_product() -> None:
    """Where the right matrix is the same for all."""
    of = products.Matrices
    product = products.Product("f4", (4, 3), 5, 6, 7, of(0, (105, 35), 7, 1), of(1, (0, 0), 6, 1))
    together = products._with_rows_together(products._with_batch_merged(product))
    assert (together.batch, together.m, together.a) == ((), 60, of(0, (), 7, 1))
    apart = products._with_rows_together(products._with_batch_merged(product._replace(a=of(0, (120, 40), 7, 1))))
    assert (apart.batch, apart.m) == ((12,), 5)


def test_a_layer_and_its_reverse_sweep_need_no_numpy() -> None:
    x = tapegrad.randn(32, 20)
    weight, bias = tapegrad.randn(10, 20, requires_grad=True), tapegrad.randn(10, requires_grad=True)
    with compiled() as programs:
        tapegrad.nn.functional.linear(x, weight, bias).relu().sum().backward()
        assert weight.grad is not None
        weight.grad.numpy()
    assert [calls(program) for program in programs] == [[]]


@pytest.mark.parametrize("count", [1, 2, 9])
def test_large_products_take_one_thread_each(count: int) -> None:
    """While they last; BLAS has as many threads afterwards as before."""
    if not blas.guard():
        pytest.skip("this library does not say how many threads it has")
    get_threads, set_threads = [int(word) for word in blas._guard[3:]]
    threads = ctypes.CFUNCTYPE(ctypes.c_int)(get_threads)
    choose_threads = ctypes.CFUNCTYPE(None, ctypes.c_int)(set_threads)
    before = threads()
    choose_threads(2)
    try:
        a = np.random.default_rng(0).normal(size=(count, 70, 70))
        program = run_row(TABLE["matmul"], [a, a], {})
        assert _guards(program) == [blas.guard()]
        assert threads() == 2
        assert list(blas._guard[:2]) == [0, 0]
        program = run_row(TABLE["matmul"], [a[0, :60], a[0, :, :60]], {})
        assert _guards(program) == [0]
    finally:
        choose_threads(before)


@pytest.mark.parametrize("m, n, k", [(515, 64, 64), (64, 1000, 70), (513, 514, 30), (700, 65, 300)])
@pytest.mark.parametrize("name", ["matmul", "matmul_nt", "matmul_tn"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_products_are_shared_block_by_block(m: int, n: int, k: int, name: str, dtype: str) -> None:
    """The last block is smaller."""
    generator = np.random.default_rng(0)
    a = generator.normal(size=(k, m) if name == "matmul_tn" else (m, k)).astype(dtype)
    b = generator.normal(size=(n, k) if name == "matmul_nt" else (k, n)).astype(dtype)
    for operands in layouts_of((a, b)):
        run_row(TABLE[name], operands, {})


def _guards(program: Any) -> list[int]:
    """Return where the runs of a program keep BLAS to one thread, or 0 if they do not."""
    return [guard for *_, guard in program._machine.runs]
