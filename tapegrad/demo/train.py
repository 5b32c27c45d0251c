"""The demo: a small network learns to read handwritten digits, and shows the tape of one of its steps."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tapegrad as torch

from ..teach import print_tape
from . import digits, picture

_NO_PICTURE = "needs matplotlib: pip install 'tapegrad[demo]'"
_SHOWN_IMAGES = 8  # in the batch whose tape is printed


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the demo's options."""
    parser.add_argument("--epochs", type=_positive_int, default=30, metavar="N", help="passes over the images (default %(default)s)")
    parser.add_argument("--batch-size", type=_positive_int, default=32, metavar="N", help="images in a step (default %(default)s)")
    parser.add_argument("--lr", type=_positive_float, default=0.003, metavar="RATE", help="learning rate (default %(default)s)")
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="of the random numbers (default %(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture of the loss (default tapegrad-demo.png)")


def run(options: argparse.Namespace) -> int:
    """Train, print and save what there is to see; return the exit code."""
    if options.out is not None:
        reason = None if find_spec("matplotlib") else f"--out {_NO_PICTURE}"
        reason = reason or picture.reason_against(options.out)
        if reason is not None:
            return _fail(reason)
    torch.manual_seed(options.seed)
    data = digits.load()
    model = network()
    print(f"{len(data.train_labels)} images of 8x8 pixels to learn from, {len(data.test_labels)} to test on")
    started = time.perf_counter()
    losses = train(model, data, options)
    seconds = time.perf_counter() - started
    print(f"loss {losses[-1]:.4f}, test accuracy {accuracy(model, data):.1%}, {seconds:.1f} s in mode {torch.get_mode()}")
    show_tape(model, data)
    if find_spec("matplotlib") is None:
        print(f"\nno picture of the loss: it {_NO_PICTURE}")
        return 0
    return _save_picture(losses, options.out or Path("tapegrad-demo.png"))


def network() -> Any:
    """Return a network from 64 pixels to a score for each digit."""
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def train(model: Any, data: digits.Digits, options: argparse.Namespace) -> list[float]:
    """Train the network and return the mean loss of each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    losses = []
    with _progress(options.epochs) as advance:
        for _ in range(options.epochs):
            total = torch.zeros(())
            for images, labels in _batches(data, options.batch_size):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach() * len(labels)
            losses.append(total.item() / len(data.train_labels))
            advance(losses[-1])
    return losses


def accuracy(model: Any, data: digits.Digits) -> float:
    """Return the share of the test images that the network reads as what they are."""
    with torch.no_grad():
        read = model(data.test_images).argmax(1)
    return float((read == data.test_labels).float().mean().item())


def show_tape(model: Any, data: digits.Digits) -> None:
    """Print the tape of one training step, the moment before its reverse sweep."""
    images, labels = data.train_images[:_SHOWN_IMAGES].clone(), data.train_labels[:_SHOWN_IMAGES].clone()
    for part in (images, labels):
        part.tolist()  # computes it, so that how it was made is no part of the table
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    print(f"\nThe tape of a training step with {_SHOWN_IMAGES} images, before its reverse sweep; the last value is the loss.\n")
    print_tape(loss, {"images": images, "labels": labels, **dict(model.named_parameters())})


def _batches(data: digits.Digits, size: int) -> Iterator[tuple[Any, Any]]:
    """Yield the training images and labels, shuffled, in batches."""
    order = torch.randperm(len(data.train_labels))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield data.train_images[chosen], data.train_labels[chosen]


def _progress(epochs: int) -> AbstractContextManager[Callable[[float], None]]:
    return _Bar(epochs) if find_spec("tqdm") else _Lines(epochs)


class _Bar:
    """A progress bar (tqdm) with the loss beside it."""

    def __init__(self, epochs: int) -> None:
        from tqdm import tqdm

        self.bar = tqdm(total=epochs, desc="training", unit="epoch")

    def __enter__(self) -> Callable[[float], None]:
        return self.advance

    def advance(self, loss: float) -> None:
        self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self.bar.update()

    def __exit__(self, *_: object) -> None:
        self.bar.close()


class _Lines:
    """A plain line now and then, where there is no tqdm."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.done = 0

    def __enter__(self) -> Callable[[float], None]:
        return self.advance

    def advance(self, loss: float) -> None:
        self.done += 1
        if self.done % math.ceil(self.epochs / 10) == 0 or self.done == self.epochs:
            print(f"training: {self.done} of {self.epochs} epochs, loss {loss:.4f}", flush=True)

    def __exit__(self, *_: object) -> None: ...


def _save_picture(losses: list[float], path: Path) -> int:
    try:
        picture.save(losses, path)
    except OSError as error:
        return _fail(f"cannot save the picture of the loss: {error}")
    print(f"\nloss curve: {path.resolve()}")
    return 0


def _fail(reason: str) -> int:
    print(f"tapegrad: {reason}", file=sys.stderr)
    return 1


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _positive_int(text: str) -> int:
    number = _int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    if number > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return number


def _seed(text: str) -> int:
    number = _int(text)
    if not -(2**63) <= number < 2**64:
        raise argparse.ArgumentTypeError(f"{text} does not fit into 64 bits")
    return number


def _positive_float(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive, finite number")
    return number
