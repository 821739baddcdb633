"""Simulate the memory of one component call, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer
from diffprof.prediction.residency import Groups
from diffprof.prediction.weights import ComponentWeights
from diffprof.prediction.workspace import attention_way
from diffprof.record.allocations import ALLOCATE, RELEASE
from diffprof.record.profile import Call

if TYPE_CHECKING:
    from diffprof.prediction.memory_simulation import MemorySimulation


@dataclass(frozen=True)
class CallPeak:
    """The peak of allocated memory in a call."""

    allocated: int = 0
    """Total bytes at the peak, including earlier allocations; 0 if the call allocates nothing."""
    place: int = 0
    """The index of the running module among those of the cost."""
    activations: int = 0
    workspace: int = 0
    weights: Mapping[str, int] | None = None
    """Bytes of weights on the device by component; None if they do not change during the call."""


@dataclass(frozen=True)
class Turn:
    """One repetition of events."""

    places: dict[int, None]
    """Modules that ran."""
    present: dict[str, list[int]]
    """Groups of weights on the device at its start, and their addresses."""


class CallSimulation(EventPlayer):
    """One component call."""

    def __init__(self, around: MemorySimulation, call: Call) -> None:
        self.around = around
        self.call = call
        settings = around.settings
        component = around.profile.components[call.component]
        own: ComponentWeights = around.weights[call.component]
        self.beside = {
            module.path: (module.unpacked_bytes, module.output_copies)
            for module in own.modules
            if module.unpacked_bytes or module.output_copies
        }
        """Extra memory of each module while it runs: bytes of unpacked weights, and multiples of its output."""
        is_grouped = (
            settings.offload in ("sequential", "group", "group-leaf") and call.component not in around.on_device
        )
        self.groups: Groups | None = (
            around.known.groups(component, own, settings, call.cost) if is_grouped else None
        )  # fmt: skip
        self.present: dict[str, list[int]] = {}
        """Groups of weights on the device, and their addresses."""
        self.needed: tuple[str, ...] | None = None
        """The groups that the running module needs."""
        self.share = settings.devices if component.role == "denoiser" else 1
        attention = attention_way(settings.attention, component.class_name)
        self.events = around.known.events(call.cost, around.device, attention, self.share)
        self.peak = CallPeak()
        self.is_plain = self.groups is None and not self.beside
        """Whether the running module makes no difference."""
        self.weight_state = (
            settings.quantize.get(call.component), settings.layerwise.get(call.component),
            None if self.groups is None else
            (settings.offload, settings.use_stream, settings.blocks_per_group,
             *(one for one in around.resident.items() if one[1])),
        )  # fmt: skip
        """What the call depends on besides its events and free memory: how its weights are stored."""
        self.turns: list[Turn] = []
        super().__init__(around.allocator, can_skip=True)

    @cached_property
    def paths(self) -> list[str]:
        return [module.path for module in self.call.cost.modules] or [""]

    def run(self) -> CallPeak:
        """Play all events, and return the peak."""
        self.play_all(self.events.parts)
        for number in self.alive:
            self.allocator.release(self.blocks[number])
        for group in list(self.present):
            self._drop(group)
        return self.peak

    def play(self, events: Sequence[Event]) -> None:
        if self.is_plain:
            self._play_plain(events)
        else:
            self._play_with_weights(events)

    def _play_plain(self, events: Sequence[Event]) -> None:
        """Play events of a call whose weights stay on the device; most events are played here."""
        allocator, blocks, sizes, alive = self.allocator, self.blocks, self.sizes, self.alive
        allocate, release = allocator.allocate, allocator.release
        most = self.peak.allocated
        place, activations = self.place, self.activations
        at_most: tuple[int, int] | None = None
        for kind, value, step in events:
            if kind == ALLOCATE:
                place += step
                alive[len(blocks)] = None
                blocks.append(allocate(value))
                sizes.append(value)
                activations += value
                if allocator.allocated > most:
                    most, at_most = allocator.allocated, (place, activations)
            elif kind == RELEASE:
                number = len(blocks) - value
                release(blocks[number])
                activations -= sizes[number]
                del alive[number]
            else:
                self.place, self.activations = place, activations
                if self._use(value, bool(step), most):
                    most, at_most = self.peak.allocated, None
        if at_most is not None:
            self.peak = CallPeak(most, *at_most)
        self.place, self.activations = place, activations

    def _play_with_weights(self, events: Sequence[Event]) -> None:
        allocator, blocks, sizes, alive = self.allocator, self.blocks, self.sizes, self.alive
        allocate, release = allocator.allocate, allocator.release
        self.turns.append(Turn({self.place: None}, dict(self.present)))
        for kind, value, step in events:
            if kind == ALLOCATE:
                if step or not self.present:
                    self._enter(step)
                beside = self._beside(value) if self.beside else ()
                alive[len(blocks)] = None
                blocks.append(allocate(value))
                sizes.append(value)
                self.activations += value
                if allocator.allocated > self.peak.allocated:
                    self._note(sum(map(allocator.size_of, beside)))
                for address in beside:
                    release(address)
            elif kind == RELEASE:
                number = len(blocks) - value
                release(blocks[number])
                self.activations -= sizes[number]
                del alive[number]
            else:
                self._use(value, bool(step), self.peak.allocated)

    def _beside(self, output_bytes: int) -> Sequence[int]:
        """The extra allocations of the running module, until its output exists."""
        taken = self.beside.get(self.paths[self.place])
        if taken is None:
            return ()
        unpacked, copies = taken
        return [self.allocator.allocate(size) for size in (unpacked, int(copies * output_bytes)) if size]

    def _enter(self, step: int) -> None:
        """Switch to another module, which may load and release groups of weights."""
        self.place += step
        self.turns[-1].places[self.place] = None
        if self.groups is None:
            return
        needed = self.groups.on_device(self.paths[self.place])
        if needed is self.needed:
            return
        self.needed = needed
        allocate, resident = self.allocator.allocate, self.around.resident
        for group in [name for name in self.present if name not in needed]:
            self._drop(group)
        for group in needed:
            if group not in self.present:
                self.present[group] = [allocate(size) for size in self.groups.tensors[group]]
                resident[self.call.component] = resident.get(self.call.component, 0) + self.groups.totals[group]

    def repetitions(self, distance: int, turns: int, times: int, is_exact: bool = True) -> int:
        """The number of repetitions whose modules have the same sizes of loaded and unpacked weights."""
        if self.is_plain:
            return times
        last = self.turns[-turns:]
        places = list(dict.fromkeys(place for turn in last for place in turn.places))
        found = 0
        while found < times and self._is_alike(places, distance * (found + 1)):
            found += 1
        if self.groups is None or not found:
            return found
        # The groups on the device must have the addresses of those before.
        before, now = last[0].present, self.groups.on_device(self.paths[self.place])
        if is_exact and [*before.values()] != [
            self.present[name] for name in self._names_after(before, places, distance)
        ]:
            return 0
        self.needed = moved = self.groups.on_device(self.paths[self.place + distance * found])
        self.present = {new: self.present[old] for old, new in zip(now, moved, strict=True)}
        return found

    def _is_alike(self, places: Sequence[int], distance: int) -> bool:
        """Whether the modules `distance` places later need the same extra memory and groups of the same sizes."""
        paths, groups, beside = self.paths, self.groups, self.beside
        if places[-1] + distance >= len(paths) or max(places) + distance >= len(paths):
            return False
        pairs: dict[str, str] = {}
        compared: set[tuple[int, int]] = set()
        for place in places:
            one, other = paths[place], paths[place + distance]
            if beside and beside.get(one) != beside.get(other):
                return False
            if groups is None:
                continue
            before, after = groups.on_device(one), groups.on_device(other)
            if (id(before), id(after)) in compared:
                continue
            compared.add((id(before), id(after)))
            if len(before) != len(after):
                return False
            for name, moved in zip(before, after, strict=True):
                if groups.bytes[name] != groups.bytes[moved] or pairs.setdefault(name, moved) != moved:
                    return False
        return len(set(pairs.values())) == len(pairs)

    def _names_after(self, before: Mapping[str, object], places: Sequence[int], distance: int) -> list[str]:
        """The names of the corresponding groups `distance` places later."""
        assert self.groups is not None
        pairs: dict[str, str] = {}
        for place in places:
            one, other = self.groups.on_device(self.paths[place]), self.groups.on_device(self.paths[place + distance])
            pairs.update(zip(one, other, strict=True))
        return [pairs.get(name, name) for name in before]

    def _drop(self, group: str) -> None:
        assert self.groups is not None
        for address in self.present.pop(group):
            self.allocator.release(address)
        self.around.resident[self.call.component] -= self.groups.totals[group]

    def _use(self, size: int, is_optional: bool, most: int) -> bool:
        """Allocate the workspace of an operation temporarily; whether that is a new peak."""
        needed = self.allocator.most_requested
        try:
            address = self.allocator.allocate(size)
        except OutOfDeviceMemory:
            if not is_optional:
                raise
            return False  # cuDNN then uses an algorithm without a workspace
        if is_optional:
            self.allocator.most_requested = needed
        is_most = self.allocator.allocated > most
        if is_most:
            self._note(size)
        self.allocator.release(address)
        return is_most

    def _note(self, workspace: int) -> None:
        """Record a new peak of the call."""
        weights = None if self.groups is None else dict(self.around.resident)
        self.peak = CallPeak(self.allocator.allocated, self.place, self.activations, workspace, weights)
