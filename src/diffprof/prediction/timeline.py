"""The allocations and releases of a generation in order, from a profile's record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diffprof.record.allocations import ALLOCATE, CALL, RELEASE, Allocations, step_places
from diffprof.record.profile import Call, Cost, Profile

PIPELINE = "pipeline"
"""The slot of the pipeline's own code."""


@dataclass(frozen=True)
class LivePoint:
    """Live bytes of tensors around one component call, without weights."""

    call: int
    """The index of the call."""
    before_bytes: int
    peak_bytes: int
    after_bytes: int


def has_allocations(profile: Profile) -> bool:
    """Whether the profile has its allocations; those of earlier versions do not."""
    return any(call.component == PIPELINE and call.cost.allocations.events for call in profile.calls)


def live_points(profile: Profile) -> list[LivePoint]:
    """Live bytes before, during and after each component call."""
    points: list[LivePoint] = []
    peaks: dict[int, int] = {}
    sizes: list[int] = []
    now = number = 0
    outside = pipeline_call(profile).cost.allocations
    pending: tuple[int, int] | None = None
    for kind, value in _events(outside):
        if kind == CALL:
            if pending is not None:
                points.append(LivePoint(number - 1, pending[0], pending[1], now))
            cost = profile.calls[number].cost
            if id(cost) not in peaks:
                peaks[id(cost)] = peak_of(cost)
            pending = (now, now + peaks[id(cost)])
            number += 1
        elif kind == ALLOCATE:
            sizes.append(value)
            now += value
        elif kind == RELEASE:
            now -= sizes[-value]
    if pending is not None:
        points.append(LivePoint(number - 1, pending[0], pending[1], now))
    return points


def peak_of(cost: Cost) -> int:
    """Peak bytes of a call's own tensors."""
    sizes: list[int] = []
    now = most = 0
    for kind, value in _events(cost.allocations):
        if kind == ALLOCATE:
            sizes.append(value)
            now += value
            most = max(most, now)
        elif kind == RELEASE:
            now -= sizes[-value]
    return most


def pipeline_call(profile: Profile) -> Call:
    """The call of the pipeline's own code."""
    return next(call for call in reversed(profile.calls) if call.component == PIPELINE)


def _events(allocations: Allocations) -> Iterator[tuple[str, int]]:
    pairs = [(event.kind, event.value) for event in allocations.events]
    for number in allocations.expand():
        yield pairs[number]


def owners(allocations: Allocations) -> list[int]:
    """The index of the module of each allocation, in order."""
    places = [step_places(event.step) if event.kind == ALLOCATE else None for event in allocations.events]
    found: list[int] = []
    owner = 0
    for number in allocations.expand():
        step = places[number]
        if step is not None:
            owner += step
            found.append(owner)
    return found
