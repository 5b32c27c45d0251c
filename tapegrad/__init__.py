"""tapegrad: reverse-mode automatic differentiation on a global Wengert tape."""

from . import autograd, primitives
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .dtypes import (
    bfloat16,
    bool,  # noqa: A004 - PyTorch's name for it
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from .functions import attach as _attach
from .functions.contraction import *
from .functions.elementwise import *
from .functions.movement import *
from .functions.properties import *
from .functions.reductions import *
from .tape.modes import get_mode, set_mode
from .tensor import Tensor, is_tensor

_attach(Tensor)
