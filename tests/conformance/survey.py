"""What of PyTorch's database of operators tapegrad does alike: ``python -m tests.conformance.survey [names]``."""

from __future__ import annotations

import argparse
from typing import Any

import torch

import tapegrad
from tapegrad.tape.modes import NAMES

from . import translation
from .comparing import Comparison, Outcome, error_difference, run
from .expectations import TOLERANCES, is_expected
from .operators import Form, Operator, all_operators

# How many samples of a dtype are compared, and of how many the second derivatives too; None is all.
Counts = dict[str, tuple[int | None, int | None]]
SAMPLES: Counts = {"float64": (12, 4), "float32": (4, 0), "int64": (3, 0), "bool": (3, 0), "complex128": (6, 1)}


class Survey:
    """What is compared: how many samples of each dtype, in which modes; `reference` takes PyTorch's longer list of samples."""

    def __init__(self, samples: Counts = SAMPLES, modes: tuple[str, ...] = NAMES, *, reference: bool = False) -> None:
        self.samples = samples
        self.modes = modes
        self.reference = reference

    def differences(self, operator: Operator) -> list[str]:
        """Return in words how tapegrad's operation differs from PyTorch's."""
        before = tapegrad.get_mode()
        try:
            return [*self._of_function(operator), *self._of_forms(operator), *self._of_errors(operator)]
        finally:
            tapegrad.set_mode(before)

    def _of_function(self, operator: Operator) -> list[str]:
        """Compare the function, for samples of each dtype, with derivatives."""
        found = []
        for dtype, (limit, second) in self.samples.items():
            if operator.supports(dtype):
                form = operator.function_of(dtype)
                for place, sample in enumerate(operator.samples(dtype, limit, reference=self.reference)):
                    wants_second = operator.has_second_derivative and (second is None or place < second)
                    found += self._of_sample(operator, form, sample, dtype, second=wants_second)
        return found

    def _of_forms(self, operator: Operator, limit: int = 4) -> list[str]:
        """Compare methods, in-place methods, aliases and ``out=``, for a few samples."""
        dtype = next(dtype for dtype in SAMPLES if operator.supports(dtype))
        samples = operator.samples(dtype, limit)
        return [
            text
            for form in operator.other_forms()
            for sample in samples
            for text in self._of_sample(operator, form, sample, form.label)
        ]

    def _of_sample(self, operator: Operator, form: Form, sample: Any, label: str, *, second: bool = False) -> list[str]:
        parts = (sample.input, sample.args, sample.kwargs)
        process = sample.output_process_fn_grad
        comparison = Comparison(operator.is_elementwise, TOLERANCES.get(operator.name))
        theirs = _outcome(torch, form.in_torch, form, operator, translation.for_torch(parts), process, second)
        found = []
        for mode in self.modes:
            tapegrad.set_mode(mode)
            try:
                translated = translation.for_tapegrad(parts)
            except translation.Untranslatable:
                return []
            own_process = translation.with_tapegrad(process)
            ours = _outcome(tapegrad, form.in_tapegrad, form, operator, translated, own_process, second)
            text = comparison.difference(ours, theirs)
            if text is not None:
                found.append(f"{mode}, {label}, {sample_text(sample)}: {text}")
        return found

    def _of_errors(self, operator: Operator) -> list[str]:
        """Compare what is raised for wrong arguments."""
        found = []
        for wrong in operator.errors():
            parts = (wrong.sample_input.input, wrong.sample_input.args, wrong.sample_input.kwargs)
            for mode in self.modes:
                tapegrad.set_mode(mode)
                try:
                    translated = translation.for_tapegrad(parts)
                except translation.Untranslatable:
                    break
                theirs = run(torch, operator.function.in_torch, translation.for_torch(parts))
                ours = run(tapegrad, operator.function.in_tapegrad, translated)
                text = error_difference(ours.error, theirs.error, wrong.error_regex)
                if text is not None:
                    found.append(f"{mode}, error, {sample_text(wrong.sample_input)}: {text}")
        return found


def _outcome(
    library: Any, function: Any, form: Form, operator: Operator, sample: Any, process: Any, second: bool
) -> Outcome:
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
    samples: Counts = dict.fromkeys(SAMPLES, (None, None)) if options.all else SAMPLES
    if options.dtypes:
        samples = {dtype: samples.get(dtype, (None, None)) for dtype in options.dtypes.split(",")}
    survey = Survey(samples, (options.mode,) if options.mode else NAMES, reference=options.reference)
    for name in options.names or all_operators():
        show(all_operators()[name], survey, options.show)


def show(operator: Operator, survey: Survey, limit: int) -> None:
    """Print how an operation differs."""
    try:
        operator.function  # noqa: B018 - is there one?
    except AttributeError as error:
        print(f"MISSING {operator.name}: {error}", flush=True)
        return
    try:
        found = survey.differences(operator)
    except Exception as error:  # PyTorch's database may have made no samples
        found = [f"no comparison: {error!r}"]
    expected = [text for text in found if is_expected(operator.name, text)]
    print(f"{'ok     ' if found == expected else 'DIFFERS'} {operator.name} {len(found) or ''}", flush=True)
    for text in [text for text in found if text not in expected][:limit]:
        print("   ", text[:1500].replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    main()
