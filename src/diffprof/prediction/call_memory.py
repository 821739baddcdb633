"""The memory of one component call, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer
from diffprof.prediction.residency import Groups
from diffprof.prediction.weights import ComponentWeights, tensor_sizes
from diffprof.record.allocations import ALLOCATE, RELEASE
from diffprof.record.profile import Call

if TYPE_CHECKING:
    from diffprof.prediction.memory_simulation import MemorySimulation


@dataclass(frozen=True)
class CallPeak:
    """Where most was allocated in a call."""

    allocated: int = 0
    """All of it, also what was there before; 0 where the call allocates nothing."""
    place: int = 0
    """Of the module that ran, among those of the cost."""
    activations: int = 0
    workspace: int = 0
    weights: Mapping[str, int] | None = None
    """Bytes on the device by component; None where they are the same from the first moment to the last."""


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
        """Path: bytes of unpacked weights, and sizes of the output, that a module takes beside while it runs."""
        is_grouped = (
            settings.offload in ("sequential", "group", "group-leaf") and call.component not in around.on_device
        )
        self.groups = Groups(component, own, settings, self.paths) if is_grouped else None
        self.present: dict[str, list[int]] = {}
        self.share = settings.devices if component.role == "denoiser" else 1
        self.events = around.known.events(call.cost, around.device, settings.attention == "math", self.share)
        self.activations = 0
        self.peak = CallPeak()
        super().__init__(around.allocator, can_skip=self.groups is None and not self.beside)

    @cached_property
    def paths(self) -> list[str]:
        return [module.path for module in self.call.cost.modules] or [""]

    def run(self) -> CallPeak:
        """Follow all events; where most is allocated at one time."""
        self.play_all(self.events.parts)
        for number in self.alive:
            self.allocator.release(self.blocks[number])
        for group in list(self.present):
            self._drop(group)
        return self.peak

    def play(self, events: Sequence[Event]) -> None:
        allocator, blocks, sizes, alive = self.allocator, self.blocks, self.sizes, self.alive
        allocate, release, is_plain = allocator.allocate, allocator.release, self.can_skip
        for kind, value, step in events:
            if kind == ALLOCATE:
                beside: Sequence[int] = ()
                if is_plain:
                    self.place += step
                else:
                    self._enter(step)
                    beside = self._beside(value)
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
                self._use(value, is_optional=bool(step))

    def _beside(self, output_bytes: int) -> list[int]:
        """What the module that runs takes beside its output, until that is there."""
        unpacked, copies = self.beside.get(self.paths[self.place], (0, 0.0))
        return [self.allocator.allocate(size) for size in (unpacked, int(copies * output_bytes)) if size]

    def _enter(self, step: int) -> None:
        self.place += step
        if self.groups is None or (not step and self.present):
            return
        needed = self.groups.on_device(self.paths[self.place])
        for group in [name for name in self.present if name not in needed]:
            self._drop(group)
        for group in needed:
            if group not in self.present:
                sizes = self.groups.bytes[group]
                self.present[group] = [self.allocator.allocate(part) for size in sizes for part in tensor_sizes(size)]
                resident = self.around.resident
                resident[self.call.component] = resident.get(self.call.component, 0) + sum(sizes)

    def _drop(self, group: str) -> None:
        assert self.groups is not None
        for address in self.present.pop(group):
            self.allocator.release(address)
        self.around.resident[self.call.component] -= sum(self.groups.bytes[group])

    def _use(self, size: int, is_optional: bool) -> None:
        """An operation takes memory while it runs."""
        needed = self.allocator.most_requested
        try:
            address = self.allocator.allocate(size)
        except OutOfDeviceMemory:
            if not is_optional:
                raise
            return  # cuDNN goes on to an algorithm that does without
        if is_optional:
            self.allocator.most_requested = needed
        if self.allocator.allocated > self.peak.allocated:
            self._note(size)
        self.allocator.release(address)

    def _note(self, workspace: int) -> None:
        """More is allocated than at any moment of the call before."""
        weights = None if self.groups is None else dict(self.around.resident)
        self.peak = CallPeak(self.allocator.allocated, self.place, self.activations, workspace, weights)
