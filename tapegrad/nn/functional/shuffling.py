"""Channels that become pixels, pixels that become channels, and channels shuffled."""

from __future__ import annotations

from typing import Any

from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...primitives.movement import permute, reshape
from ...tape.record import here
from .composition import show

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


@checked
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Return images (..., C, H * r, W * r) of images (..., C * r * r, H, W): r * r channels become a block of pixels."""
    shape = require_tensor("pixel_shuffle", input)._node.type.shape
    r = upscale_factor
    if len(shape) < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    start, count = here(), len(lead)
    blocks = reshape(input, shape=(*lead, channels // (r * r), r, r, height, width))
    order = (*range(count), *[count + axis for axis in (0, 3, 1, 4, 2)])
    result = reshape(permute(blocks, axes=order), shape=(*lead, channels // (r * r), height * r, width * r))
    return show("PixelShuffleBackward0", result, start)


@checked
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Undo `pixel_shuffle`: each block of pixels becomes channels."""
    shape = require_tensor("pixel_unshuffle", input)._node.type.shape
    r = downscale_factor
    if len(shape) < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = shape
    for name, axis, length in (("height", -2, height), ("width", -1, width)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})={length} is not "
                f"divisible by {r}"
            )
    start, count = here(), len(lead)
    blocks = reshape(input, shape=(*lead, channels, height // r, r, width // r, r))
    order = (*range(count), *[count + axis for axis in (0, 2, 4, 1, 3)])
    result = reshape(permute(blocks, axes=order), shape=(*lead, channels * r * r, height // r, width // r))
    return show("PixelUnshuffleBackward0", result, start)


@checked
def channel_shuffle(input: Any, groups: int) -> Any:
    """Return the channels (dimension 1) such that each of `groups` groups of them is spread evenly."""
    shape = require_tensor("channel_shuffle", input)._node.type.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    samples, channels, *lengths = shape
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    start = here()
    split = reshape(input, shape=(samples, groups, channels // groups, *lengths))
    order = (0, 2, 1, *range(3, len(shape) + 1))
    return show("ChannelShuffleBackward0", reshape(permute(split, axes=order), shape=shape), start)


native_channel_shuffle = channel_shuffle
