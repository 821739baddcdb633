"""Matches the counted calls with the measured ones: the same code made both, so they come in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.record.measured import CountMismatch, Iteration, Sample
from diffprof.record.profile import Call


def align_calls(iteration: Iteration, calls: Sequence[Call]) -> tuple[Iteration, CountMismatch | None]:
    """The iteration with the number of its counted call in every sample, and how the two differ, if they do.

    A method that executed no operation was not counted, and has no number; a forward pass always has one.
    """
    counted = {(call.component, call.method) for call in calls}
    samples: list[Sample] = []
    matched = 0
    mismatch = None
    uncounted: set[str] = set()
    for sample in iteration.samples:
        entry = _entry(sample)
        if entry is None or mismatch is not None:
            samples.append(sample)
        elif entry not in counted:
            samples.append(sample)
            uncounted |= {sample.section} if entry[1] == "forward" else set()
        elif matched < len(calls) and (calls[matched].component, calls[matched].method) == entry:
            samples.append(replace(sample, call=matched))
            matched += 1
        else:
            mismatch = CountMismatch(matched, sample.section)
            samples.append(sample)
    if uncounted and mismatch is None:
        mismatch = CountMismatch(matched, uncounted=tuple(sorted(uncounted)))
    return replace(iteration, samples=tuple(samples)), mismatch


def _entry(sample: Sample) -> tuple[str, str] | None:
    """Component and method of a sample that is a call of a component."""
    if sample.component is None:
        return None
    return sample.component, sample.section.removeprefix(f"{sample.component}_")
