"""Composed functions, by family: what users call, made of primitives.

Each module is a family; it has `__all__`, its public functions, and METHODS, what it gives the tensor (or either).
names.py lists both, so that a family is loaded when one of its names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .names import FUNCTIONS, METHODS
from .names import METHOD_FUNCTIONS as _METHOD_FUNCTIONS

METHOD_FUNCTIONS = tuple(_METHOD_FUNCTIONS.split())
FAMILY_OF = {name: family for family, names in FUNCTIONS.items() for name in names.split()}


def load(name: str) -> Any:
    """Return the public function of this name."""
    return getattr(import_module(f"{__name__}.{FAMILY_OF[name]}"), name)


class LateMethod:
    """Stands for a tensor's method until it is first used: then its whole family is put in place."""

    __slots__ = ("family", "name")

    def __init__(self, family: str, name: str) -> None:
        self.family = family
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        """Load the family, and return what this name now is."""
        attach_family(self.family)
        return getattr(owner if instance is None else instance, self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        """Load the family, which may have a property of this name, and set it."""
        attach_family(self.family)
        setattr(instance, self.name, value)


_tensor_class: type


def attach(tensor_class: type) -> None:
    """Give the tensor its methods, each loaded when first used."""
    global _tensor_class
    _tensor_class = tensor_class
    for family, names in METHODS.items():
        for name in names.split():
            setattr(tensor_class, name, LateMethod(family, name))


def attach_family(family: str) -> None:
    """Give the tensor the methods of one family."""
    for name, method in import_module(f"{__name__}.{family}").METHODS.items():
        setattr(_tensor_class, name, method)
