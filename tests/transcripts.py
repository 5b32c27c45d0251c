"""Golden transcripts: what a program that is typed in line by line prints in PyTorch, kept in text files.

A file of transcripts begins with comments, then may have statements that every transcript runs first. A transcript has a title,
``== title``, then statements as at Python's prompt, each followed by what it prints. In them `torch` is the library under
test. Warnings are shown before a statement's result, errors after it. Run this module, with PyTorch, to print a file's
transcripts anew after adding statements: ``python -m tests.transcripts tests/autograd/transcripts/backward.txt``.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PROMPT, CONTINUATION, TITLE = ">>> ", "... ", "== "
# PyTorch gives these warnings once in a process, so whether a transcript shows them depends on what ran before.
ONCE = (
    "Converting a tensor with requires_grad=True to a scalar",
    "Using backward() with create_graph=True",
    "torch.asarray: unspecified requires_grad",
)


class Statement:
    """What is typed in at a prompt, and what is printed then."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.printed: list[str] = []

    @property
    def golden(self) -> str:
        return "\n".join(self.printed).strip("\n")

    def text(self, printed: str) -> str:
        """Return the statement as it stands in a file, with what it prints."""
        first, *others = self.source.split("\n")
        return "\n".join([PROMPT + first, *[(CONTINUATION + line).rstrip() for line in others], *([printed] if printed else [])])


class TranscriptFile:
    """The comments of a file, its first statements, and its transcripts: statements by title, after their comments."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.comments: list[str] = []
        self.first: list[Statement] = []
        self.transcripts: dict[str, list[Statement]] = {}
        self.transcript_comments: dict[str, list[str]] = {}
        statements, comments = self.first, self.comments
        for line in path.read_text().splitlines():
            if line.startswith(TITLE):
                title = line.removeprefix(TITLE)
                if title in self.transcripts:
                    raise ValueError(f"{path.name} has two transcripts {title!r}")
                statements = self.transcripts[title] = []
                comments = self.transcript_comments[title] = []
            elif line.startswith(PROMPT):
                statements.append(Statement(line.removeprefix(PROMPT)))
            elif line.startswith(CONTINUATION.rstrip()) and statements and not statements[-1].printed:
                statements[-1].source += "\n" + line[len(CONTINUATION) :]
            elif statements:
                statements[-1].printed.append(line)
            elif line:
                comments.append(line)

    def write_anew(self, library: Any) -> None:
        """Write the file with what this library prints."""
        blocks = ["\n".join(self.comments), "\n".join([statement.text("") for statement in self.first])]
        for title, statements in self.transcripts.items():
            printed = run(library, self.first, statements)
            lines = [statement.text(text) for statement, text in zip(statements, printed, strict=True)]
            blocks.append("\n".join([TITLE + title, *self.transcript_comments[title], *lines]))
        self.path.write_text("\n\n".join([block for block in blocks if block]) + "\n")


def read_all(folder: Path) -> dict[str, tuple[TranscriptFile, str]]:
    """Return the transcripts of a folder's files, as file and title, by name."""
    files = [TranscriptFile(path) for path in sorted(folder.glob("*.txt"))]
    return {f"{file.path.stem}: {title}": (file, title) for file in files for title in file.transcripts}


def transcript(library: Any, file: TranscriptFile, title: str) -> str:
    """Return a transcript as this library runs it; with no library, as it stands in the file."""
    statements = file.transcripts[title]
    printed = [statement.golden for statement in statements] if library is None else run(library, file.first, statements)
    return "\n".join([statement.text(text) for statement, text in zip(statements, printed, strict=True)])


def run(library: Any, first: list[Statement], statements: list[Statement]) -> list[str]:
    """Run the statements of a transcript from seed 0, after the file's first ones, and return what each prints."""
    names: dict[str, Any] = {"torch": library, "np": np, "__name__": "transcript"}
    library.manual_seed(0)
    try:
        for statement in first:
            text = _run_one(library, statement.source, names)
            if text:
                raise ValueError(f"a file's first statements print nothing, but this does:\n{statement.text(text)}")
        return [_run_one(library, statement.source, names) for statement in statements]
    finally:
        library.set_grad_enabled(True)
        library.set_default_dtype(library.float32)


def _run_one(library: Any, source: str, names: dict[str, Any]) -> str:
    source = re.sub(r"^import torch$", f"import {library.__name__} as torch", source, flags=re.MULTILINE)
    output = io.StringIO()
    before = sys.displayhook
    sys.displayhook = _show
    with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source + "\n", "<transcript>", "single"), names)
            error = ""
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}\n"
        finally:
            sys.displayhook = before
    given = [f"{entry.category.__name__}: {entry.message}\n" for entry in caught]
    given = [line for line in given if not any(part in line for part in ONCE)]
    return _normal("".join([*given, output.getvalue(), error]))


def _show(value: Any) -> None:
    if value is not None:
        print(repr(value))


def _normal(text: str) -> str:
    """Return a text without addresses, class names of the implementation and PyTorch's own source positions."""
    text = re.sub(r" \(Triggered internally at [^)]*\)\.?", "", text)
    text = re.sub(r"0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"'[\w.]+' objects is not writable", "'...' objects is not writable", text)
    return "\n".join([line.rstrip() for line in text.splitlines()]).strip("\n")


if __name__ == "__main__":
    import torch

    for argument in sys.argv[1:]:
        TranscriptFile(Path(argument)).write_anew(torch)
