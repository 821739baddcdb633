"""The component calls of a measured run, and their counts."""

from __future__ import annotations

from collections.abc import Iterable

from diffprof.breakdown.sections import outermost
from diffprof.record.measured import Iteration, Sample
from diffprof.record.profile import Call, Profile


def component_samples(iteration: Iteration) -> list[Sample]:
    """The calls of components, without calls nested in a call of the same component."""
    return [sample for sample in outermost(iteration, lambda sample: sample.component) if sample.component is not None]


def counted_calls(profile: Profile, samples: Iterable[Sample]) -> list[Call] | None:
    """The counted call of each sample; None if one is unknown, because a partial sum would mislead."""
    calls = [profile.calls[sample.call] if sample.call is not None else None for sample in samples]
    known = [call for call in calls if call is not None]
    return known if len(known) == len(calls) else None
