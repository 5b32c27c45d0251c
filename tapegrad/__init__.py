"""tapegrad: reverse-mode automatic differentiation on a global Wengert tape, with PyTorch's API.

>>> import tapegrad
>>> x = tapegrad.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import autograd
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .device import Device as device  # noqa: N813 - PyTorch's name for it
from .dtypes import (
    bfloat16,
    bool,  # noqa: A004 - PyTorch's name for it
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    float,  # noqa: A004
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int,  # noqa: A004
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
)
from .functions import FAMILY_OF as _FAMILY_OF
from .functions import METHOD_FUNCTIONS as _METHOD_FUNCTIONS
from .functions import attach as _attach
from .functions import load as _load
from .layout import channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided
from .size import Size
from .tape.modes import get_mode, set_mode
from .tensor import Tensor, is_tensor

if TYPE_CHECKING:
    from . import linalg as linalg
    from . import nn as nn
    from . import optim as optim
    from . import primitives as primitives
    from . import random as random
    from . import teach as teach
    from .execute.kernels import kernels as kernels
    from .execute.threads import get_num_threads as get_num_threads
    from .execute.threads import set_num_threads as set_num_threads
    from .functions.arithmetic import *
    from .functions.arranging import *
    from .functions.choosing import *
    from .functions.comparing import *
    from .functions.complex_numbers import *
    from .functions.contraction import *
    from .functions.creation import *
    from .functions.cumulative import *
    from .functions.distances import *
    from .functions.einsum import *
    from .functions.elementwise import *
    from .functions.extremes import *
    from .functions.filling import *
    from .functions.from_data import *
    from .functions.gathering import *
    from .functions.joining import *
    from .functions.legacy import *
    from .functions.linear_algebra import *
    from .functions.masking import *
    from .functions.matrices import *
    from .functions.moments import *
    from .functions.properties import *
    from .functions.ranges import *
    from .functions.reductions import *
    from .functions.sampling import *
    from .functions.searching import *
    from .functions.shapes import *
    from .functions.sorting import *
    from .functions.splitting import *
    from .functions.strided import *
    from .functions.view_copies import *
    from .nn.functional import conv1d, conv2d, conv3d, dropout, layer_norm, max_pool1d, max_pool2d, max_pool3d
    from .number_info import finfo as finfo
    from .number_info import iinfo as iinfo
    from .printing import set_printoptions as set_printoptions
    from .random import Generator as Generator
    from .random import initial_seed as initial_seed
    from .random import manual_seed as manual_seed
    from .random import seed as seed
    from .serialization import load as load
    from .serialization import save as save
    from .tape.modes import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
    from .tape.modes import is_anomaly_enabled as is_anomaly_enabled
    from .tape.modes import set_anomaly_enabled as set_anomaly_enabled

_attach(Tensor)

del tensor  # the submodule; the name is the function's  # noqa: F821

# What is loaded when first asked for: submodules, and names of modules outside functions/.
_SUBMODULES = ("linalg", "nn", "optim", "primitives", "random", "special", "teach")
_NAMES_OF = {
    "compilation": "compile",
    "execute.kernels": "kernels",
    "execute.threads": "get_num_threads set_num_threads",
    "nn.functional": """
        adaptive_avg_pool1d alpha_dropout avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d conv3d conv_transpose1d
        conv_transpose2d conv_transpose3d cosine_similarity dropout feature_alpha_dropout group_norm hardshrink layer_norm
        max_pool1d max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu rms_norm rrelu rrelu_ selu
        selu_ threshold threshold_
    """,
    "number_info": "finfo iinfo",
    "printing": "set_printoptions",
    "tape.modes": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
    "random": "Generator initial_seed manual_seed seed",
    "serialization": "load save",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__version__ = "0.1.0"
newaxis = None

__all__ = [  # noqa: PLE0604 - the names of the families are strings too
    "Size",
    "Tensor",
    "autograd",
    "bfloat16",
    "bool",
    "cdouble",
    "cfloat",
    "complex128",
    "complex64",
    "device",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "float",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "get_mode",
    "half",
    "inf",
    "inference_mode",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "int",
    "layout",
    "memory_format",
    "preserve_format",
    "strided",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "long",
    "nan",
    "newaxis",
    "no_grad",
    "pi",
    "promote_types",
    "set_default_dtype",
    "set_grad_enabled",
    "set_mode",
    "short",
    "uint8",
    *_FAMILY_OF,
    *_METHOD_FUNCTIONS,
    *_MODULE_OF,
    *_SUBMODULES,
]


def __getattr__(name: str) -> _Any:
    """Load a function, or a submodule, when it is first asked for."""
    if name in _FAMILY_OF:
        found = _load(name)
    elif name in _METHOD_FUNCTIONS:
        found = getattr(Tensor, name)
    elif name in _MODULE_OF:
        found = getattr(_import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    elif name in _SUBMODULES:
        found = _import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
