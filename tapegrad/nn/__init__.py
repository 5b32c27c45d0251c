"""Neural networks: modules with parameters, the functions that they compute, and how to initialise them."""

from . import functional, init, modules, utils
from .modules import *
from .parameter import Buffer, Parameter
