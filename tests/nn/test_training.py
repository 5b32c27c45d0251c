"""Seeded training runs: the same program gives PyTorch's losses, step by step, and its parameters in the end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad

pytestmark = pytest.mark.peer

STEPS = 20
TOLERANCE = 1e-5
_random = np.random.default_rng(0)
VECTORS = _random.normal(size=(STEPS, 16, 8)).astype("float32")
IMAGES = _random.normal(size=(STEPS, 6, 1, 8, 8)).astype("float32")
WORDS = _random.integers(0, 12, (STEPS, 6, 5))
CLASSES = _random.integers(0, 3, (STEPS, 16))
NUMBERS = _random.normal(size=(STEPS, 16, 1)).astype("float32")

OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda lib, parameters: lib.optim.SGD(parameters, lr=0.1),
    "momentum": lambda lib, parameters: lib.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda lib, parameters: lib.optim.Adam(parameters, lr=0.01),
    "AdamW": lambda lib, parameters: lib.optim.AdamW(parameters, lr=0.01, amsgrad=True),
}


def classifier(lib: Any) -> Any:
    return lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.ReLU(), lib.nn.Dropout(0.2), lib.nn.Linear(16, 3))


def convolutional(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),  # a bias would have no gradient but rounding, which Adam scales up
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3),
        nn.GELU(),
        nn.Dropout2d(0.1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


def regression(lib: Any) -> Any:
    class Model(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = lib.nn.ModuleList([lib.nn.Linear(8, 8) for _ in range(2)])
            self.norm = lib.nn.LayerNorm(8)
            self.scale = lib.nn.Parameter(lib.ones(1))
            self.out = lib.nn.Linear(8, 1)

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = x + layer(x).tanh()
            return self.out(self.norm(x)) * self.scale

    return Model()


def words(lib: Any) -> Any:
    class Model(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = lib.nn.Embedding(12, 4, padding_idx=0)
            self.head = lib.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            vectors = self.table(x)
            mixed = lib.nn.functional.scaled_dot_product_attention(vectors, vectors, vectors)
            return self.head(mixed.mean(1))

    return Model()


MODELS = {
    "classifier": (classifier, VECTORS, CLASSES, "CrossEntropyLoss"),
    "convolutional": (convolutional, IMAGES, CLASSES[:, :6], "CrossEntropyLoss"),
    "regression": (regression, VECTORS, NUMBERS, "MSELoss"),
    "words": (words, WORDS, CLASSES[:, :6], "CrossEntropyLoss"),
}


def train(lib: Any, model_name: str, optimizer_name: str) -> tuple[list[float], list[Any]]:
    """Return the losses, and the state in the end."""
    build, inputs, targets, loss_name = MODELS[model_name]
    lib.manual_seed(0)
    model = build(lib)
    optimizer = OPTIMIZERS[optimizer_name](lib, model.parameters())
    schedule = lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    criterion = getattr(lib.nn, loss_name)()
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        loss = criterion(model(lib.tensor(x)), lib.tensor(y))
        loss.backward()
        lib.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, [value.numpy() for value in model.state_dict().values()]


@pytest.mark.parametrize("optimizer_name", OPTIMIZERS)
@pytest.mark.parametrize("model_name", MODELS)
def test_training_is_that_of_torch(torch: Any, mode: str, model_name: str, optimizer_name: str) -> None:
    ours, our_state = train(tapegrad, model_name, optimizer_name)
    theirs, their_state = train(torch, model_name, optimizer_name)
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)
    for mine, expected in zip(our_state, their_state, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-4)


def test_a_saved_run_goes_on_as_if_nothing_had_happened(mode: str) -> None:
    nn = tapegrad.nn

    def step(model: Any, optimizer: Any, place: int) -> float:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(tapegrad.tensor(VECTORS[place])), tapegrad.tensor(NUMBERS[place]))
        loss.backward()
        optimizer.step()
        value: float = loss.item()
        return value

    tapegrad.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = tapegrad.optim.Adam(model.parameters(), lr=0.1)
    for place in range(5):
        step(model, optimizer, place)
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    other = nn.Linear(8, 1)
    other.load_state_dict(saved)
    resumed = tapegrad.optim.Adam(other.parameters(), lr=0.7)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert [step(model, optimizer, place) for place in range(5, 8)] == [step(other, resumed, place) for place in range(5, 8)]
