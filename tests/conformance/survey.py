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
from .comparing import difference, error_difference, run
from .operators import Operator, all_operators

# How many samples of a dtype are compared, and of how many the second derivatives too.
SAMPLES = {"float64": (12, 4), "float32": (4, 0), "int64": (3, 0), "bool": (3, 0), "complex128": (6, 1)}


def differences(operator: Operator, samples: dict[str, tuple[Any, Any]] = SAMPLES, **choice: bool) -> list[str]:
    """Return in words how tapegrad's operation differs from PyTorch's, for samples of each dtype and for wrong arguments."""
    found = []
    for dtype, (limit, second) in samples.items():
        if operator.supports(dtype):
            for place, sample in enumerate(operator.samples(dtype, limit, **choice)):
                found += _of_sample(operator, sample, dtype, second=second is None or place < second)
    return found + error_differences(operator)


def _of_sample(operator: Operator, sample: Any, dtype: str, *, second: bool) -> list[str]:
    parts = (sample.input, sample.args, sample.kwargs)
    second = second and operator.has_second_derivative
    process = sample.output_process_fn_grad
    theirs = run(torch, operator.in_torch(), translation.for_torch(parts), process, second=second)
    found = []
    for mode in NAMES:
        tapegrad.set_mode(mode)
        try:
            translated = translation.for_tapegrad(parts)
        except translation.Untranslatable:
            return []
        ours = run(tapegrad, operator.in_tapegrad(), translated, translation.with_tapegrad(process), second=second)
        text = difference(ours, theirs, elementwise=operator.is_elementwise)
        if text is not None:
            found.append(f"{mode}, {dtype}, {sample_text(sample)}: {text}")
    return found


def sample_text(sample: Any) -> str:
    return " ".join(str(sample.summary()).replace("\n", " ").split())


def error_differences(operator: Operator) -> list[str]:
    """Return in words where tapegrad's operation does not raise PyTorch's errors."""
    found = []
    for wrong in operator.errors():
        parts = (wrong.sample_input.input, wrong.sample_input.args, wrong.sample_input.kwargs)
        try:
            translated = translation.for_tapegrad(parts)
        except translation.Untranslatable:
            continue
        theirs = run(torch, operator.in_torch(), translation.for_torch(parts), lambda it: it, second=False)
        ours = run(tapegrad, operator.in_tapegrad(), translated, lambda it: it, second=False)
        text = error_difference(ours.error, theirs.error, wrong.error_regex)
        if text is not None:
            found.append(f"error, {sample_text(wrong.sample_input)}: {text}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true", help="all samples, and second derivatives of all")
    parser.add_argument("--reference", action="store_true", help="the many samples that PyTorch compares with references")
    parser.add_argument("--dtypes", help="of these dtypes, with commas between")
    parser.add_argument("--show", type=int, default=3, help="so many differences of an operation")
    options = parser.parse_args()
    samples: Any = {dtype: (None, None) for dtype in SAMPLES} if options.all else SAMPLES
    if options.dtypes:
        samples = {dtype: samples.get(dtype, (None, None)) for dtype in options.dtypes.split(",")}
    for name in options.names or all_operators():
        show(all_operators()[name], samples, options)


def show(operator: Operator, samples: Any, options: Any) -> None:
    started = time.perf_counter()
    try:
        operator.in_tapegrad()
    except AttributeError as error:
        print(f"MISSING {operator.name}: {error}", flush=True)
        return
    try:
        found = differences(operator, samples, reference=options.reference)
    except Exception as error:
        found = [f"the survey failed: {traceback.format_exc()[-600:]}"]
    print(f"{'DIFFERS' if found else 'ok     '} {operator.name} {len(found) or ''} ({time.perf_counter() - started:.1f} s)", flush=True)
    for text in found[: options.show]:
        print("   ", text[:1500].replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    main()
