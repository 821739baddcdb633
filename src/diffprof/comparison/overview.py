"""A table of several profiles, with one row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.spreads import Spread, spread_of
from diffprof.comparison.counts import METRICS
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class OverviewRow:
    """The cost of one generation of a profile."""

    name: str
    model: str
    pipeline: str
    figures: Mapping[str, int]
    """All `METRICS` of the whole generation."""
    components: Mapping[str, int]
    """MACs of each component."""
    call: Spread | None
    """The time of the whole call over the timed iterations; None if it was not measured."""


def overview(profiles: Sequence[Profile], names: Sequence[str]) -> list[OverviewRow]:
    """One row for each profile, in the given order."""
    return [_row(profile, name) for profile, name in zip(profiles, names, strict=True)]


def _row(profile: Profile, name: str) -> OverviewRow:
    return OverviewRow(
        name=name,
        model=profile.request.model,
        pipeline=profile.request.pipeline,
        figures={name: metric(profile) for name, metric in METRICS.items()},
        components={slot: part.macs for slot, part in profile.components.items()},
        call=_call(profile),
    )


def _call(profile: Profile) -> Spread | None:
    timed = profile.measured.timed_iterations if profile.measured else ()
    clock = clock_of(timed)
    return spread_of([clock.length_ns(iteration.wall) for iteration in timed]) if timed else None
