"""tapegrad.compile: a captured call does what the function does, and what cannot be captured runs as ordinary code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tapegrad as tg


@pytest.fixture(autouse=True, params=["interpret", "jit"])
def deferred_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    before = tg.get_mode()
    tg.set_mode(request.param)
    yield
    tg.set_mode(before)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def counted(function: Callable[..., Any]) -> tuple[Any, list[int]]:
    """Return a compiled function, and a list that grows each time the function itself is run."""
    runs: list[int] = []

    def body(*arguments: Any, **options: Any) -> Any:
        runs.append(1)
        return function(*arguments, **options)

    return tg.compile(body), runs


def test_a_call_with_arguments_of_the_same_types_is_not_run_again() -> None:
    function, runs = counted(lambda x, s: (x * s + 1, {"sum": x.sum()}))
    made = [tg.tensor([1.0, 2.0]) * step for step in range(5)]
    for step, x in enumerate(made):
        scaled, rest = function(x, s=0.5 * step)
        assert scaled.tolist() == (x * (0.5 * step) + 1).tolist()
        assert rest["sum"].item() == x.sum().item()
    assert len(runs) == 2  # the second call shows that the first argument is no tensor that the function holds


def test_other_types_are_recorded_anew() -> None:
    function, runs = counted(lambda x: x.sum())
    made = [tg.ones(3), tg.ones(4), tg.ones(3, dtype=tg.float64), tg.ones(3, requires_grad=True)]
    for x in [*made, *made]:
        assert function(x).item() == x.numel()
    assert len(runs) == 4


def test_arguments_that_the_function_holds_too() -> None:
    first, second, third = tg.tensor([1.0]), tg.tensor([2.0]), tg.tensor([3.0])
    function, _ = counted(lambda x: x * 100 + first * 10 + second)
    for x in (first, second, third, first, second, third, tg.tensor([4.0]), tg.tensor([5.0])):
        assert function(x).item() == x.item() * 100 + 12
    function, _ = counted(lambda x, y: x - y)
    for _ in range(3):
        assert function(first, first).item() == 0
        assert function(second, first).item() == 1
        assert function(third, first).item() == 2


def test_a_module_in_training_and_not() -> None:
    model = tg.nn.Sequential(tg.nn.Linear(2, 3), tg.nn.BatchNorm1d(3))
    compiled = tg.compile(model)
    x = tg.randn(4, 2)
    for training in (True, False, True, False):
        model.train(training)
        with tg.no_grad():
            assert abs(compiled(x).mean(0)).sum().item() < 1e-5 or not training
            if not training:
                assert (compiled(x) - model(x)).abs().max().item() < 1e-6  # one is compiled at once, the other is not yet
    model[0].weight = tg.nn.Parameter(tg.zeros(3, 2))
    assert compiled(x).tolist() == model(x).tolist()


def model_and_step(decorate: Callable[[Any], Any], make_optimizer: Callable[[Any], Any]) -> tuple[Any, Any]:
    tg.manual_seed(0)
    model = tg.nn.Sequential(tg.nn.Linear(3, 8), tg.nn.Tanh(), tg.nn.Linear(8, 2))
    optimizer = make_optimizer(model.parameters())

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = tg.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, decorate(step)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda parameters: tg.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: tg.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adam": lambda parameters: tg.optim.Adam(parameters, lr=0.01),
    "AdamW": lambda parameters: tg.optim.AdamW(parameters, lr=0.01),
    "RMSprop": lambda parameters: tg.optim.RMSprop(parameters, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_training_step(name: str) -> None:
    plain, ordinary = model_and_step(lambda step: step, OPTIMIZERS[name])
    model, compiled = model_and_step(tg.compile, OPTIMIZERS[name])
    tg.manual_seed(1)
    for _ in range(8):
        x, y = tg.randn(5, 3), tg.randint(0, 2, (5,))
        assert compiled(x, y).item() == pytest.approx(ordinary(x, y).item(), rel=1e-5)
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert (ours - theirs).abs().max().item() < 1e-5
        assert (ours.grad - theirs.grad).abs().max().item() < 1e-5
        assert ours.requires_grad and ours.is_leaf


def test_held_tensors_are_read_afresh() -> None:
    w = tg.tensor([1.0, 2.0])
    function, runs = counted(lambda x: x * w)
    x = tg.ones(2)
    assert function(x).tolist() == [1.0, 2.0]
    w.mul_(10)
    assert function(x).tolist() == [10.0, 20.0]
    assert len(runs) == 1


def test_gradients_accumulate() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    function, runs = counted(lambda x: (x * w).sum().backward())
    x = tg.tensor([3.0, 4.0])
    for step in range(1, 5):
        function(x)
        assert w.grad is not None and w.grad.tolist() == [3.0 * step, 4.0 * step]
    assert len(runs) == 2  # with no gradient there yet, and with one


def test_results_have_a_history() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    function, runs = counted(lambda x: (x * w).exp())
    x = tg.tensor([0.5, 0.25])
    for _ in range(3):
        w.grad = None
        result = function(x)
        assert result.grad_fn.name() == "ExpBackward0"
        result.sum().backward()
        assert w.grad.tolist() == ((tg.tensor([0.5, 0.25]) * w).exp() * tg.tensor([0.5, 0.25])).tolist()
    assert len(runs) == 1


def test_arguments_are_written_in_place() -> None:
    function, runs = counted(lambda x, y: x.add_(y))
    x, y = tg.zeros(2), tg.ones(2)
    for step in range(1, 4):
        assert function(x, y) is x
        assert x.tolist() == [step, step]
    assert len(runs) == 1


def test_constants_that_are_written_to_begin_anew() -> None:
    def function(x: Any) -> Any:
        total = tg.zeros(2)
        total += x
        return total * 1

    compiled, runs = counted(function)
    x = tg.tensor([1.0, 2.0])
    for _ in range(3):
        assert compiled(x).tolist() == [1.0, 2.0]
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x * 2 if x.sum().item() > 0 else x, "it reads a value"),
        (lambda x: x + tg.randn(2), "it draws random numbers"),
    ],
)
def test_what_cannot_be_captured_runs_as_ordinary_code_with_one_warning(function: Any, reason: str) -> None:
    compiled, runs = counted(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(6):
            assert compiled(tg.ones(2)).shape == (2,)
    assert [reason in str(warning.message) for warning in caught] == [True]
    assert len(runs) == 6


def test_a_tensor_that_is_kept_elsewhere_is_no_effect_that_can_be_repeated() -> None:
    kept = []

    def function(x: Any) -> Any:
        kept.append(x * 2)
        return x * 3

    compiled, runs = counted(function)
    with pytest.warns(RuntimeWarning, match="it keeps a new tensor"):
        for _ in range(4):
            compiled(tg.ones(2))
    assert [tensor.tolist() for tensor in kept] == [[2.0, 2.0]] * 4


def test_an_error_leaves_everything_usable() -> None:
    def function(x: Any, fail: bool) -> Any:
        y = x * 2
        if fail:
            raise ValueError("as told")
        return y

    compiled = tg.compile(function)
    with pytest.raises(ValueError, match="as told"):
        compiled(tg.ones(2), True)
    assert compiled(tg.ones(2), False).tolist() == [2.0, 2.0]
    assert compiled(tg.ones(2) * 3, False).tolist() == [6.0, 6.0]


def test_checking_finds_a_call_that_records_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = [True]
    compiled = tg.compile(lambda x: x * 2 if switch[0] else x.exp())
    x = tg.ones(2)
    compiled(x)
    monkeypatch.setenv("TAPEGRAD_CHECK_COMPILED", "1")
    assert compiled(x).tolist() == [2.0, 2.0]
    switch[0] = False
    with pytest.raises(RuntimeError, match=r"record 1 is exp\(float32\[2\]\) .*where mul\(.*was captured"):
        compiled(x)


def test_modules_keep_their_attributes() -> None:
    model = tg.nn.Linear(2, 1)
    compiled = tg.compile(model)
    assert compiled.weight is model.weight and compiled.__wrapped__ is model
    x = tg.ones(3, 2)
    assert compiled(x).tolist() == model(x).tolist() == compiled(x).tolist()


def test_grad_mode_and_compiled_functions_within() -> None:
    inner = tg.compile(lambda x: x * 2)
    function, runs = counted(lambda x: inner(x) + 1)
    x = tg.ones(2, requires_grad=True)
    assert function(x).requires_grad
    with tg.no_grad():
        assert not function(x).requires_grad
    assert function(x).requires_grad and len(runs) == 2


def test_eager_mode_runs_the_function() -> None:
    tg.set_mode("eager")
    function, runs = counted(lambda x: x * 2)
    function(tg.ones(2))
    function(tg.ones(2))
    assert len(runs) == 2
