"""The caches of a measured run: hits and misses by step, and the MACs and time that they saved."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.component_samples import component_samples, counted_calls
from diffprof.breakdown.shares import share
from diffprof.record.measured import CacheEvent, Iteration, Sample
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class CacheRow:
    """One cache in one component, over the timed iterations."""

    cache: str
    component: str | None
    """None for the program's own cache, outside of the components."""
    asks: int
    hits: int
    misses: int
    hit_rate: float
    hit_steps: tuple[int, ...]
    """The denoising steps with at least one hit."""
    macs_saved: int | None
    """MACs that all caches of the component saved in one generation: counted without caches, minus executed. None if
    that is not known."""
    macs_saved_share: float | None
    """`macs_saved` as a share of the component's MACs without caches."""
    ns_saved: float | None
    """Estimated time saved in one generation: calls with a hit, compared with the median of those without one in the
    same iteration. None if every call had a hit."""
    compared_calls: int
    """The number of calls without a hit that the estimate is based on."""
    held_bytes: int | None
    """The maximum memory of the cache."""


@dataclass(frozen=True)
class CacheStep:
    """Hits and misses of one cache in one step, summed over the timed iterations."""

    cache: str
    component: str | None
    step: int | None
    """None outside of the denoising loop."""
    hits: int
    misses: int


def cache_table(profile: Profile) -> list[CacheRow]:
    """One row for each cache and component, the one with the most lookups first."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    rows = [_row(profile, timed, cache, component) for cache, component in _caches(timed)]
    return sorted(rows, key=lambda row: (-row.asks, row.cache, row.component or ""))


def cache_timeline(profile: Profile) -> list[CacheStep]:
    """The steps of each cache in order; lookups outside of the loop come first."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    found: list[CacheStep] = []
    for cache, component in _caches(timed):
        events = _events(timed, cache, component)
        for step in sorted({event.step for event in events}, key=lambda step: -1 if step is None else step):
            hits = [event.hit for event in events if event.step == step]
            found.append(CacheStep(cache, component, step, sum(hits), len(hits) - sum(hits)))
    return found


def _caches(iterations: Sequence[Iteration]) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((event.cache, event.component) for iteration in iterations for event in iteration.caches))


def _events(iterations: Sequence[Iteration], cache: str, component: str | None) -> list[CacheEvent]:
    return [
        event
        for iteration in iterations
        for event in iteration.caches
        if (event.cache, event.component) == (cache, component)
    ]


def _row(profile: Profile, timed: Sequence[Iteration], cache: str, component: str | None) -> CacheRow:
    assert profile.measured is not None
    events = _events(timed, cache, component)
    hits = sum(event.hit for event in events)
    nominal = profile.measured.nominal_macs.get(component or "")
    executed = _executed_macs(profile, timed, component)
    saved = nominal - executed if nominal is not None and executed is not None else None
    ns_saved, compared = _estimated_saving(timed, cache, component)
    return CacheRow(
        cache=cache,
        component=component,
        asks=len(events),
        hits=hits,
        misses=len(events) - hits,
        hit_rate=share(hits, len(events)),
        hit_steps=tuple(sorted({event.step for event in events if event.hit and event.step is not None})),
        macs_saved=saved,
        macs_saved_share=share(saved, nominal) if saved is not None and nominal else None,
        ns_saved=ns_saved,
        compared_calls=compared,
        held_bytes=profile.measured.cached_bytes.get(cache),
    )


def _executed_macs(profile: Profile, timed: Sequence[Iteration], component: str | None) -> int | None:
    """The MACs of the component in one iteration; the median if iterations differ."""
    counted = [counted_calls(profile, _calls_of(iteration, component)) for iteration in timed]
    known = [sum(call.macs for call in calls) for calls in counted if calls]
    return statistics.median_low(known) if known and len(known) == len(counted) else None


def _calls_of(iteration: Iteration, component: str | None) -> list[Sample]:
    return [sample for sample in component_samples(iteration) if sample.component == component]


def _estimated_saving(timed: Sequence[Iteration], cache: str, component: str | None) -> tuple[float | None, int]:
    """Nanoseconds saved in one iteration, and the number of calls without a hit that they were compared with."""
    clock = clock_of(timed)
    saved, compared = [], 0
    for iteration in timed:
        hits = [event.at_ns for event in _events([iteration], cache, component) if event.hit]
        times: dict[bool, list[int]] = {True: [], False: []}
        for sample in _calls_of(iteration, component):
            times[_has_hit(sample, hits)].append(clock.length_ns(sample.span))
        if times[False]:
            compared += len(times[False])
            saved.append(len(times[True]) * statistics.median(times[False]) - sum(times[True]))
    return (statistics.median(saved) if saved else None), compared


def _has_hit(sample: Sample, moments: Sequence[int]) -> bool:
    # Moments are on the host clock, even if times are read from the device clock.
    return any(sample.span.start_ns <= moment <= sample.span.end_ns for moment in moments)
