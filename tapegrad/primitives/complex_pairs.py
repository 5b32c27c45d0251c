"""Complex numbers as pairs of real ones: views of the same memory.

They are linear over the real numbers only, so their derivatives are written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .batching import grid
from .declare import Primitive, Sample, other


def _view_as_real(a: Any) -> Any:
    a = np.asarray(a)
    return a[..., None].view(a.real.dtype)


def _view_as_real_type(a: Type) -> Any:
    if not a.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return a.dtype.to_real(), (*a.shape, 2), (*[2 * stride for stride in a.strides], 1)


view_as_real: Primitive = other(
    "view_as_real",
    _view_as_real,
    _view_as_real_type,
    vjp=lambda g: (view_as_complex(g),),
    jvp=lambda g: view_as_real(g[0]),
    batch=batching.leading,
    samples=lambda: [
        Sample(grid(3, 4) + 1j * grid(3, 4)[::-1]),
        Sample(np.asarray(1 + 2j)),
        Sample(grid(4, 6).T[::2] * (1 - 1j)),
    ],
    torch=lambda torch, a: torch.stack([a.real, a.imag], -1),
)


def _view_as_complex(a: Any) -> Any:
    if a.strides[-1] != a.itemsize:
        a = np.ascontiguousarray(a)
    return a.view(np.result_type(a.dtype, np.complex64))[..., 0]


def _view_as_complex_type(a: Type) -> Any:
    if a.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + a.dtype.title
        )
    if a.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if a.strides[-1] != 1 or any(stride % 2 for stride in a.strides[:-1]):
        return a.dtype.to_complex(), a.shape[:-1]
    return a.dtype.to_complex(), a.shape[:-1], tuple([stride // 2 for stride in a.strides[:-1]])


def check_pairs(a: Type) -> None:
    """Raise PyTorch's error where pairs in this layout are no complex numbers in memory; the primitive would copy them."""
    _view_as_complex_type(a)
    if a.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(stride % 2 for stride in a.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")


def _torch_view_as_complex(torch: Any, a: Any) -> Any:
    if a.dtype not in (torch.float32, torch.float64):
        raise RuntimeError("only single and double precision have complex numbers here")
    return torch.complex(a[..., 0], a[..., 1])


view_as_complex: Primitive = other(
    "view_as_complex",
    _view_as_complex,
    _view_as_complex_type,
    vjp=lambda g: (view_as_real(g),),
    jvp=lambda g: view_as_complex(g[0]),
    batch=batching.leading,
    samples=lambda: [Sample(grid(3, 4, 2)), Sample(grid(2)), Sample(grid(0, 2))],
    torch=_torch_view_as_complex,
)
