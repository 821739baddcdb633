"""Cache the effects of calls on the allocator: with the same free memory, a call has the same effect again.

A call releases all it allocates when it ends, and free neighbours are merged. So it leaves the free memory as it was,
plus the new segments it had to open, and its effect depends only on its events and on the free memory. Generations that
differ in their steps or their device share most calls; those that differ in size share the first ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from diffprof.prediction.allocator import CachingAllocator
from diffprof.prediction.call_events import CallEvents, call_events
from diffprof.prediction.call_memory import CallPeak, CallSimulation
from diffprof.prediction.cast_weights import OwnCode, own_code
from diffprof.prediction.device_memory import WITHOUT_TF32, DeviceMemory
from diffprof.prediction.residency import Groups
from diffprof.prediction.timeline import pipeline_call
from diffprof.prediction.weights import ComponentWeights
from diffprof.record.profile import Component, Cost, Profile
from diffprof.record.run_settings import RunSettings


@dataclass(frozen=True)
class _Effect:
    """The effect of a call."""

    peak: CallPeak
    allocated_before: int
    requested: int
    """Peak of requested bytes, in addition to those before the call."""
    segments: tuple[int, ...]
    """Sizes of the segments that it opened."""


class KnownCalls:
    """A cache of calls; if it is created from an `earlier` one, only calls of `costs` are kept."""

    def __init__(self, earlier: KnownCalls | None = None, costs: Collection[Cost] = ()) -> None:
        self._costs: dict[int, Cost] = {}
        """Costs by `id`; kept alive, so that no other object gets the same `id`."""
        self._events: dict[tuple[int, Any], CallEvents] = {}
        self._effects: dict[tuple[int, Any], _Effect] = {}
        self._groups: dict[tuple[Any, ...], Groups] = {}
        self._groups_by_way: dict[tuple[int, Any], Groups] = {}
        """The latest groups of each component and kind of offload."""
        self._own_codes: dict[tuple[int, bool], tuple[Cost, OwnCode]] = {}
        if earlier is not None:
            same = {id(cost) for cost in costs}
            self._costs = {own: cost for own, cost in earlier._costs.items() if own in same}
            self._events = {key: events for key, events in earlier._events.items() if key[0] in same}
            self._effects = {key: effect for key, effect in earlier._effects.items() if key[0] in same}

    def events(self, cost: Cost, device: DeviceMemory, attention: str, share: int) -> CallEvents:
        """The events of a call on a device."""
        kind = (device.architecture in WITHOUT_TF32, device.maker == "NVIDIA", attention, share)
        key = (id(cost), kind)
        if key not in self._events:
            self._costs[id(cost)] = cost
            self._events[key] = call_events(cost, device, attention, share)
        return self._events[key]

    def own_code(self, profile: Profile, is_resident: bool) -> OwnCode:
        """The pipeline's own code, where the weights stay on the device or not."""
        cost = pipeline_call(profile).cost
        key = (id(cost), is_resident)
        if key not in self._own_codes:
            self._own_codes[key] = (cost, own_code(profile, is_resident))
        return self._own_codes[key][1]

    def groups(self, component: Component, weights: ComponentWeights, settings: RunSettings, cost: Cost) -> Groups:
        """The groups in which the weights of a component are moved during a call."""
        way = (settings.offload, settings.use_stream, settings.blocks_per_group)
        packing = (settings.quantize.get(component.slot), component.slot in settings.layerwise)
        key = (id(cost), id(component.modules), way, packing)
        if key not in self._groups:
            self._costs[id(cost)] = cost
            order = [module.path for module in cost.modules] or [""]
            similar = self._groups_by_way.get((id(component.modules), way))
            self._groups[key] = Groups(component, weights, settings, order, similar)
            self._groups_by_way[id(component.modules), way] = self._groups[key]
        return self._groups[key]

    def follow(self, simulation: CallSimulation) -> CallPeak:
        """Simulate a call, or apply its cached effect."""
        allocator = simulation.allocator
        state = (
            simulation.share, simulation.weight_state, simulation.events.workspaces, allocator.free_sizes(),
        )  # fmt: skip
        key = (id(simulation.call.cost), state)
        effect = self._effects.get(key)
        if effect is not None and allocator.has_room_for(sum(effect.segments)):
            return _repeat(effect, allocator)
        given_back = allocator.times_full
        effect = _record(simulation)
        if allocator.times_full == given_back:  # a full device would release segments in between
            self._effects[key] = effect
        return effect.peak


def _record(simulation: CallSimulation) -> _Effect:
    allocator = simulation.allocator
    allocated, requested, most_requested = allocator.allocated, allocator.requested, allocator.most_requested
    address = allocator.next_address
    allocator.most_requested = requested
    peak = simulation.run()
    effect = _Effect(peak, allocated, allocator.most_requested - requested, tuple(allocator.segments_since(address)))
    allocator.most_requested = max(most_requested, allocator.most_requested)
    return effect


def _repeat(effect: _Effect, allocator: CachingAllocator) -> CallPeak:
    allocator.add_free_segments(effect.segments)
    allocator.most_requested = max(allocator.most_requested, allocator.requested + effect.requested)
    if not effect.peak.allocated:
        return effect.peak  # it allocated nothing
    more = allocator.allocated - effect.allocated_before
    return replace(effect.peak, allocated=effect.peak.allocated + more)
