"""tapegrad: reverse-mode automatic differentiation on a global Wengert tape."""

from . import autograd, primitives, random
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
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
from .functions import attach as _attach
from .functions.arithmetic import *
from .functions.choosing import *
from .functions.comparing import *
from .functions.contraction import *
from .functions.einsum import *
from .functions.view_copies import *
from .functions.strided import *
from .functions.creation import *
from .functions.elementwise import *
from .functions.extremes import *
from .functions.from_data import *
from .functions.legacy import *
from .functions.moments import *
from .functions.shapes import *
from .functions.joining import *
from .functions.gathering import *
from .functions.masking import *
from .functions.sorting import *
from .functions.searching import *
from .functions.distances import *
from .functions.linear_algebra import *
from .functions.complex_numbers import *
from .functions.cumulative import *
from .functions.splitting import *
from .functions.arranging import *
from .functions.matrices import *
from .functions.properties import *
from .functions.filling import *
from .functions.ranges import *
from .functions.reductions import *
from .functions.sampling import *
from .layout import channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided
from .random import Generator, initial_seed, manual_seed, seed
from .size import Size
from .tape.modes import get_mode, set_mode
from .tensor import Tensor, is_tensor

_attach(Tensor)
