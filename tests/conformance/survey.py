"""What of PyTorch's database of operators tapegrad does alike: ``python -m tests.conformance.survey [names]``."""

from __future__ import annotations

import argparse
import time
import traceback
from typing import Any

import torch

import tapegrad
from tapegrad.tape.modes import NAMES

from . import translation
from .comparing import Outcome, difference, error_difference, run
from .operators import Form, Operator, all_operators

# How many samples of a dtype are compared, and of how many the second derivatives too; None is all.
Counts = dict[str, tuple[int | None, int | None]]
SAMPLES: Counts = {"float64": (12, 4), "float32": (4, 0), "int64": (3, 0), "bool": (3, 0), "complex128": (6, 1)}


class Run:
    """What is compared: how many samples of each dtype, which modes."""

    def __init__(self, samples: Counts = SAMPLES, modes: tuple[str, ...] = NAMES, *, reference: bool = False) -> None:
        self.samples = samples
        self.modes = modes
        self.reference = reference

    def differences(self, operator: Operator) -> list[str]:
        """Return in words how tapegrad's operation differs from PyTorch's."""
        return [*self.of_function(operator), *self.of_errors(operator), *self.of_forms(operator)]

    def of_function(self, operator: Operator) -> list[str]:
        """Compare the function, for samples of each dtype, with derivatives."""
        found = []
        for dtype, (limit, second) in self.samples.items():
            if operator.supports(dtype):
                for place, sample in enumerate(operator.samples(dtype, limit, reference=self.reference)):
                    wants_second = operator.has_second_derivative and (second is None or place < second)
                    found += self._of_sample(operator, operator.function_of(dtype), sample, dtype, second=wants_second)
        return found

    def of_forms(self, operator: Operator, limit: int = 4) -> list[str]:
        """Compare methods, in-place methods, aliases and ``out=``, for a few samples."""
        dtype = next(dtype for dtype in ("float64", "int64", "bool", "complex128", "float32") if operator.supports(dtype))
        found = []
        samples = operator.samples(dtype, limit)
        for form in operator.other_forms():
            for sample in samples:
                found += self._of_sample(operator, form, sample, form.label)
        return found

    def _of_sample(self, operator: Operator, form: Form, sample: Any, label: str, *, second: bool = False) -> list[str]:
        parts = (sample.input, sample.args, sample.kwargs)
        theirs = _outcome(torch, form, translation.for_torch(parts), operator, sample.output_process_fn_grad, second)
        found = []
        for mode in self.modes:
            tapegrad.set_mode(mode)
            try:
                translated = translation.for_tapegrad(parts)
            except translation.Untranslatable:
                return []
            process = translation.with_tapegrad(sample.output_process_fn_grad)
            ours = _outcome(tapegrad, form, translated, operator, process, second)
            text = difference(ours, theirs, elementwise=operator.is_elementwise)
            if text is not None:
                found.append(f"{mode}, {label}, {sample_text(sample)}: {text}")
        return found

    def of_errors(self, operator: Operator) -> list[str]:
        """Compare what is raised for wrong arguments."""
        found = []
        for wrong in operator.errors():
            parts = (wrong.sample_input.input, wrong.sample_input.args, wrong.sample_input.kwargs)
            try:
                translated = translation.for_tapegrad(parts)
            except translation.Untranslatable:
                continue
            theirs = run(torch, operator.function.in_torch, translation.for_torch(parts))
            ours = run(tapegrad, operator.function.in_tapegrad, translated)
            text = error_difference(ours.error, theirs.error, wrong.error_regex)
            if text is not None:
                found.append(f"error, {sample_text(wrong.sample_input)}: {text}")
        return found


def _outcome(library: Any, form: Form, sample: Any, operator: Operator, process: Any, second: bool) -> Outcome:
    function = form.in_torch if library is torch else form.in_tapegrad
    choice = operator.free_choice

    def compared(results: Any) -> Any:
        result = form.result(results)
        part = process(result) if choice is None else choice(result, *sample)
        return results if part is result else part

    return run(library, function, sample, compared, second=second)


def sample_text(sample: Any) -> str:
    """Return a sample in one line."""
    text = " ".join(str(sample.summary()).replace("\n", " ").split())
    return text.replace("broadcasts_input=False, name=''", "").replace('device="cpu", ', "").replace("dtype=torch.", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true", help="all samples, and second derivatives of all")
    parser.add_argument("--reference", action="store_true", help="the many samples that PyTorch compares with references")
    parser.add_argument("--dtypes", help="of these dtypes, with commas between")
    parser.add_argument("--mode", help="in this mode alone")
    parser.add_argument("--show", type=int, default=3, help="so many differences of an operation")
    options = parser.parse_args()
    samples: Any = {dtype: (None, None) for dtype in SAMPLES} if options.all else SAMPLES
    if options.dtypes:
        samples = {dtype: samples.get(dtype, (None, None)) for dtype in options.dtypes.split(",")}
    modes = (options.mode,) if options.mode else NAMES
    for name in options.names or all_operators():
        show(all_operators()[name], Run(samples, modes, reference=options.reference), options.show)


def show(operator: Operator, survey: Run, limit: int) -> None:
    """Print how an operation differs."""
    started = time.perf_counter()
    try:
        operator.function  # noqa: B018 - is there one?
    except AttributeError as error:
        print(f"MISSING {operator.name}: {error}", flush=True)
        return
    try:
        found = survey.differences(operator)
    except Exception as error:
        found = [f"the survey failed: {traceback.format_exc()[-600:]}"]
    print(f"{'DIFFERS' if found else 'ok     '} {operator.name} {len(found) or ''} ({time.perf_counter() - started:.1f} s)", flush=True)
    for text in found[:limit]:
        print("   ", text[:1500].replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    main()
