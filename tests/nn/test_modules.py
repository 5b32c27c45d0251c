"""Layers made from the same seed are PyTorch's: parameters, results, gradients, texts; in training and in evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from tests.nn import expressions

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

# A module, and the operands it is called with.
MODULES = {
    "nn.Linear(4, 3)": "x",
    "nn.Linear(4, 3, bias=False)": "cube",
    "nn.Bilinear(4, 4, 3)": "x, y",
    "nn.Identity()": "x",
    "nn.Embedding(5, 3)": "indices",
    "nn.Embedding(5, 3, padding_idx=4)": "indices",
    "nn.Embedding.from_pretrained(t.arange(15.0).reshape(5, 3), freeze=False)": "indices",
    "nn.Conv1d(3, 4, 3)": "signal",
    "nn.Conv1d(3, 4, 3, padding='same', dilation=2)": "signal",
    "nn.Conv2d(4, 6, (3, 2), 2, 1, groups=2)": "image",
    "nn.Conv2d(4, 2, 3, padding=1, bias=False, padding_mode='reflect')": "image",
    "nn.Conv2d(4, 2, 3, padding='same', padding_mode='circular')": "image",
    "nn.Conv3d(2, 3, 2, padding=(1, 0, 1))": "volume",
    "nn.ConvTranspose1d(3, 2, 3, 2)": "signal",
    "nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2)": "image",
    "nn.ConvTranspose3d(2, 3, 2, 2)": "volume",
    "nn.BatchNorm1d(4)": "x",
    "nn.BatchNorm1d(3, momentum=None)": "signal",
    "nn.BatchNorm2d(4, momentum=0.5)": "image",
    "nn.BatchNorm2d(4, affine=False)": "image",
    "nn.BatchNorm2d(4, track_running_stats=False, bias=False)": "image",
    "nn.BatchNorm3d(2, eps=0.1)": "volume",
    "nn.SyncBatchNorm(4)": "x",
    "nn.InstanceNorm1d(3)": "signal",
    "nn.InstanceNorm2d(4, affine=True, track_running_stats=True)": "image",
    "nn.InstanceNorm3d(2)": "volume[0]",
    "nn.LayerNorm(4)": "x",
    "nn.LayerNorm((3, 4), bias=False)": "cube",
    "nn.GroupNorm(2, 4)": "image",
    "nn.RMSNorm(4)": "x",
    "nn.LocalResponseNorm(2)": "image",
    "nn.Dropout(0.3)": "x",
    "nn.Dropout2d(0.3)": "image",
    "nn.AlphaDropout(0.3)": "x",
    "nn.PReLU()": "x",
    "nn.PReLU(4)": "image",
    "nn.RReLU()": "x",
    "nn.ReLU()": "x",
    "nn.LeakyReLU(0.2)": "x",
    "nn.ELU()": "x",
    "nn.SELU()": "x",
    "nn.CELU(0.5)": "x",
    "nn.GELU()": "x",
    "nn.SiLU()": "x",
    "nn.Mish()": "x",
    "nn.Hardswish()": "x",
    "nn.Softplus()": "x",
    "nn.Softmax(dim=1)": "x",
    "nn.LogSoftmax(dim=1)": "x",
    "nn.Softmax2d()": "image",
    "nn.GLU()": "x",
    "nn.Threshold(0.1, 3.0)": "x",
    "nn.Softshrink()": "x",
    "nn.MaxPool2d(2)": "image",
    "nn.MaxPool1d(3, 2, 1)": "signal",
    "nn.AvgPool2d(2, padding=1)": "image",
    "nn.AdaptiveAvgPool2d((2, None))": "image",
    "nn.AdaptiveMaxPool2d(3)": "image",
    "nn.LPPool2d(2, 2)": "image",
    "nn.Flatten()": "image",
    "nn.Unflatten(1, (2, 2))": "x",
    "nn.Unfold(2)": "image",
    "nn.PixelShuffle(2)": "image",
    "nn.ZeroPad2d(1)": "image",
    "nn.ReflectionPad1d(1)": "signal",
    "nn.CircularPad2d(1)": "image",
    "nn.Upsample(scale_factor=2, mode='bilinear')": "image",
    "nn.UpsamplingNearest2d(scale_factor=2)": "image",
    "nn.CosineSimilarity()": "x, y",
    "nn.PairwiseDistance()": "x, y",
    "nn.CrossEntropyLoss()": "x, classes",
    "nn.CrossEntropyLoss(t.ones(4), ignore_index=3, label_smoothing=0.1)": "x, classes",
    "nn.NLLLoss()": "x, classes",
    "nn.MSELoss()": "x, y",
    "nn.L1Loss()": "x, y",
    "nn.SmoothL1Loss(beta=0.5)": "x, y",
    "nn.HuberLoss()": "x, y",
    "nn.BCELoss()": "p, q",
    "nn.BCEWithLogitsLoss(pos_weight=t.full((4,), 2.0))": "x, q",
    "nn.KLDivLoss(reduction='batchmean')": "x, q",
    "nn.TripletMarginLoss()": "x, y, z",
    "nn.TripletMarginWithDistanceLoss()": "x, y, z",
    "nn.CosineEmbeddingLoss()": "x, y, signs",
    "nn.MarginRankingLoss(0.5)": "x, y, signs4",
    "nn.MultiMarginLoss()": "x, classes",
    "nn.GaussianNLLLoss()": "x, y, p",
    "nn.Sequential(nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(36, 2))": "image",
}


def calls(library: Any, text: str, names: str) -> tuple[Any, list[Any]]:
    """Make a module from seed 0; return it and its results, gradients and state after calls in both modes."""
    library.manual_seed(0)
    module = eval(text, {"nn": library.nn, "t": library})
    found: list[Any] = [*module.state_dict().values()]
    operands = expressions.tensors(library, f"({names},)", "float32")
    for is_training in (True, True, False):
        module.train(is_training)
        results = module(*eval(f"({names},)", {**operands}))
        leaves = [tensor for tensor in [*module.parameters(), *operands.values()] if tensor.requires_grad]
        found.append(results)
        cotangent = library.tensor(np.random.default_rng(7).normal(size=tuple(results.shape)).astype("float32"))
        found += library.autograd.grad((results * cotangent).sum(), leaves, allow_unused=True)
    return module, [*found, *module.state_dict().values()]


@pytest.mark.parametrize("text", MODULES)
def test_module(torch: Any, mode: str, text: str) -> None:
    ours, mine = calls(tapegrad, text, MODULES[text])
    theirs, expected = calls(torch, text, MODULES[text])
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert len(mine) == len(expected)
    for a, b in zip(mine, expected, strict=True):
        if b is None or a is None:
            assert a is b
            continue
        assert str(a.dtype) == str(b.dtype)
        wanted = b.detach().numpy(force=True)
        np.testing.assert_allclose(a.detach().numpy(), wanted, rtol=2e-5, atol=2e-5 * max(1.0, np.abs(wanted).max(initial=0)))


def test_parameters_stay_parameters(mode: str) -> None:
    layer = tapegrad.nn.Linear(2, 2)
    weight = layer.weight
    tapegrad.nn.init.ones_(weight)
    with tapegrad.no_grad():
        weight.add_(1).mul_(2)
        weight[0] = 0
    layer(tapegrad.ones(1, 2)).sum().backward()
    assert layer.weight is weight and type(weight) is tapegrad.nn.Parameter
    assert weight.tolist() == [[0.0, 0.0], [4.0, 4.0]] and weight.is_leaf and weight.requires_grad
    assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
