"""Losses as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functional
from ..functional.reduction import chosen
from .distance import PairwiseDistance
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss",
    "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    """A loss that is reduced: to its mean, its sum, or not at all ("none")."""

    __constants__ = ["reduction"]

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction if size_average is None and reduce is None else chosen(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with a weight, which is a buffer."""

    def __init__(
        self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# Of classifiers


class CrossEntropyLoss(_WeightedLoss):
    """Return minus the logarithm of the probability that logits give to the right class.

    Args:
        weight: a factor for each class, or None.
        size_average: PyTorch's old name for a mean.
        ignore_index: a class that does not count.
        reduce: PyTorch's old name for a reduction.
        reduction: "mean", "sum" or "none".
        label_smoothing: which share of the target is spread over all classes.

    >>> import tapegrad
    >>> CrossEntropyLoss()(tapegrad.zeros(1, 2), tapegrad.tensor([0]))
    tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        return functional.cross_entropy(
            input, target, self.weight, None, self.ignore_index, None, self.reduction, self.label_smoothing
        )


class NLLLoss(_WeightedLoss):
    """Return minus the element of the input, logarithms of probabilities, at the right class; see `CrossEntropyLoss`."""

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Any:
        return functional.nll_loss(input, target, self.weight, None, self.ignore_index, None, self.reduction)


class BCELoss(_WeightedLoss):
    """Return minus the logarithm of the probability that the input, the probability of yes, gives to the target."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Return `BCELoss` of the sigmoid of the input, computed without overflow.

    `weight` are factors that broadcast against the target, `pos_weight` a factor for what the target says yes to.
    """

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Any, target: Any) -> Any:
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """Return the Kullback-Leibler divergence of the target from the input, logarithms of probabilities.

    With `log_target`, so is the target. `reduction` may also be "batchmean": the sum, divided by the first length.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Any:
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


# Of regressions


class MSELoss(_Loss):
    """Return the squared differences.

    >>> import tapegrad
    >>> MSELoss()(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def forward(self, input: Any, target: Any) -> Any:
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Return the absolute differences."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Return the absolute differences less ``beta / 2``, but ``d * d / (2 * beta)`` for a difference d of less than `beta`."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Any:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Return ``d * d / 2`` for differences d up to `delta`, and ``delta * (|d| - delta / 2)`` for larger ones."""

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Any, target: Any) -> Any:
        return functional.huber_loss(input, target, self.reduction, self.delta)


class PoissonNLLLoss(_Loss):
    """Return minus the logarithm of the probability of the target under Poisson distributions; see `functional.poisson_nll_loss`."""

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Any, target: Any) -> Any:
        return functional.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Return minus the logarithm of the density of the target under normal distributions; see `functional.gaussian_nll_loss`."""

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# Of comparisons


class _MarginLoss(_Loss):
    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """Return by how much the first input fails to be above the second (target 1) or below it (target -1) by `margin`."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return functional.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """Return one less the cosine where the target is 1, by how much it is above `margin` where it is -1."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return functional.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """Return the input itself where the target is 1, by how much it falls short of `margin` where it is -1."""

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Any, target: Any) -> Any:
        return functional.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Return by how much the negative fails to be farther from the anchor than the positive by `margin`."""

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return functional.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """Do what `TripletMarginLoss` does with another distance function."""

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


# Of margins between classes


class SoftMarginLoss(_Loss):
    """Return ``log(1 + exp(-target * input))``; the target is 1 or -1."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Return by how much the target class fails to be ahead of the others by `margin`, to the power `p` (1 or 2)."""

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Any, target: Any) -> Any:
        return functional.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Return by how much each target class fails to be ahead of each class that is none by 1."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Return the mean over the classes of what `BCEWithLogitsLoss` is for each."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)
