"""tapegrad.linalg and the older names: values, gradients, result types and errors, against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad
import tapegrad.linalg
from tapegrad.functions import linear_algebra

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

Function = Callable[..., Any]
DTYPES = ["float64", "complex128"]
ORDERS = ["fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf]
SHAPES = [(3, 3), (2, 4, 3), (3, 4)]


def matrix(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    """Return random matrices; square ones are well-conditioned."""
    parts = np.random.default_rng([seed, *shape]).uniform(-1, 1, (2, *shape))
    array = parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]
    if len(shape) > 1 and shape[-1] == shape[-2]:
        array = array + 2 * np.eye(shape[-1])
    return array.astype(dtype)


def as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple) else (results,)


def to_array(tensor: Any) -> Any:
    tensor = tensor.detach()
    return (tensor.resolve_conj() if isinstance(tensor, torch.Tensor) else tensor).numpy()


def compare(ours: Function, theirs: Function, *arrays: Any, differentiable: bool = True) -> None:
    """Compare results (their names too, where there are several) and gradients."""
    x = [tapegrad.tensor(array).requires_grad_(array.dtype.kind in "fc") for array in arrays]
    y = [torch.tensor(array, requires_grad=array.dtype.kind in "fc") for array in arrays]
    actual, expected = ours(*x), theirs(*y)
    if hasattr(actual, "fields"):
        assert all(getattr(expected, field) is expected[place] for place, field in enumerate(actual.fields))
    for one, other in zip(as_tuple(actual), as_tuple(expected), strict=True):
        assert to_array(one).dtype == to_array(other).dtype
        np.testing.assert_allclose(to_array(one), to_array(other), rtol=1e-9, atol=1e-11)
    if not differentiable:
        return
    pairs = [(a, e) for a, e in zip(as_tuple(actual), as_tuple(expected), strict=True) if a.requires_grad]
    if not pairs:
        return
    assert all(e.requires_grad for _, e in pairs)
    weights = [matrix(*a.shape, dtype=to_array(a).dtype.name, seed=1) if a.ndim else to_array(a) * 0 + 1 for a, _ in pairs]
    given = [tapegrad.tensor(weight) for weight in weights]
    sources = [tensor for tensor in x if tensor.requires_grad]
    first = tapegrad.autograd.grad([a for a, _ in pairs], sources, given, allow_unused=True, materialize_grads=True)
    wanted = torch.autograd.grad(
        [e for _, e in pairs],
        [tensor for tensor in y if tensor.requires_grad],
        [torch.tensor(weight) for weight in weights],
        allow_unused=True,
        materialize_grads=True,
    )
    for one, other in zip(first, wanted, strict=True):
        np.testing.assert_allclose(to_array(one), to_array(other), rtol=1e-8, atol=1e-9)


def check(name: str, *arrays: Any, differentiable: bool = True, **options: Any) -> None:
    ours, theirs = getattr(tapegrad.linalg, name), getattr(torch.linalg, name)
    compare(lambda *a: ours(*a, **options), lambda *a: theirs(*a, **options), *arrays, differentiable=differentiable)


def test_every_name_of_torch_linalg_is_there() -> None:
    missing = {"ldl_factor", "ldl_factor_ex", "ldl_solve"}
    names = {name for name in dir(torch.linalg) if not name.startswith("_") and callable(getattr(torch.linalg, name))}
    assert names - {"Tensor"} - set(tapegrad.linalg.__all__) == missing


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["det", "slogdet", "inv", "inv_ex", "matrix_exp", "lu", "lu_factor", "lu_factor_ex", "pinv"])
def test_functions_of_square_matrices(name: str, dtype: str) -> None:
    check(name, matrix(2, 3, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["qr", "lu", "lu_factor", "svdvals", "pinv", "matrix_rank", "lu_factor_ex"])
def test_functions_of_any_matrices(name: str, shape: tuple[int, ...], dtype: str) -> None:
    check(name, matrix(*shape, dtype=dtype), differentiable=name != "matrix_rank")


@pytest.mark.parametrize("name", ["svd", "qr", "lu", "pinv", "matrix_rank", "svdvals", "cond"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 0)], ids=str)
def test_empty_matrices(name: str, shape: tuple[int, ...]) -> None:
    check(name, np.zeros(shape), differentiable=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("name", ["solve", "solve_ex"])
def test_solve(name: str, left: bool, dtype: str) -> None:
    b = matrix(3, 3, dtype=dtype, seed=2)
    for a in (matrix(3, 3, dtype=dtype), matrix(2, 3, 3, dtype=dtype)):
        check(name, a, b, left=left)
    if left:
        check(name, matrix(3, 3, dtype=dtype), b[0])
        check(name, matrix(2, 3, 3, dtype=dtype), b[:2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_lu_solve(left: bool, adjoint: bool, dtype: str) -> None:
    def run(module: Any, a: Any, b: Any) -> Any:
        return module.lu_solve(*module.lu_factor(a), b, left=left, adjoint=adjoint)

    arrays = matrix(2, 3, 3, dtype=dtype), matrix(3, 3, dtype=dtype, seed=2)
    compare(lambda *a: run(tapegrad.linalg, *a), lambda *a: run(torch.linalg, *a), *arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky", "cholesky_ex"])
def test_cholesky(name: str, upper: bool, dtype: str) -> None:
    compare(
        lambda a: getattr(tapegrad.linalg, name)(a @ a.mH, upper=upper),
        lambda a: getattr(torch.linalg, name)(a @ a.mH, upper=upper),
        matrix(2, 3, 3, dtype=dtype),
    )


@pytest.mark.parametrize("uplo", ["L", "U", "l", "u"])
def test_eigvalsh_reads_one_triangle(uplo: str) -> None:
    check("eigvalsh", matrix(3, 3), UPLO=uplo, differentiable=False)


def test_qr_without_q() -> None:
    check("qr", matrix(4, 3), mode="r", differentiable=False)
    x = tapegrad.tensor(matrix(4, 3)).requires_grad_()
    assert tapegrad.linalg.qr(x, "r").R.requires_grad


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_lstsq(driver: str | None, shape: tuple[int, ...], dtype: str) -> None:
    a, b = matrix(*shape, dtype=dtype), matrix(*shape[:-1], 2, dtype=dtype)
    check("lstsq", a, b, driver=driver, differentiable=False)
    check("lstsq", a, b[..., 0], driver=driver, differentiable=False)
    modules = (tapegrad.linalg, torch.linalg)
    compare(*[lambda *x, module=module: module.lstsq(*x, driver=driver).solution for module in modules], a, b)


def test_lstsq_of_less_than_full_rank() -> None:
    check("lstsq", np.ones((3, 2)), np.ones((3, 1)), driver="gelsd", differentiable=False)


@pytest.mark.parametrize("options", [{"rtol": 0.2}, {"atol": 0.5}, {"rtol": 0.1, "atol": 0.3}], ids=str)
@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
def test_tolerances(name: str, options: dict[str, float]) -> None:
    a = matrix(4, 3, 3) - 2 * np.eye(3)
    check(name, a, **options, differentiable=name == "pinv")
    for key, value in options.items():
        each = np.array([value, value / 2, value / 4, 10.0])
        compare(
            lambda x, key=key, each=each: getattr(tapegrad.linalg, name)(x, **{key: tapegrad.tensor(each)}),
            lambda x, key=key, each=each: getattr(torch.linalg, name)(x, **{key: torch.tensor(each)}),
            a,
            differentiable=name == "pinv",
        )
    check(name, a + a.swapaxes(-1, -2), **options, hermitian=True, differentiable=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_matrix_norms(order: Any, keepdim: bool, dtype: str) -> None:
    for shape in SHAPES:
        check("matrix_norm", matrix(*shape, dtype=dtype), ord=order, keepdim=keepdim)
    check("matrix_norm", matrix(2, 3, 4, dtype=dtype), ord=order, dim=(0, -1), keepdim=keepdim)
    check("norm", matrix(3, 4, dtype=dtype), ord=order, keepdim=keepdim)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [None, 0, 0.5, 1, 1.5, 2, 3, -1, math.inf, -math.inf], ids=str)
def test_vector_norms(order: Any, dtype: str) -> None:
    check("norm", matrix(5, dtype=dtype), ord=order)
    check("norm", matrix(2, 3, 4, dtype=dtype), ord=order, dim=1)
    check("vector_norm", matrix(2, 3, 4, dtype=dtype), ord=2 if order is None else order, dim=(0, 2), keepdim=True)


@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_condition_numbers(order: Any) -> None:
    """Values by PyTorch's; of some orders PyTorch cannot differentiate, so gradients by the definition."""
    check("cond", matrix(2, 3, 3), p=order, differentiable=False)

    def define(a: Any) -> Any:
        if order in (None, 2, -2):
            return torch.linalg.cond(a, order)
        return torch.linalg.matrix_norm(a, order) * torch.linalg.matrix_norm(torch.linalg.inv(a), order)

    compare(lambda a: tapegrad.linalg.cond(a, order), define, matrix(2, 3, 3))


