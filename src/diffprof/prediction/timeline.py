"""The storages of a generation in the order in which they come and go, from a profile's record of allocations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diffprof.record.allocations import ALLOCATE, CALL, RELEASE, Allocations, step_places
from diffprof.record.profile import Call, Cost, Profile

PIPELINE = "pipeline"
"""The component that stands for the pipeline's own code."""


@dataclass(frozen=True)
class LivePoint:
    """What tensors held around one component call: weights not included."""

    call: int
    """The number of the call."""
    before_bytes: int
    peak_bytes: int
    after_bytes: int


def has_allocations(profile: Profile) -> bool:
    """Whether the profile says what memory comes and goes: one of an earlier version does not."""
    return any(call.component == PIPELINE and call.cost.allocations.events for call in profile.calls)


def live_points(profile: Profile) -> list[LivePoint]:
    """What was alive before, during and after each component call."""
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
    """Most bytes that a call itself held at one time."""
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
    """The call that stands for the pipeline's own code."""
    return next(call for call in reversed(profile.calls) if call.component == PIPELINE)


def _events(allocations: Allocations) -> Iterator[tuple[str, int]]:
    pairs = [(event.kind, event.value) for event in allocations.events]
    for number in allocations.expand():
        yield pairs[number]


def owners(allocations: Allocations) -> list[int]:
    """For each allocation in order, the number of the module that it was for."""
    places = [step_places(event.step) if event.kind == ALLOCATE else None for event in allocations.events]
    found: list[int] = []
    owner = 0
    for number in allocations.expand():
        step = places[number]
        if step is not None:
            owner += step
            found.append(owner)
    return found
