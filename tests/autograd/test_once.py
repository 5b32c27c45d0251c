"""Warnings that PyTorch gives once in a process: the first time in a new one, and not again."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import warnings

import {library} as torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (x * x).sum().backward(create_graph=True)
        float(x[0])
        int(x[1])
    for warning in caught:
        print(f"{{warning.category.__name__}}: {{warning.message}}".split(" (Triggered internally")[0], warning.filename)
    print("--")
"""
EXPECTED = """\
UserWarning: Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can \
cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make \
sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.
UserWarning: Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.
Consider using tensor.detach() first.
--
--
"""


def printed(library: str) -> str:
    """Return what the program prints in a new process, without the name of its file."""
    program = PROGRAM.format(library=library)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return "".join([line.removesuffix(" <string>\n").rstrip("\n") + "\n" for line in run.stdout.splitlines(keepends=True)])


def test_warnings_are_given_once() -> None:
    assert printed("tapegrad") == EXPECTED


@pytest.mark.peer
@pytest.mark.usefixtures("torch")
def test_warnings_are_those_of_torch() -> None:
    shown = [line.split(" /")[0] for line in printed("torch").splitlines()]  # where in PyTorch's files is of no interest
    assert shown == EXPECTED.splitlines()
