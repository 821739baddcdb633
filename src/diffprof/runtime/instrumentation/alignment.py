"""Matches the counted calls with the measured ones: the same code made both, so they come in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.record.measured import Iteration, Sample
from diffprof.record.profile import Call


def align_calls(iteration: Iteration, calls: Sequence[Call]) -> tuple[Iteration, str | None]:
    """The iteration with the number of its counted call in every sample, and how the two differ, if they do.

    A method that executed no operation was not counted, and has no number; a forward pass always has one.
    """
    counted = {(call.component, call.method) for call in calls}
    samples: list[Sample] = []
    place = 0
    difference = None
    uncounted: set[str] = set()
    for sample in iteration.samples:
        entry = _entry(sample)
        if entry is None or difference is not None:
            samples.append(sample)
        elif entry not in counted:
            samples.append(sample)
            uncounted |= {sample.section} if entry[1] == "forward" else set()
        elif place < len(calls) and (calls[place].component, calls[place].method) == entry:
            samples.append(replace(sample, call=place))
            place += 1
        else:
            difference = (
                f"the run and the count differ from {sample.section} number {place} on, so only what was before is "
                "shown with its MACs: what the pipeline does depends on values"
            )
            samples.append(sample)
    if uncounted and difference is None:
        difference = f"{', '.join(sorted(uncounted))} ran and was not counted"
    return replace(iteration, samples=tuple(samples)), difference


def _entry(sample: Sample) -> tuple[str, str] | None:
    """Component and method of a sample that is a call of a component."""
    if sample.component is None:
        return None
    return sample.component, sample.section.removeprefix(f"{sample.component}_")
