"""Calls of functions of neural networks, as text, that the tests run in both libraries.

In a text, `F` is ``nn.functional`` and `t` the library; the other names are tensors, by the table OPERANDS.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_random = np.random.default_rng(0)


def _normal(*shape: int) -> Any:
    return _random.normal(size=shape)


def _probabilities(*shape: int) -> Any:
    return _random.uniform(0.1, 0.9, shape)


OPERANDS: dict[str, Any] = {
    "x": _normal(3, 4),
    "y": _normal(3, 4),
    "z": _normal(3, 4),
    "v": _normal(4),
    "scalar": _normal(),
    "p": _probabilities(3, 4),
    "q": _probabilities(3, 4),
    "rows": _probabilities(3, 4),
    "positive": _random.uniform(0.5, 2.0, (3, 4)),
    "signal": _normal(2, 3, 8),
    "image": _normal(2, 4, 6, 5),
    "volume": _normal(1, 2, 4, 5, 3),
    "large": _normal(8, 4, 6, 6),
    "table": _normal(5, 3),
    "matrix": _normal(5, 4),
    "cube": _normal(2, 3, 4),
    "bilinear_weight": _normal(2, 4, 4),
    "bias2": _normal(2),
    "bias5": _normal(5),
    "weight3": _normal(3),
    "weight4": _normal(4),
    "slope": np.array([0.3]),
    "kernel1": _normal(5, 3, 3),
    "kernel2": _normal(5, 4, 3, 2),
    "kernel2_of_groups": _normal(6, 2, 2, 3),
    "kernel3": _normal(3, 2, 2, 2, 2),
    "transposed1": _normal(3, 5, 3),
    "transposed2": _normal(4, 5, 3, 2),
    "transposed2_of_groups": _normal(4, 3, 2, 3),
    "transposed3": _normal(2, 3, 2, 2, 2),
    "query": _normal(2, 2, 3, 4),
    "key": _normal(2, 2, 5, 4),
    "value": _normal(2, 2, 5, 4),
    "one_head": _normal(2, 1, 5, 4),
    "score_mask": _normal(3, 5),
    "class_weight": _random.uniform(0.2, 2.0, 4),
    "mean4": _normal(4),
    "variance4": _random.uniform(0.5, 2.0, 4),
    "mean3": _normal(3),
    "variance3": _random.uniform(0.5, 2.0, 3),
    "classes": np.array([2, 0, 3]),
    "class0": np.array(1),
    "classes3": np.array([[0, 1, 2, 1], [2, 2, -100, 0]]),
    "classes4": _random.integers(0, 4, (2, 6, 5)),
    "listed": np.array([[3, 0, -1, 1], [1, -1, 2, 0], [0, 1, 2, 3]]),
    "signs": np.array([1, -1, 1]),
    "signs4": np.where(_random.random((3, 4)) < 0.5, 1.0, -1.0),
    "indices": np.array([[1, 4, 0], [4, 4, 2]]),
    "key_mask": np.array([[True, False, True, True, False], [False] * 5, [True] * 5]),
}
# Floating point operands that have no derivative, in PyTorch or because they are targets.
CONSTANTS = {"class_weight", "positive", "mean4", "variance4", "mean3", "variance3", "signs4"}

ACTIVATIONS = """
F.relu(x); F.relu6(x); F.leaky_relu(x); F.leaky_relu(x, 0.3); F.elu(x); F.elu(x, 0.7); F.selu(x); F.celu(x, 0.5); F.gelu(x)
F.gelu(x, approximate="tanh"); F.silu(x); F.mish(x); F.softplus(x); F.softplus(x, 2.0, 1.0); F.sigmoid(x); F.tanh(x)
F.hardtanh(x); F.hardtanh(x, -0.5, 0.25); F.hardswish(x); F.hardsigmoid(x); F.logsigmoid(x); F.softsign(x); F.tanhshrink(x)
F.softshrink(x); F.hardshrink(x); F.softmax(x, 1); F.softmax(cube, -2); F.log_softmax(x, 0); F.softmin(x, 1)
F.glu(x); F.glu(cube, 2); F.prelu(x, slope); F.prelu(image, weight4); F.prelu(scalar, slope); F.threshold(x, 0.1, 2.0); F.rrelu(x)
F.relu(scalar); F.silu(scalar); F.softmax(scalar, 0); F.elu(x.t()); F.gelu(x[:0])
F.relu(x * 1, inplace=True); F.elu(x * 1, inplace=True); F.leaky_relu(x * 1, 0.2, inplace=True); F.silu(x * 1, inplace=True)
F.hardtanh(x * 1, inplace=True); F.relu6(x * 1, inplace=True); F.threshold(x * 1, 0.1, 2.0, inplace=True)
F.hardswish(x * 3); F.mish(x * 30); F.gelu(x * 30); F.elu(x * 300); F.softplus(x * 100); F.logsigmoid(x * 100)
"""

LINEAR = """
F.linear(x, matrix, bias5); F.linear(x, matrix); F.linear(v, matrix, bias5); F.linear(v, matrix); F.linear(cube, matrix, bias5)
F.linear(cube, matrix); F.linear(image.flatten(0, 1)[..., :4], matrix, bias5); F.linear(cube.transpose(0, 1), matrix, bias5)
F.linear(x, v); F.linear(x[:0], matrix, bias5); F.bilinear(x, y, bilinear_weight, bias2); F.bilinear(cube, cube, bilinear_weight)
F.embedding(indices, table); F.embedding(indices[0], table); F.embedding(indices, table, padding_idx=4)
F.embedding(indices, table, scale_grad_by_freq=True); F.embedding(indices, table, padding_idx=-1, scale_grad_by_freq=True)
"""

CONVOLUTIONS = """
F.conv1d(signal, kernel1, bias5); F.conv1d(signal, kernel1, None, 2, 1); F.conv1d(signal[0], kernel1, bias5, dilation=2)
F.conv1d(signal, kernel1, padding="same"); F.conv1d(signal, kernel1[:, :, :2], padding="same"); F.conv1d(signal, kernel1, padding="valid")
F.conv2d(image, kernel2, bias5); F.conv2d(image, kernel2, None, (2, 1), (1, 0), (1, 2)); F.conv2d(image[0], kernel2, bias5)
F.conv2d(image, kernel2_of_groups, None, 1, 1, 1, 2); F.conv3d(volume, kernel3, weight3); F.conv3d(volume, kernel3, None, 2, 1)
F.conv_transpose1d(signal, transposed1, bias5); F.conv_transpose1d(signal, transposed1, None, 2, 1, 1)
F.conv_transpose2d(image, transposed2, bias5, (2, 3), (1, 0), (1, 2)); F.conv_transpose2d(image[0], transposed2, None, dilation=2)
F.conv_transpose2d(image, transposed2_of_groups, None, 2, 1, 0, 2); F.conv_transpose3d(volume, transposed3, weight3, 2)
F.unfold(image, 2); F.unfold(image, (2, 3), dilation=(2, 1), padding=(1, 0), stride=2); F.unfold(image[0], 2)
F.fold(F.unfold(image, 2), (6, 5), 2); F.fold(F.unfold(image, 2, 1, 1, 2), (6, 5), 2, 1, 1, 2)
F.pixel_shuffle(image, 2); F.pixel_unshuffle(large, 2); F.channel_shuffle(image, 2)
"""

POOLING = """
F.max_pool1d(signal, 2); F.max_pool1d(signal, 3, 2, 1); F.max_pool1d(signal[0], 2); F.max_pool1d(signal, 2, return_indices=True)[0]
F.max_pool2d(image, 2); F.max_pool2d(image, (3, 2), 1, 1, (2, 1)); F.max_pool2d(image, 2, ceil_mode=True); F.max_pool2d(image[0], 2)
F.max_pool2d(image, 2, return_indices=True)[0]; F.max_pool3d(volume, 2); F.max_pool3d(volume, (2, 2, 1), (1, 2, 1))
F.avg_pool1d(signal, 2); F.avg_pool1d(signal, 3, 2, 1, count_include_pad=False); F.avg_pool2d(image, 2)
F.avg_pool2d(image, (3, 2), 1, 1, True); F.avg_pool2d(image, 2, divisor_override=3); F.avg_pool3d(volume, 2)
F.adaptive_avg_pool1d(signal, 3); F.adaptive_avg_pool2d(image, 3); F.adaptive_avg_pool2d(image, (None, 2)); F.adaptive_avg_pool2d(image, 1)
F.adaptive_avg_pool3d(volume, (2, 3, 1)); F.adaptive_avg_pool3d(volume, 1); F.adaptive_max_pool1d(signal, 3)
F.adaptive_max_pool2d(image, (4, 3)); F.adaptive_max_pool3d(volume, 2); F.adaptive_max_pool2d(image, 2, return_indices=True)[0]
F.lp_pool1d(signal, 2, 3); F.lp_pool2d(image, 3.0, 2, ceil_mode=True); F.lp_pool3d(volume, 2, 2); F.lp_pool2d(image, float("inf"), 2)
F.max_unpool1d(*F.max_pool1d(signal, 2, return_indices=True), 2); F.max_unpool2d(*F.max_pool2d(large, 2, return_indices=True), 2)
F.max_unpool3d(*F.max_pool3d(volume, 2, return_indices=True), 2, output_size=(4, 5, 3))
"""

NORMALISATION = """
F.layer_norm(x, (4,)); F.layer_norm(x, (4,), weight4, v); F.layer_norm(cube, (3, 4), x, y, 0.1); F.layer_norm(x, (4,), weight4)
F.batch_norm(x, None, None, weight4, v, True); F.batch_norm(image, None, None, None, None, True)
F.batch_norm(image, mean4, variance4, weight4, v); F.batch_norm(x, mean4, variance4); F.batch_norm(image, mean4, variance4, None, v)
F.batch_norm(image, mean4.clone(), variance4.clone(), weight4, v, True, 0.3, 0.01)
F.group_norm(image, 2, weight4, v); F.group_norm(x, 1); F.instance_norm(signal); F.instance_norm(image, weight=weight4, bias=v)
F.instance_norm(signal, mean3, variance3, use_input_stats=False); F.rms_norm(x, (4,)); F.rms_norm(x, (4,), weight4, 0.1)
F.rms_norm(cube, (3, 4), x); F.local_response_norm(image, 3); F.local_response_norm(signal, 2, 0.1, 0.5, 2.0)
F.normalize(x); F.normalize(x, 1.0, 0); F.normalize(x * 0 + 1e-14)
"""

RESIZING = """
F.pad(x, (1, 2)); F.pad(x, (1, 0, 0, 2), value=3.0); F.pad(x, (-1, 2)); F.pad(signal, (2, 1), "reflect"); F.pad(signal, (2, 1), "replicate")
F.pad(signal, (3, 2), "circular"); F.pad(image, (1, 2, 3, 0), "reflect"); F.pad(image, (1, 2, 3, 0), "replicate")
F.pad(image, (1, 2, 3, 0), "circular"); F.pad(volume, (1, 1, 2, 0, 1, 3), "reflect"); F.pad(volume, (1, 1, 2, 0, 1, 5), "replicate")
F.pad(volume, (1, 1, 2, 0, 1, 2), "circular"); F.pad(signal, (-1, 2), "replicate"); F.pad(signal[0], (1, 1), "reflect")
F.interpolate(signal, 11); F.interpolate(image, scale_factor=2); F.interpolate(image, (4, 9))
F.interpolate(volume, scale_factor=(1.5, 2, 1))
F.interpolate(image, scale_factor=1.7, mode="nearest-exact"); F.interpolate(signal, 5, mode="linear")
F.interpolate(signal, 13, mode="linear", align_corners=True); F.interpolate(image, scale_factor=2, mode="bilinear")
F.interpolate(image, (4, 9), mode="bilinear", align_corners=True); F.interpolate(image, scale_factor=0.7, mode="bilinear")
F.interpolate(image, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True)
F.interpolate(volume, (3, 7, 5), mode="trilinear"); F.interpolate(image, (9, 4), mode="bicubic")
F.interpolate(image, scale_factor=1.6, mode="bicubic", align_corners=True); F.interpolate(image, 3, mode="area")
"""

LOSSES = """
F.cross_entropy(x, classes); F.cross_entropy(x, classes, reduction="sum"); F.cross_entropy(x, classes, reduction="none")
F.cross_entropy(x, classes, class_weight); F.cross_entropy(x, classes, class_weight, reduction="none")
F.cross_entropy(x, classes, ignore_index=3); F.cross_entropy(x, classes, class_weight, ignore_index=3)
F.cross_entropy(x, classes, label_smoothing=0.1); F.cross_entropy(x, classes, class_weight, label_smoothing=0.1, ignore_index=3)
F.cross_entropy(x, classes, label_smoothing=0.1, reduction="none"); F.cross_entropy(x, rows); F.cross_entropy(x, rows, reduction="none")
F.cross_entropy(x, rows, class_weight, label_smoothing=0.2); F.cross_entropy(v, class0); F.cross_entropy(signal[..., :4], classes3)
F.cross_entropy(signal[..., :4], classes3, reduction="none"); F.cross_entropy(image, classes4)
F.cross_entropy(image, classes4, class_weight, reduction="sum"); F.cross_entropy(image, classes4, reduction="none")
F.cross_entropy(x, classes.to(t.uint8)); F.nll_loss(x, classes); F.nll_loss(x, classes, class_weight, reduction="none")
F.nll_loss(v, class0)
F.mse_loss(x, y); F.mse_loss(x, y, reduction="sum"); F.mse_loss(x, y, reduction="none"); F.mse_loss(x, y, weight=positive)
F.l1_loss(x, y); F.l1_loss(x, y, reduction="none"); F.l1_loss(x, y, weight=positive, reduction="sum"); F.smooth_l1_loss(x, y)
F.smooth_l1_loss(x, y, beta=0.3, reduction="none"); F.smooth_l1_loss(x, y, beta=0); F.huber_loss(x, y); F.huber_loss(x, y, delta=0.4)
F.huber_loss(x, y, "sum", 0.4, positive); F.binary_cross_entropy(p, q); F.binary_cross_entropy(p, q, positive, reduction="sum")
F.binary_cross_entropy_with_logits(x, q); F.binary_cross_entropy_with_logits(x, q, positive, pos_weight=class_weight)
F.binary_cross_entropy_with_logits(x * 100, q, reduction="none"); F.kl_div(x, p, reduction="batchmean"); F.kl_div(x, p, reduction="sum")
F.kl_div(x, y, reduction="none", log_target=True); F.poisson_nll_loss(x, positive); F.poisson_nll_loss(p, positive, False, True)
F.gaussian_nll_loss(x, y, p); F.gaussian_nll_loss(x, y, p[:, :1], full=True, reduction="none"); F.gaussian_nll_loss(x, y, p[:, 0], eps=0.5)
F.margin_ranking_loss(x, y, signs4, 0.3); F.hinge_embedding_loss(x, signs4, 0.7); F.cosine_embedding_loss(x, y, signs, 0.1)
F.triplet_margin_loss(x, y, z); F.triplet_margin_loss(x, y, z, 0.5, 1.0, swap=True, reduction="none")
F.triplet_margin_with_distance_loss(x, y, z, margin=2.0); F.soft_margin_loss(x, signs4); F.multi_margin_loss(x, classes)
F.multi_margin_loss(x, classes, 2, 0.5, class_weight, reduction="none"); F.multi_margin_loss(v, class0)
F.multilabel_margin_loss(x, listed); F.multilabel_margin_loss(x, listed, reduction="none"); F.multilabel_soft_margin_loss(x, q)
F.cosine_similarity(x, y); F.cosine_similarity(x, v, -1); F.cosine_similarity(cube, x, 2); F.pairwise_distance(x, y)
F.pairwise_distance(x, y, 1.0, keepdim=True); F.pdist(x); F.pdist(x, 1.0)
"""

ATTENTION = """
F.scaled_dot_product_attention(query, key, value); F.scaled_dot_product_attention(query, key, value, score_mask)
F.scaled_dot_product_attention(query, key, value, key_mask); F.scaled_dot_product_attention(query, key, value, is_causal=True)
F.scaled_dot_product_attention(query, key, value, scale=0.3); F.scaled_dot_product_attention(query, one_head, one_head, enable_gqa=True)
F.scaled_dot_product_attention(query[0], key[0], value[0]); F.scaled_dot_product_attention(query[0], key[0], value[0], key_mask)
"""

GROUPS = {
    "activations": ACTIVATIONS,
    "linear": LINEAR,
    "convolutions": CONVOLUTIONS,
    "pooling": POOLING,
    "normalisation": NORMALISATION,
    "resizing": RESIZING,
    "losses": LOSSES,
    "attention": ATTENTION,
}
ALL = [text.strip() for group in GROUPS.values() for line in group.splitlines() for text in line.split(";") if text.strip()]

# Random functions: the same numbers are drawn from the same seed.
RANDOM = [
    text.strip()
    for text in """
