"""Schedules: how learning rates change from epoch to epoch."""

from .cosine import CosineAnnealingLR
from .exponential import ExponentialLR
from .function import LambdaLR
from .linear import LinearLR
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler
from .stairs import MultiStepLR, StepLR

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "ReduceLROnPlateau",
    "StepLR",
]
