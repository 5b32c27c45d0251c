"""The public surface: what `__all__` says, what is loaded when, and that the name tables are true."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

import tapegrad
from tapegrad.functions import FAMILY_OF, load
from tapegrad.functions.names import FUNCTIONS, METHODS


def test_all_is_the_public_surface() -> None:
    assert len(tapegrad.__all__) == len(set(tapegrad.__all__))
    for name in tapegrad.__all__:
        assert hasattr(tapegrad, name), name
    modules = {"tape", "functions", "operators", "dtypes", "execute", "tensor", "size"}  # what Python puts there by itself
    loaded = {name for name in vars(tapegrad) if not name.startswith("_")}
    surplus = {name for name in loaded - set(tapegrad.__all__) if not hasattr(getattr(tapegrad, name), "__path__")}
    surplus = {name for name in surplus if type(getattr(tapegrad, name)).__name__ != "module"}
    assert surplus <= modules | {"annotations", "TYPE_CHECKING"}


def test_functions_are_not_hidden_by_modules_of_their_name() -> None:
    for name in FAMILY_OF:
        assert getattr(tapegrad, name) is load(name)


@pytest.mark.parametrize("family", FUNCTIONS)
def test_the_table_of_functions_is_true(family: str) -> None:
    module = import_module(f"tapegrad.functions.{family}")
    assert sorted(FUNCTIONS[family].split()) == sorted(module.__all__)


@pytest.mark.parametrize("family", METHODS)
def test_the_table_of_methods_is_true(family: str) -> None:
    module = import_module(f"tapegrad.functions.{family}")
    assert sorted(METHODS[family].split()) == sorted(module.METHODS)


def test_import_loads_neither_numba_nor_scipy() -> None:
    code = "import sys, tapegrad; print([name for name in sys.modules if name.partition('.')[0] in ('numba', 'scipy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_first_gradient_loads_nothing_that_compiling_needs() -> None:
    gradient = "x = tapegrad.ones(3, requires_grad=True); (x * x).sum().backward(); x.grad.tolist()"
    code = f"import sys, tapegrad; {gradient}; print(sorted(sys.modules))"
    environment = {name: value for name, value in os.environ.items() if name != "TAPEGRAD_JIT_THRESHOLD"}  # it interprets first
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    loaded = done.stdout
    assert "'tapegrad.execute.tiering'" in loaded
    for name in ("numba", "llvmlite", "importlib.metadata", "hashlib", "tempfile", "subprocess", "tapegrad.execute.program"):
        assert f"'{name}'" not in loaded


def test_import_loads_no_family() -> None:
    code = (
        "import sys, tapegrad; print([name for name in sys.modules if name.startswith(('tapegrad.primitives.', "
        "'tapegrad.functions.', 'tapegrad.nn', 'tapegrad.random'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tapegrad.functions.names']"
