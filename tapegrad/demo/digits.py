"""The handwritten digits that the demo learns to read; data/README.md says where they are from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..functions.from_data import from_numpy

_FILE = Path(__file__).parent.parent / "data" / "digits.npz"
_DARKEST = 16
_TRAINING = 1437  # of the 1,797 images; the other 360 are for the test


class Digits(NamedTuple):
    """Images, a row of 64 pixels between 0 and 1 each, and labels, to train with and to test on."""

    train_images: Any
    train_labels: Any
    test_images: Any
    test_labels: Any


def load() -> Digits:
    """Return the digits, shuffled the same way each time.

    >>> [list(part.shape) for part in load()]
    [[1437, 64], [1437], [360, 64], [360]]
    """
    with np.load(_FILE) as file:
        images = file["images"].reshape(-1, 64).astype(np.float32) / _DARKEST
        labels = file["labels"].astype(np.int64)
    order = np.random.RandomState(0).permutation(len(labels))
    train, test = order[:_TRAINING], order[_TRAINING:]
    return Digits(*[from_numpy(part[chosen]) for chosen in (train, test) for part in (images, labels)])
