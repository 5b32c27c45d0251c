"""What numbers a dtype holds: ``finfo`` for floating point dtypes, ``iinfo`` for integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes


class finfo:  # noqa: N801 - PyTorch's name for it
    """The limits of a floating point dtype: eps, max, min, tiny (the smallest normal number), resolution, bits.

    >>> finfo(dtypes.float64).eps
    2.220446049250313e-16
    """

    def __init__(self, type: dtypes.dtype | None = None) -> None:
        dtype = dtypes.get_default_dtype() if type is None else type
        if dtype.category < dtypes.FLOAT:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        real = dtype.to_real()
        self.dtype = real.name
        self.bits = 8 * real.itemsize
        limits: Any = _brain_float() if real is dtypes.bfloat16 else np.finfo(dtypes.array_type(real))
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.smallest_normal = self.tiny = float(limits.smallest_normal)
        self.resolution = float(f"1e-{int(limits.nmant * 0.30103)}")  # so many decimal digits are always kept

    def __repr__(self) -> str:
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in shown)}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def _brain_float() -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(ml_dtypes.bfloat16)  # type: ignore[no-untyped-call]


class iinfo:  # noqa: N801 - PyTorch's name for it
    """The limits of an integer dtype: max, min, bits.

    >>> iinfo(dtypes.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: dtypes.dtype) -> None:
        if type.category == dtypes.BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category > dtypes.INTEGER:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        limits = np.iinfo(dtypes.array_type(type))
        self.dtype = type.name
        self.bits = int(limits.bits)
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