def test_the_condition_of_a_singular_matrix_is_infinite() -> None:
    for order in (1, "fro", math.inf, 2):
        assert tapegrad.linalg.cond(tapegrad.tensor(np.zeros((2, 2)) + np.diag([1.0, 0.0])), order).item() == math.inf


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 5, 8])
def test_matrix_power(n: int, dtype: str) -> None:
    check("matrix_power", matrix(2, 3, 3, dtype=dtype), n=n)


CHAINS = [[(3, 4), (4, 2)], [(3,), (3,)], [(3, 9), (9, 2), (2, 5), (5, 1)], [(4,), (4, 2), (2,)]]


@pytest.mark.parametrize("shapes", CHAINS, ids=str)
def test_multi_dot(shapes: Any) -> None:
    arrays = [matrix(*shape) for shape in shapes]
    compare(lambda *a: tapegrad.linalg.multi_dot(a), lambda *a: torch.linalg.multi_dot(a), *arrays)


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_products_of_vectors(dtype: str) -> None:
    check("cross", (matrix(2, 3) * 5).astype(dtype), (matrix(1, 3) * 5).astype(dtype))
    check("cross", (matrix(3, 2) * 5).astype(dtype), (matrix(3, 2, seed=1) * 5).astype(dtype), dim=0)
    check("vander", (matrix(2, 3) * 3).astype(dtype))
    check("vander", (matrix(2, 3) * 3).astype(dtype), N=2)
    if dtype != "int64":
        check("vecdot", matrix(2, 3, dtype=dtype), matrix(3, dtype=dtype))
        check("vecdot", matrix(3, dtype=dtype), matrix(3, dtype=dtype, seed=1))
        check("vecdot", matrix(3, 2, dtype=dtype), matrix(3, 2, dtype=dtype, seed=1), dim=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_householder_product(dtype: str) -> None:
    check("householder_product", matrix(2, 4, 3, dtype=dtype), matrix(2, 3, dtype=dtype))
    check("householder_product", matrix(4, 3, dtype=dtype), matrix(1, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_as_matrices(dtype: str) -> None:
    a = matrix(6, 6, dtype=dtype)
    check("tensorinv", a.reshape(2, 3, 6), ind=2)
    check("tensorsolve", a.reshape(2, 3, 6), matrix(2, 3, dtype=dtype))
    check("tensorsolve", a.reshape(2, 6, 3), matrix(6, dtype=dtype), dims=(0, 2))


def test_names_of_graph_nodes() -> None:
    square = matrix(3, 3)
    for name in ("det", "inv", "cholesky", "svdvals", "eigvalsh", "eigvals", "matrix_exp", "norm", "cond", "pinv"):
        array = square @ square.T
        ours = getattr(tapegrad.linalg, name)(tapegrad.tensor(array).requires_grad_())
        theirs = getattr(torch.linalg, name)(torch.tensor(array, requires_grad=True))
        assert ours.grad_fn.name() == theirs.grad_fn.name()


def test_results_print_as_in_pytorch() -> None:
    array = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
    for name in ("cholesky_ex", "inv_ex", "lu", "slogdet"):
        ours, theirs = getattr(tapegrad.linalg, name)(tapegrad.tensor(array)), getattr(torch.linalg, name)(torch.tensor(array))
        assert repr(ours) == repr(theirs)


def test_out() -> None:
    a = tapegrad.tensor(matrix(3, 3))
    target = tapegrad.tensor(np.zeros((3, 3)))
    assert tapegrad.linalg.inv(a, out=target) is target
    np.testing.assert_allclose(to_array(target), np.linalg.inv(matrix(3, 3)))


ONES, SQUARE = np.ones((2, 3)), np.eye(2)
MISTAKES: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "norm order": ("norm", (SQUARE, "abc"), {}),
    "norm dims": ("norm", (SQUARE, 2, (0, 1, 1)), {}),
    "norm of more dims": ("norm", (np.ones((2, 2, 2)), 2), {}),
    "norm of integers": ("norm", (np.ones(2, np.int64),), {}),
    "empty infinite norm": ("vector_norm", (np.zeros(0), math.inf), {}),
    "dtype": ("vector_norm", (np.zeros(2),), {"dtype": "float32"}),
    "integer dtype": ("vector_norm", (np.zeros(2),), {"dtype": "int64"}),
    "string order": ("vector_norm", (np.zeros(2), "fro"), {}),
    "matrix norm of a vector": ("matrix_norm", (np.ones(2),), {}),
    "matrix norm of equal dims": ("matrix_norm", (SQUARE,), {"dim": (0, 0)}),
    "matrix norm of one dim": ("matrix_norm", (SQUARE,), {"dim": (0,)}),
    "condition of a wide matrix": ("cond", (ONES, 1), {}),
    "condition's order": ("cond", (SQUARE, 3), {}),
    "power of a wide matrix": ("matrix_power", (ONES, 2), {}),
    "power that is no integer": ("matrix_power", (SQUARE, 2.5), {}),
    "power of a singular matrix": ("matrix_power", (SQUARE * 0, -1), {}),
    "inverse index": ("tensorinv", (SQUARE, 0), {}),
    "inverse shape": ("tensorinv", (ONES,), {}),
    "inverse of a singular tensor": ("tensorinv", (SQUARE * 0, 1), {}),
    "powers of booleans": ("vander", (np.ones(2, bool),), {}),
    "too few powers": ("vander", (np.ones(2),), {"N": 1}),
    "products of different dtypes": ("vecdot", (np.ones(2), np.ones(2, np.float32)), {}),
    "cross product of two": ("cross", (np.ones(2), np.ones(2)), {}),
    "cross product of different dims": ("cross", (np.ones(3), np.ones((1, 3))), {}),
    "mode": ("qr", (SQUARE, "foo"), {}),
    "triangle": ("eigh", (SQUARE, "X"), {}),
    "driver": ("svd", (SQUARE,), {"driver": "gesvd"}),
    "least squares driver": ("lstsq", (SQUARE, SQUARE), {"driver": "x"}),
    "least squares shapes": ("lstsq", (SQUARE, np.ones((3, 1))), {}),
    "no pivots": ("lu", (SQUARE,), {"pivot": False}),
    "lu of a vector": ("lu", (np.ones(2),), {}),
    "solution from the right": ("solve", (SQUARE, ONES), {"left": False}),
    "checked": ("inv_ex", (SQUARE * 0,), {"check_errors": True}),
    "reflections": ("householder_product", (ONES, np.ones(2)), {}),
    "rank of integers": ("matrix_rank", (np.ones((2, 2), np.int64),), {}),
    "no tensor": ("det", (3.0,), {}),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_errors(what: str) -> None:
    name, arguments, options = MISTAKES[what]

    def call(module: Any) -> None:
        given = [module.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
        keywords = {key: getattr(module, value) if key == "dtype" else value for key, value in options.items()}
        for result in as_tuple(getattr(module.linalg, name)(*given, **keywords)):
            to_array(result)

    with pytest.raises(Exception) as expected:  # noqa: B017, PT011 - whatever PyTorch raises
        call(torch)
    with pytest.raises(RuntimeError if isinstance(expected.value, RuntimeError) else type(expected.value)) as raised:
        call(tapegrad)
    assert str(raised.value).splitlines()[0] == str(expected.value).splitlines()[0]


# The older names

POSITIVE = matrix(3, 3) @ matrix(3, 3).T
LOWER = np.linalg.cholesky(POSITIVE)
OLDER: dict[str, tuple[Any, ...]] = {
    "det": (POSITIVE,),
    "slogdet": (POSITIVE,),
    "logdet": (POSITIVE,),
    "inverse": (POSITIVE,),
    "pinverse": (matrix(2, 3),),
    "qr": (matrix(4, 3),),
    "trace": (POSITIVE,),
    "norm": (matrix(2, 3, 4),),
    "dist": (matrix(2, 3), matrix(2, 3, seed=1)),
    "matrix_power": (POSITIVE, 2),
    "triangular_solve": (matrix(3, 2), LOWER.T),
}


@pytest.mark.filterwarnings("ignore:torch\\.")
@pytest.mark.parametrize("name", OLDER)
def test_older_names(name: str) -> None:
    arrays = [a for a in OLDER[name] if isinstance(a, np.ndarray)]
    rest = OLDER[name][len(arrays) :]
    compare(lambda *a: getattr(linear_algebra, name)(*a, *rest), lambda *a: getattr(torch, name)(*a, *rest), *arrays)


@pytest.mark.filterwarnings("ignore:torch\\.")
@pytest.mark.parametrize(
    ("name", "arrays", "options"),
    [
        ("triangular_solve", (matrix(3, 2), LOWER), {"upper": False, "transpose": True}),
        ("norm", (matrix(3, 4),), {"p": "nuc"}),
        ("norm", (matrix(3, 4),), {"p": 1, "dim": 1, "keepdim": True}),
        ("norm", (matrix(3, 4),), {"p": None, "dim": (0, 1)}),
        ("dist", (matrix(2, 3), matrix(3)), {"p": 1}),
        ("cross", (matrix(3, 2), matrix(3, 2, seed=1)), {"dim": 0}),
        ("logdet", (-POSITIVE,), {}),
    ],
    ids=lambda value: str(value) if isinstance(value, (str, dict)) else "",
)
def test_options_of_older_names(name: str, arrays: tuple[Any, ...], options: dict[str, Any]) -> None:
    compare(lambda *a: getattr(linear_algebra, name)(*a, **options), lambda *a: getattr(torch, name)(*a, **options), *arrays)


@pytest.mark.parametrize("upper", [False, True])
def test_solutions_by_cholesky_factors(upper: bool) -> None:
    """PyTorch's gradients have numbers in the triangle that is not read; there they are zero."""
    factor, keep = (LOWER.T, "triu") if upper else (LOWER, "tril")
    for name, right in (("cholesky_inverse", ()), ("cholesky_solve", (matrix(3, 2),))):
        ours, theirs = getattr(linear_algebra, name), getattr(torch, name)
        compare(
            lambda *a, ours=ours: ours(*a, upper=upper),
            lambda *a, theirs=theirs: theirs(*a[:-1], getattr(a[-1], keep)(), upper=upper),
            *right,
            factor,
        )


@pytest.mark.parametrize("options", [{}, {"N": 2, "increasing": True}, {"N": 1}, {"N": 4}], ids=str)
def test_vander(options: dict[str, Any]) -> None:
    """PyTorch cannot differentiate its own."""
    theirs = torch.vander(torch.tensor(matrix(3)), **options)
    np.testing.assert_allclose(to_array(linear_algebra.vander(tapegrad.tensor(matrix(3)), **options)), to_array(theirs))


def test_svd_returns_v() -> None:
    u, s, v = linear_algebra.svd(tapegrad.tensor(matrix(4, 3)))
    np.testing.assert_allclose(to_array((u * s) @ v.mT), matrix(4, 3), rtol=1e-12)
    u, _, v = linear_algebra.svd(tapegrad.tensor(matrix(4, 3)), compute_uv=False)
    assert to_array(u).shape == (4, 4)
    assert not to_array(v).any()


def test_lu_unpacks() -> None:
    array = matrix(2, 3, 4)
    packed = linear_algebra.lu(tapegrad.tensor(array))
    permutation, lower, upper = linear_algebra.lu_unpack(*packed)
    np.testing.assert_allclose(to_array(permutation @ lower @ upper), array, rtol=1e-12)
    assert linear_algebra.lu_unpack(*packed, unpack_data=False).L.shape == (0,)
