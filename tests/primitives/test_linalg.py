"""Linear algebra: what the table's tests leave out. Errors, singular and degenerate matrices, and the array functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives import lapack
from tapegrad.primitives import linalg as rows
from tests.primitives.driver import slope

DTYPES = ["float32", "float64", "complex64", "complex128"]
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
BATCH = np.stack([np.eye(2), SINGULAR, np.zeros((2, 2))])
DEGENERATE = {
    "rank 2": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]),
    "rank 1": np.outer([1.0, 2.0, 3.0], [3.0, -1.0, 2.0]),
    "zero": np.zeros((3, 3)),
    "identity": np.eye(3),
}


def leaf(array: Any) -> Any:
    return tapegrad.tensor(array).requires_grad_()


def gradient(output: Any, *inputs: Any, **options: Any) -> Any:
    return tapegrad.autograd.grad(output, inputs, **options)


def random(dtype: str, *shape: int) -> Any:
    generator = np.random.default_rng(0)
    parts = generator.uniform(-1, 1, (2, *shape))
    return (parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]).astype(dtype)


def tolerance(dtype: str) -> float:
    return 1e-4 if dtype in ("float32", "complex64") else 1e-11


# Errors: type and text are PyTorch's


WRONG_VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "inverse": (rows.inverse, lambda torch, a: torch.linalg.inv(a)),
    "cholesky": (rows.cholesky, lambda torch, a: torch.linalg.cholesky(a)),
    "solve": (lambda a: rows.solve(a, tapegrad.tensor(np.eye(2))), lambda torch, a: torch.linalg.solve(a, torch.eye(2).double())),
    "lu_factor": (rows.lu_factor, lambda torch, a: torch.linalg.lu_factor(a)),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", WRONG_VALUES)
@pytest.mark.parametrize("array", [SINGULAR, BATCH, BATCH.reshape(3, 1, 2, 2)], ids=["one", "batch", "deep batch"])
def test_errors_that_need_values(name: str, array: Any, torch: Any, mode: str) -> None:
    ours, theirs = WRONG_VALUES[name]
    with pytest.raises(RuntimeError) as expected:
        theirs(torch, torch.tensor(array))
    with pytest.raises(RuntimeError) as raised:
        results = ours(tapegrad.tensor(array))
        (results[0] if isinstance(results, tuple) else results).numpy()
    assert str(raised.value) == str(expected.value)
    assert isinstance(raised.value, rows.LinAlgError) == isinstance(expected.value, torch.linalg.LinAlgError)


@pytest.mark.peer
@pytest.mark.parametrize("array", [np.full((2, 2), np.nan), np.array([[4.0, 2.0], [2.0, 1.0 - 1e-9]])], ids=["nan", "indefinite"])
def test_cholesky_of_what_is_not_positive_definite(array: Any, torch: Any) -> None:
    with pytest.raises(torch.linalg.LinAlgError) as expected:
        torch.linalg.cholesky(torch.tensor(array))
    with pytest.raises(rows.LinAlgError) as raised:
        rows.cholesky(tapegrad.tensor(array)).numpy()
    assert str(raised.value) == str(expected.value)


WRONG_TYPES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "inverse": (rows.inverse, "inv"),
    "determinant": (rows.determinant, "det"),
    "slogdet": (rows.slogdet, "slogdet"),
    "cholesky": (rows.cholesky, "cholesky"),
    "qr": (lambda a: rows.qr(a, mode="reduced"), "qr"),
    "svd": (lambda a: rows.svd(a, full_matrices=True), "svd"),
    "svdvals": (rows.svdvals, "svdvals"),
    "eigh": (lambda a: rows.eigh(a, uplo="L"), "eigh"),
    "eigvalsh": (lambda a: rows.eigvalsh(a, uplo="L"), "eigvalsh"),
    "lu_factor": (rows.lu_factor, "lu_factor"),
    "matrix_exp": (rows.matrix_exp, "matrix_exp"),
    "pinv": (lambda a: rows.pinv(a, 0.0, 0.0, hermitian=False), "pinv"),
}
WRONG_OPERANDS = {
    "wide": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]),
    "vector": np.ones(3),
    "integer": np.ones((2, 2), np.int64),
    "half": np.ones((2, 2), np.float16),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", WRONG_TYPES)
@pytest.mark.parametrize("kind", WRONG_OPERANDS)
def test_errors_that_need_no_values(name: str, kind: str, torch: Any) -> None:
    ours, theirs = WRONG_TYPES[name]
    try:
        getattr(torch.linalg, theirs)(torch.tensor(WRONG_OPERANDS[kind]))
    except RuntimeError as expected:
        with pytest.raises(type(expected)) as raised:
            ours(tapegrad.tensor(WRONG_OPERANDS[kind]))
        assert str(raised.value) == str(expected)
    else:
        ours(tapegrad.tensor(WRONG_OPERANDS[kind]))


@pytest.mark.peer
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((2, 3)), np.ones((2, 2))),
        (np.eye(2), np.ones((3, 2))),
        (np.eye(2), np.ones((2, 2), np.float32)),
        (np.eye(2), np.ones(())),
        (np.eye(2, dtype=np.int64), np.eye(2, dtype=np.int64)),
        (np.stack([np.eye(2)] * 3), np.ones((4, 2, 1))),
    ],
    ids=["wide", "lengths", "dtypes", "0-d", "integer", "batches"],
)
def test_errors_of_systems(a: Any, b: Any, torch: Any) -> None:
    with pytest.raises(RuntimeError) as expected:
        torch.linalg.solve(torch.tensor(a), torch.tensor(b))
    with pytest.raises(RuntimeError) as raised:
        rows.solve(tapegrad.tensor(a), tapegrad.tensor(b))
    assert str(raised.value).startswith(str(expected.value))


def test_without_a_check_failures_are_told_and_the_rest_is_computed(mode: str) -> None:
    inverses, info = rows.inverse_ex(tapegrad.tensor(BATCH), check=None)
    assert info.numpy().tolist() == [0, 2, 1]
    np.testing.assert_array_equal(np.isnan(inverses.numpy()).all((-2, -1)), [False, True, True])
    np.testing.assert_array_equal(inverses.numpy()[0], np.eye(2))
    solutions, info = rows.solve_ex(tapegrad.tensor(BATCH), tapegrad.tensor(np.ones((2, 1))), check=None)
    assert info.numpy().tolist() == [0, 2, 1]
    np.testing.assert_array_equal(solutions.numpy()[0], np.ones((2, 1)))
    factors, info = rows.cholesky_ex(tapegrad.tensor(BATCH), upper=False, check=None)
    assert info.numpy().tolist() == [0, 2, 1]
    np.testing.assert_array_equal(factors.numpy()[0], np.eye(2))


# Degenerate matrices


def minors(a: Any) -> Any:
    """Return the cofactors of a 3 by 3 matrix, by the definition."""
    return np.stack([np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])])


@pytest.mark.parametrize("kind", DEGENERATE)
def test_the_gradient_of_a_determinant_is_its_cofactors(kind: str, mode: str) -> None:
    x = leaf(DEGENERATE[kind])
    (first,) = gradient(rows.determinant(x), x)
    np.testing.assert_allclose(first.numpy(), minors(DEGENERATE[kind]), atol=1e-13)


@pytest.mark.parametrize("kind", DEGENERATE)
def test_the_second_derivative_of_a_determinant(kind: str) -> None:
    """Of three rows it is linear in each, so a difference quotient of cofactors is exact."""
    weights, direction = random("float64", 2, 3, 3)
    x = leaf(DEGENERATE[kind])
    (first,) = gradient(rows.determinant(x), x, create_graph=True)
    (second,) = gradient((first * tapegrad.tensor(weights)).sum(), x)
    expected = slope(lambda a: float((minors(a) * weights).sum()), DEGENERATE[kind], direction, step=0.1)
    np.testing.assert_allclose((second.numpy() * direction).sum(), expected, rtol=1e-10)


def test_the_third_derivative_of_a_determinant_at_the_identity() -> None:
    """Through the inverse, as there are no distinct singular vectors: of ``x y z`` it is 1."""
    x = leaf(np.eye(3))
    derivative = rows.determinant(x)
    for place in range(3):
        (part,) = gradient(derivative, x, create_graph=True)
        mask = np.zeros((3, 3))
        mask[place, place] = 1
        derivative = (part * tapegrad.tensor(mask)).sum()
    np.testing.assert_allclose(derivative.detach().numpy(), 1, rtol=1e-12)


def test_the_determinant_of_integers_is_exact() -> None:
    assert rows.determinant(tapegrad.tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))).numpy() == -2


def test_the_pseudo_inverse_of_repeated_singular_values_has_a_gradient() -> None:
    x = leaf(np.eye(3)[:, :2])
    weights = random("float64", 2, 3)
    (first,) = gradient((rows.pinv(x, 0.0, 1e-12, hermitian=False) * tapegrad.tensor(weights)).sum(), x)
    direction = random("float64", 3, 2)
    expected = slope(lambda a: float((np.linalg.pinv(a) * weights).sum()), np.eye(3)[:, :2], direction)
    np.testing.assert_allclose((first.numpy() * direction).sum(), expected, rtol=1e-9)


# Vectors that have a phase: functions that do not depend on it


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_svd_of_functions_without_phase(dtype: str, shape: tuple[int, int], full: bool, torch: Any) -> None:
    """The polar factor is one; with all vectors, the projection on those of no singular value is another."""
    array, (m, n) = random(dtype, *shape), shape
    count = min(shape)

    def projections(u: Any, vh: Any, adjoint: Callable[[Any], Any]) -> list[Any]:
        return [u[:, :count] @ vh[:count], u[:, count:] @ adjoint(u[:, count:]), adjoint(vh[count:]) @ vh[count:]]

    weights = [random(dtype, m, n), random(dtype, m, m), random(dtype, n, n)]
    x = leaf(array)
    u, _, vh = rows.svd(x, full_matrices=full)
    (ours,) = tapegrad.autograd.grad(projections(u, vh, lambda t: t.mH), x, [tapegrad.tensor(w) for w in weights])
    y = torch.tensor(array, requires_grad=True)
    u, s, vh = torch.linalg.svd(y, full_matrices=False)
    expected = [u @ vh, torch.eye(m, dtype=y.dtype) - u @ u.mH, torch.eye(n, dtype=y.dtype) - vh.mH @ vh]
    if not full:
        expected = [u @ vh, torch.zeros_like(expected[1]) * s.sum(), torch.zeros_like(expected[2]) * s.sum()]
    (theirs,) = torch.autograd.grad(expected, y, [torch.tensor(w) for w in weights])
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("hermitian", [False, True])
def test_functions_of_matrices_through_eigenvectors(dtype: str, hermitian: bool, torch: Any) -> None:
    array, weights = random(dtype, 3, 3), random("complex128", 3, 3)

    def exponential(matrix: Any, w: Any, v: Any, inverse: Any) -> Any:
        return (v * w.exp().reshape(1, 3)) @ inverse

    x, y = leaf(array), torch.tensor(array, requires_grad=True)
    if hermitian:
        weights = random(dtype, 3, 3)
        w, v = rows.eigh(x + x.mH, uplo="U")
        ours = exponential(x, w, v, v.mH)
        theirs = torch.linalg.matrix_exp(y + y.mH)
    else:
        w, v = rows.eig(x)
        ours = exponential(x, w, v, rows.inverse(v))
        theirs = torch.linalg.matrix_exp(y.to(torch.complex128))
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-10)
    (first,) = gradient(ours, x, grad_outputs=tapegrad.tensor(weights))
    (expected,) = torch.autograd.grad(theirs, y, torch.tensor(weights))
    np.testing.assert_allclose(first.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


def test_complete_qr_of_a_tall_matrix_has_no_derivative() -> None:
    x = leaf(random("float64", 3, 2))
    q, _ = rows.qr(x, mode="complete")
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        gradient(q.sum(), x)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (lambda a: rows.svd(a, full_matrices=True)[0], "linalg.svd: The algorithm failed to converge because"),
        (lambda a: rows.eig(a)[0], "torch.linalg.eig: input tensor should not contain infs or NaNs."),
    ],
    ids=["svd", "eig"],
)
def test_nan_raises(row: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        row(tapegrad.tensor(np.full((2, 2), np.nan))).numpy()


# Norms


@pytest.mark.peer
@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("vector", [[0.0, 0.0], [0.0, 2.0, -2.0], [np.nan, 1.0]], ids=str)
def test_subgradients_of_norms(order: float, vector: list[float], torch: Any) -> None:
    x, y = leaf(np.array(vector)), torch.tensor(vector, dtype=torch.float64, requires_grad=True)
    norm = rows.vector_norm(x, order=order, axes=(0,), keepdims=False)
    expected = torch.linalg.vector_norm(y, order)
    np.testing.assert_array_equal(norm.detach().numpy(), expected.detach().numpy())
    if order:
        np.testing.assert_allclose(gradient(norm, x)[0].numpy(), torch.autograd.grad(expected, y)[0].numpy(), rtol=1e-14)


# The array functions: one by one with LAPACK, or all at once


@pytest.mark.peer
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (40, 3, 3), (40, 4, 2), (40, 2, 4), (2, 3, 6, 6), (30, 30)], ids=str)
def test_lu_factors(dtype: str, shape: tuple[int, ...], torch: Any) -> None:
    a = random(dtype, *shape)
    compact, pivots, info = lapack.lu_factor(a)
    expected = torch.linalg.lu_factor_ex(torch.tensor(a))
    np.testing.assert_allclose(compact, expected.LU.numpy(), rtol=tolerance(dtype), atol=tolerance(dtype))
    np.testing.assert_array_equal(pivots, expected.pivots.numpy())
    np.testing.assert_array_equal(info, expected.info.numpy())


def test_many_small_matrices_are_factored_as_each_is() -> None:
    stack = np.concatenate([random("float64", 40, 3, 3), np.zeros((1, 3, 3)), np.full((1, 3, 3), np.nan)])
    compact, pivots, info = lapack.lu_factor(stack)
    for matrix, *expected in zip(stack, compact, pivots, info, strict=True):
        for actual, part in zip(lapack.lu_factor(matrix), expected, strict=True):
            np.testing.assert_allclose(actual, part, rtol=1e-12, atol=1e-14)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangular_solutions(dtype: str, count: int, upper: bool, unitriangular: bool, torch: Any) -> None:
    a, b = random(dtype, count, 3, 3), random(dtype, 3, 2)
    a[0, 1, 1] = 0  # as PyTorch does, the solution then is infinite or NaN
    with np.errstate(all="ignore"):
        actual = lapack.triangular_solve(a, b, upper, unitriangular)
    expected = torch.linalg.solve_triangular(torch.tensor(a), torch.tensor(b), upper=upper, unitriangular=unitriangular).numpy()
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(actual), finite)
    np.testing.assert_allclose(actual[finite], expected[finite], rtol=tolerance(dtype) * 10)


@pytest.mark.parametrize("scale", [0.0, 1e-8, 0.1, 3.0, 40.0])
def test_exponentials(scale: float) -> None:
    """Of a rotation and of a nilpotent matrix, in one stack."""
    a = np.array([[[0.0, -1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]) * scale
    cosine, sine = np.cos(scale), np.sin(scale)
    expected = np.array([[[cosine, -sine], [sine, cosine]], [[1.0, scale], [0.0, 1.0]]])
    with np.errstate(all="ignore"):
        actual = lapack.matrix_exponential(a)
    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-13)


def test_exponentials_that_are_not_finite() -> None:
    stack = np.stack([np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.zeros((2, 2))])
    with np.errstate(all="ignore"):
        result = lapack.matrix_exponential(stack)
    assert np.isnan(result[:2]).all()
    np.testing.assert_array_equal(result[2], np.eye(2))
