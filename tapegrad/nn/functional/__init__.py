"""Functions of neural networks, by family: what modules compute, to call directly."""

from .activations import *
from .adaptive_pooling import *
from .affine import *
from .attention import *
from .classification import *
from .convolution import *
from .distances import *
from .dropping import *
from .lookup import *
from .margins import *
from .normalisation import *
from .padding import *
from .pooling import *
from .regression import *
from .resizing import *
from .shuffling import *
from .unpooling import *
