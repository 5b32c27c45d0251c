"""Neural networks."""
from . import functional