F.dropout(x); F.dropout(x, 0.2); F.dropout(x.t()); F.dropout(x, 1.0); F.dropout(x, 0.0); F.dropout(x, training=False)
F.dropout(x * 1, inplace=True); F.dropout1d(signal); F.dropout1d(signal[0], 0.3); F.dropout2d(image, 0.3); F.dropout3d(volume)
F.dropout3d(volume[0]); F.alpha_dropout(x, 0.3, True); F.feature_alpha_dropout(image, 0.3, True); F.rrelu(x, training=True)
F.gumbel_softmax(x); F.gumbel_softmax(x, 0.5, hard=True); F.scaled_dot_product_attention(query, key, value, dropout_p=0.4)
F.alpha_dropout(x, 1.0, True); F.rrelu(x * 1, 0.1, 0.2, True, True)
""".replace("\n", ";").split(";")
    if text.strip()
]


def tensors(library: Any, text: str, dtype: str, requires_grad: bool = True) -> dict[str, Any]:
    """Return the tensors that a text names; floating point ones in this dtype."""
    found = {}
    code = compile(text, text, "eval")
    for name in code.co_names:
        if name in OPERANDS:
            array = np.asarray(OPERANDS[name])
            if array.dtype.kind == "f":
                tensor = library.tensor(array).to(getattr(library, dtype))
                found[name] = tensor.requires_grad_(requires_grad and name not in CONSTANTS)
            else:
                found[name] = library.tensor(array)
    return found


def run(library: Any, text: str, operands: dict[str, Any]) -> Any:
    """Evaluate a text."""
    return eval(text, {"F": library.nn.functional, "t": library, **operands})
