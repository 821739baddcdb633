"""Match counted calls with measured ones, which are in the same order, because the same code made both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.record.measured import CountMismatch, Iteration, Sample
from diffprof.record.profile import Call


def align_calls(iteration: Iteration, calls: Sequence[Call]) -> tuple[Iteration, CountMismatch | None]:
    """Add the index of the counted call to every sample; also returns the mismatch, if there is one.

    Methods that executed no operation were not counted, and get no index; a forward pass always gets one.
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
    """Component and method of a sample; None if it is not the call of a component."""
    if sample.component is None:
        return None
    return sample.component, sample.section.removeprefix(f"{sample.component}_")
