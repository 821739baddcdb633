"""Weights that a pipeline casts to float32 while it runs, as SDXL's `upcast_vae` does with a VAE in float16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from diffprof.prediction.event_player import Part, event_parts
from diffprof.prediction.timeline import pipeline_call
from diffprof.prediction.weights import ComponentWeights
from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent, Allocations, compress
from diffprof.record.profile import Component, Cost, Profile
from diffprof.record.run_settings import RunSettings

HALF, SINGLE = "float16", "float32"
GROWTH = 2
"""A weight in float32 takes twice what it took in float16."""


@dataclass(frozen=True)
class _Cast:
    """The places of events that make the copies, and of those that make the weights as they were again."""

    up: frozenset[int]
    back: frozenset[int]


@dataclass(frozen=True)
class OwnCode:
    """The pipeline's own code on a device."""

    cost: Cost
    cast: tuple[str, ...]
    """The components whose weights it casts."""

    @cached_property
    def parts(self) -> Sequence[Part]:
        """Its events in order."""
        return event_parts(self.cost)


def own_code(profile: Profile, is_resident: bool) -> OwnCode:
    """The pipeline's own code; `is_resident` says whether the weights stay on the device."""
    cost = pipeline_call(profile).cost
    cast = []
    for slot in cast_while_running(profile):
        allocations = with_cast(cost.allocations, profile.components[slot], is_resident)
        if allocations is not cost.allocations:
            cost = replace(cost, allocations=allocations)
            cast.append(slot)
    return OwnCode(cost, tuple(cast))


def cast_while_running(profile: Profile) -> tuple[str, ...]:
    """The components that are stored in float16, and of which most is computed in float32."""
    return tuple(
        slot
        for slot, part in profile.components.items()
        if part.dtype == SINGLE and set(part.weight_bytes_by_dtype) == {HALF} and part.calls
    )


def kept_on_device(profile: Profile, settings: RunSettings) -> tuple[str, ...]:
    """The components that must stay on the device: with a stream, groups come back in the dtype of before a cast."""
    is_streamed = settings.offload.startswith("group") and settings.use_stream
    return cast_while_running(profile) if is_streamed else ()


def grown(weights: ComponentWeights) -> ComponentWeights:
    """The weights after the cast."""
    modules = tuple(module._replace(stored_bytes=GROWTH * module.stored_bytes) for module in weights.modules)
    return ComponentWeights(weights.slot, modules)


def with_cast(allocations: Allocations, component: Component, is_resident: bool) -> Allocations:
    """The allocations of the pipeline's own code with the cast of a component as it is on a device; the same without.

    The dry run sees the copies, but not that the weights before them are released. Weights that stay on the device grow
    by half of what is allocated. Others are cast on the host, and brought in their new size.
    """
    numbers = allocations.expand()
    events = [allocations.events[number] for number in numbers]
    cast = _find(events, GROWTH * component.weight_bytes)
    if not cast.up:
        return allocations
    for place in cast.up | cast.back:
        grows = is_resident and place in cast.up
        events[place] = AllocationEvent(ALLOCATE, events[place].value // GROWTH if grows else 0, events[place].step)
    known = {event: number for number, event in enumerate(dict.fromkeys(events))}
    return compress(tuple(known), [known[event] for event in events])


def _find(events: list[AllocationEvent], total: int) -> _Cast:
    """Find stretches of allocations that are `total` bytes together, and what takes their place later."""
    up: set[int] = set()
    start = 0
    while start < len(events):
        end = start
        while end < len(events) and events[end].kind == ALLOCATE:
            end += 1
        up |= _of_size([event.value for event in events[start:end]], total, start)
        start = end + 1
    return _Cast(frozenset(up), _replaced(events, up) if up else frozenset())


def _of_size(sizes: list[int], total: int, first: int) -> set[int]:
    """The places of consecutive sizes that add up to a total, if there are any."""
    begins: dict[int, int] = {}
    for place, size in enumerate(accumulate(sizes, initial=0)):
        if size - total in begins:
            return set(range(first + begins[size - total], first + place))
        begins[size] = place
    return set()


def _replaced(events: list[AllocationEvent], up: set[int]) -> frozenset[int]:
    """The places of allocations right after which one of the copies is released: the weights are cast back."""
    copies: set[int] = set()
    made = 0
    back: set[int] = set()
    for place, event in enumerate(events):
        if event.kind == ALLOCATE:
            if place in up:
                copies.add(made)
            made += 1
        elif event.kind == RELEASE and made - event.value in copies and events[place - 1].kind == ALLOCATE:
            back.add(place - 1)
    return frozenset(back)
