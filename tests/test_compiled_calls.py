"""A compiled function's later calls, whatever is done to its tensors in between, do what the function itself does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg


@pytest.fixture(autouse=True, params=["interpret", "jit"])
def deferred_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    before = tg.get_mode()
    tg.set_mode(request.param)
    yield
    tg.set_mode(before)


class World:
    """A training step over a few tensors, and what holds on to them."""

    def __init__(self, decorate: Callable[[Any], Any]) -> None:
        self.weight = tg.tensor([[1.0, -2.0], [0.5, 0.25]], requires_grad=True)
        self.bias = tg.tensor([0.125, 0.5], requires_grad=True)
        self.buffer = tg.tensor([1.0, 2.0])
        self.held: list[Any] = []
        self.results: list[Any] = []
        self.step = decorate(self.body)

    def body(self, x: Any, scale: float, clear: bool) -> Any:
        if clear:
            self.weight.grad = None
        loss = ((x @ self.weight + self.bias) ** 2 * scale).sum()
        loss.backward()
        with tg.no_grad():
            self.weight.sub_(self.weight.grad, alpha=0.01)
            self.bias.mul_(0.5)
        self.buffer.add_(x.sum(0))
        return {"loss": loss, "rest": [x * 2, (self.buffer * 1, None)]}

    def tensors(self) -> list[Any]:
        found = [self.weight, self.bias, self.buffer, self.weight.grad, self.bias.grad, *self.held, *self.results]
        return [tensor for tensor in found if tensor is not None]

    def call(self, number: int, clear: bool = True) -> None:
        x = tg.tensor([[0.1 * number, 0.2], [0.3, 0.4]])
        found = self.step(x, 0.5 + number, clear)
        self.results = [found["loss"], found["rest"][0], found["rest"][1][0]]
        assert found["rest"][1][1] is None
        assert found["loss"].grad_fn.name() == "SumBackward0"


def view_of_weight(world: World) -> None:
    world.held.append(world.weight.detach().view(4))


def alias_of_buffer(world: World) -> None:
    world.held.append(world.buffer[0])


def forget(world: World) -> None:
    world.held.clear()


def read_as_array(world: World) -> None:
    world.held.append(tg.tensor(world.buffer.numpy().copy()))


def share_with_array(world: World) -> None:
    array = np.array([3.0, 4.0], np.float32)
    world.buffer = tg.from_numpy(array)
    world.held.append(world.buffer)


def keep_gradient(world: World) -> None:
    world.held.append(world.bias.grad)


def no_gradients(world: World) -> None:
    world.weight.grad = world.bias.grad = None


def gradient_of_zeros(world: World) -> None:
    world.bias.grad = tg.zeros(2)


def write_in_place(world: World) -> None:
    with tg.no_grad():
        world.weight.copy_(tg.eye(2))
        world.buffer[1] = 7.0


def leave_pending(world: World) -> None:
    world.held.append(world.buffer * 3)
    world.held.append(world.weight * 2)
    world.buffer.mul_(2)


def other_tensor(world: World) -> None:
    world.bias = tg.tensor([2.0, 1.0], requires_grad=True)


def freeze(world: World) -> None:
    world.bias.requires_grad_(False)
    world.bias.grad = None


def replace_data(world: World) -> None:
    world.weight.data = tg.ones(2, 2)


def back_through_loss(world: World) -> None:
    with pytest.raises(RuntimeError, match="second time"):
        world.results[0].backward()


CHANGES = [
    view_of_weight,
    alias_of_buffer,
    read_as_array,
    share_with_array,
    keep_gradient,
    no_gradients,
    gradient_of_zeros,
    write_in_place,
    leave_pending,
    freeze,
    replace_data,
    back_through_loss,
]


@pytest.mark.filterwarnings("ignore:tapegrad.compile")
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_done_between_calls(change: Callable[[World], None]) -> None:
    worlds = [World(tg.compile), World(lambda body: body)]
    for number in range(12):
        for world in worlds:
            if number in (5, 8):
                change(world)
            if number == 10:
                forget(world)
            world.call(number, clear=number % 4 != 3)
        for ours, theirs in zip(worlds[0].tensors(), worlds[1].tensors(), strict=True):
            assert same(ours, theirs), (number, ours, theirs)
            assert (ours.requires_grad, ours.is_leaf, ours._version) == (theirs.requires_grad, theirs.is_leaf, theirs._version), number


def same(ours: Any, theirs: Any) -> bool:
    """Whether two tensors are equal but for rounding."""
    return ours.shape == theirs.shape and ours.dtype is theirs.dtype and np.allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-5)


def compiled_and_not(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    return [tg.compile(function), function]


def test_a_held_tensor_as_an_argument_gets_the_sum_of_its_gradients() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def body(x: Any) -> Any:
        w.grad = x.grad = None
        (x * w * w).sum().backward()
        return x.grad * 1

    compiled = tg.compile(body)
    first, second = (tg.tensor(data, requires_grad=True) for data in ([3.0, 4.0], [5.0, 6.0]))
    for x in (first, second, first, second, first, w, w, second, w):
        assert compiled(x).tolist() == body(x).tolist()


def test_arguments_that_are_one_tensor_or_two() -> None:
    x, y, z = (tg.tensor([value], requires_grad=True) for value in (2.0, 3.0, 5.0))
    results = []
    for function in compiled_and_not(lambda a, b: (a * b).sum().backward()):
        found = []
        for pair in [(x, y), (y, x), (x, y), (z, x), (x, x), (x, x), (y, y), (x, z), (x, x)]:
            x.grad = y.grad = z.grad = None
            function(*pair)
            found.append([None if t.grad is None else t.grad.item() for t in (x, y, z)])
        results.append(found)
    assert results[0] == results[1]


def test_gradients_are_accumulated_in_the_same_tensor() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    function = tg.compile(lambda x: (x * w).sum().backward())
    function(tg.ones(2))
    gradient = w.grad
    for step in range(2, 7):
        version = gradient._version
        function(tg.ones(2) * 1)
        assert w.grad is gradient and gradient.tolist() == [step, step] and gradient._version == version + 1


@pytest.mark.filterwarnings("ignore:tapegrad.compile")
def test_numbers_types_and_structures_of_arguments() -> None:
    def body(parts: Any, *, scale: Any = 2, flag: Any = None) -> Any:
        total = sum(part * scale for part in parts["x"])
        return (total + 1 if flag else total), parts["y"]

    compiled, ordinary = compiled_and_not(body)
    x, y = tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])
    calls: list[tuple[Any, Any]] = [({"x": [x, y], "y": x}, {"scale": scale}) for scale in (3, 3.0, True, 4, 4.5, -0.0, 0.0, 5)]
    calls += [({"x": (x, x), "y": y}, {"flag": flag}) for flag in (True, False, 1, 0, None, True)]
    calls += [({"y": x, "x": [x, y]}, {}), ({"x": [x], "y": x.double()}, {}), ({"x": [x, y], "y": None}, {"scale": 3})]
    for _ in range(4):
        for parts, options in calls:
            ours, theirs = compiled(parts, **options), ordinary(parts, **options)
            assert repr(ours) == repr(theirs) and ours[0].dtype is theirs[0].dtype
            assert not ours[0].numel() or np.array_equal(np.signbit(ours[0].numpy()), np.signbit(theirs[0].numpy()))


def test_modes_of_the_thread() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    function = tg.compile(lambda x: (x * w) / 3)
    x = tg.tensor([5.0, 7.0])
    for _ in range(4):
        assert function(x).requires_grad
        with tg.no_grad():
            assert not function(x).requires_grad
        with tg.inference_mode():
            assert function(x).is_inference()
    found: list[bool] = []

    def other() -> None:
        found.extend([function(x).requires_grad for _ in range(3)])
        with tg.no_grad():
            found.append(function(x).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [True, True, True, False]
    before = tg.get_default_dtype()
    half = tg.compile(lambda: tg.ones(2) / 3)
    try:
        for dtype in (tg.float32, tg.float64) * 4:
            tg.set_default_dtype(dtype)
            assert half().dtype is dtype
    finally:
        tg.set_default_dtype(before)


def test_an_error_of_a_value_is_raised_by_whoever_reads_it() -> None:
    values = tg.tensor([1.0, 2.0, 3.0])
    function = tg.compile(lambda places: values[places] * 2)
    for places in ([0, 1], [2, 0], [1, 1], [2, 2]):
        assert function(tg.tensor(places)).tolist() == [2.0 * (place + 1) for place in places]
    failed = function(tg.tensor([0, 3]))
    with pytest.raises(IndexError, match="out of bounds"):
        failed.tolist()
    assert function(tg.tensor([2, 1])).tolist() == [6.0, 4.0]


def test_other_layouts() -> None:
    function = tg.compile(lambda x: (x * 2).exp())
    for step in range(8):
        x = tg.arange(6.0).reshape(2, 3) * 0.1 * step
        for given in (x, x.t(), x.t().contiguous(), x.expand(2, 2, 3)):
            assert same(function(given), (given * 2).exp())


def test_a_later_sweep_through_results() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    linear = tg.nn.Linear(2, 3)
    function = tg.compile(lambda x: linear(x * w).tanh())
    x = tg.tensor([[0.5, 0.25]])
    for step in range(6):
        gradients = []
        for call in (function, lambda x: linear(x * w).tanh()):
            w.grad = linear.weight.grad = None
            result = call(x * (1 + step))
            names = [result.grad_fn.name(), result.grad_fn.next_functions[0][0].name()]
            assert names == ["TanhBackward0", "AddmmBackward0"]
            result.sum().backward()
            gradients.append((w.grad, linear.weight.grad))
        for ours, theirs in zip(*gradients, strict=True):
            assert same(ours, theirs), (step, ours, theirs)


@pytest.mark.filterwarnings("ignore:tapegrad.compile")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 if x[0].item() > 0 else x,
        lambda x: x * 3 if x.tolist()[0] > 0 else x,
        lambda x: x[x > 0] if x.requires_grad else x[(x > 0).clone()],
        lambda x: tg.nn.functional.one_hot(x.long().abs(), 9),
        lambda x: x + float(x.numpy().sum()),
        lambda x, n=2: sum([x for _ in range(int(x[1]))], x),
    ],
)
def test_a_value_that_is_there_and_read_is_no_constant(function: Callable[[Any], Any]) -> None:
    compiled = tg.compile(function)
    for data in ([1.0, 2.0], [3.0, 4.0], [-1.0, 3.0], [-5.0, 1.0], [1.0, 0.0]):
        assert same(compiled(tg.tensor(data)), function(tg.tensor(data)))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_module_s_training_step_is_straight(optimizer: str) -> None:
    from tapegrad.compiled_call import OTHERWISE

    if tg.get_mode() != "jit":
        pytest.skip("there is no program")
    tg.manual_seed(0)
    model = tg.nn.Sequential(tg.nn.Linear(3, 4), tg.nn.ReLU(), tg.nn.Linear(4, 2))
    other = getattr(tg.optim, optimizer)(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        other.zero_grad()
        loss = tg.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        other.step()
        return loss

    compiled = tg.compile(step)
    losses = []
    for _ in range(8):
        x, y = tg.arange(15.0).reshape(5, 3) / 7, tg.arange(5) % 2
        losses.append(compiled(x, y).item())
    assert losses[-1] < losses[0]
    x.tolist(), y.tolist()
    version = model[0].weight._version
    assert compiled._last[0]((x, y), {}) is not OTHERWISE
    assert model[0].weight._version == version + 1


@pytest.mark.filterwarnings("ignore:tapegrad.compile")
def test_parts_of_a_tensor_as_arguments() -> None:
    data = tg.arange(24.0).reshape(6, 4)
    total = tg.zeros(4)
    function, runs = tg.compile(lambda part, other: (part * 2 + other).sum(0)), []
    writing = tg.compile(lambda part: (runs.append(1), part.add_(1))[1])
    for number in range(6):
        for start in (0, 2, 4):
            part = data[start : start + 2]
            expected = (part * 2 + total).sum(0)
            assert same(function(part, total), expected)
        total = total + 1
        part = data[number]
        assert writing(part) is part
        data[number] *= 2
        assert same(part, data[number])
    assert same(data, tg.arange(24.0).reshape(6, 4) * 2 + 2)


def test_gradients_that_are_there_at_every_second_call() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    runs = []

    def body(x: Any) -> Any:
        runs.append(1)
        loss = (x * w).sum()
        loss.backward()
        return loss

    compiled = tg.compile(body)
    for number in range(24):
        if number % 2 == 0:
            w.grad = None
        assert compiled(tg.tensor([1.0, 4.0])).item() == 9
        assert w.grad.tolist() == ([1.0, 4.0] if number % 2 == 0 else [2.0, 8.0])
    assert len(runs) <= 5


def test_a_function_that_is_never_the_same_is_not_captured_for_ever() -> None:
    runs = []

    def body(x: Any) -> Any:
        runs.append(1)
        for _ in runs:
            x = x + 1
        return x

    compiled = tg.compile(body)
    given = [tg.zeros(2) for _ in range(24)]
    with pytest.warns(RuntimeWarning, match="16 calls in a row"):
        for number, x in enumerate(given, 1):
            assert compiled(x).tolist() == [number, number]


def test_a_detached_result() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    runs, kept = [], []

    def body(x: Any, keep: bool) -> Any:
        runs.append(1)
        w.grad = None
        products = x * w
        products.sum().backward()
        if keep:
            kept.append(products)
        return products.sum().detach(), products.detach()

    compiled = tg.compile(body)
    for number in range(6):
        total, products = compiled(tg.tensor([number, 1.0]), False)
        assert total.item() == number + 2 and products.tolist() == [number, 2.0]
        assert not (total.requires_grad or products.requires_grad) and products._base is None and products._version == 0
        assert products.add_(1).tolist() == [number + 1, 3.0] and products._version == 1
    assert len(runs) <= 3
    with pytest.warns(RuntimeWarning, match="it makes a view"):
        for number in range(4):
            _, products = compiled(tg.tensor([number, 1.0]), True)
            products.add_(1)
            assert kept[-1].tolist() == products.tolist() == [number + 1, 3.0]


def test_a_fill_is_seen() -> None:
    """Of what the function holds and of an argument, though what they become depends on nothing."""
    held = {"b": tg.zeros(2)}

    def step(x: Any, y: Any) -> Any:
        result = x + held["b"] + y
        held["b"].zero_()
        y.fill_(2.5)
        return result

    compiled = tg.compile(step)
    x, y = tg.ones(2), tg.zeros(2)
    for number in range(6):
        held["b"].add_(number)
        y.add_(1)
        assert compiled(x, y).tolist() == [1 + number + (3.5 if number else 1)] * 2
        assert held["b"].tolist() == [0.0, 0.0]
        assert y.tolist() == [2.5, 2.5]


@pytest.mark.parametrize("place", ["before", "middle", "after"])
def test_gradients_set_to_zero(place: str) -> None:
    """In a compiled training step, as `zero_grad(set_to_none=False)` does it."""

    def trained(wrap: Any) -> list[float]:
        w = tg.ones(3, dtype=tg.float64, requires_grad=True)
        optimizer = tg.optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            if place == "before":
                optimizer.zero_grad(set_to_none=False)
            loss = (w * w * x).sum()
            if place == "middle":
                optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            if place == "after":
                optimizer.zero_grad(set_to_none=False)
            return loss

        run = wrap(step)
        return [run(tg.ones(3, dtype=tg.float64) * number).item() for number in range(1, 9)]

    assert trained(tg.compile) == pytest.approx(trained(lambda function: function))


def test_gradients_of_a_sweep_outside_are_read_afresh() -> None:
    w = tg.ones(2, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.125)
    step = tg.compile(optimizer.step)
    expected = 1.0
    for number in range(6):
        optimizer.zero_grad()
        (w * number).sum().backward()
        step()
        expected -= number / 8
        assert w.tolist() == [expected] * 2


def test_a_call_that_fails_leaves_parameters_as_they_were() -> None:
    w = tg.ones(3, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.25)

    def train(index: Any) -> Any:
        optimizer.zero_grad()
        loss = (w[index] * w[index]).sum()
        loss.backward()
        optimizer.step()
        return loss

    step = tg.compile(train)
    for _ in range(4):
        step(tg.tensor([0, 1]))
    before = w.tolist()
    with pytest.raises(IndexError):
        step(tg.tensor([0, 3])).item()
    assert w.tolist() == before
    assert step(tg.tensor([2, 2])).item() == 2.0
    assert w.tolist() == [*before[:2], 0.0]
