"""The memory of one component call, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer
from diffprof.prediction.residency import Groups
from diffprof.prediction.weights import ComponentWeights, tensor_sizes
from diffprof.prediction.workspace import fused_attention_bytes, score_bytes
from diffprof.record.allocations import ALLOCATE, MASKED_ATTENTION, RELEASE
from diffprof.record.profile import Call

if TYPE_CHECKING:
    from diffprof.prediction.memory_simulation import MemorySimulation


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
        self.present: dict[str, list[Any]] = {}
        self.share = settings.devices if component.role == "denoiser" else 1
        self.activations = 0
        self.most = 0
        super().__init__(around.allocator, can_skip=self.groups is None and not self.beside)

    @cached_property
    def paths(self) -> list[str]:
        return [module.path for module in self.call.cost.modules] or [""]

    def run(self) -> int:
        """Follow all events; the most that is allocated at one time."""
        self.play_all(self.call.cost)
        for number in self.alive:
            self.allocator.release(self.blocks[number])
        for group in list(self.present):
            self._drop(group)
        return self.most

    def play(self, events: Sequence[Event]) -> None:
        allocator, blocks, sizes, alive = self.allocator, self.blocks, self.sizes, self.alive
        share, is_plain = self.share, self.can_skip
        for kind, value, step in events:
            if kind == ALLOCATE:
                size = value // share or 1
                beside = []
                if is_plain:
                    self.place += step
                else:
                    self._enter(step)
                    beside = self._beside(size)
                alive[len(blocks)] = None
                blocks.append(allocator.allocate(size))
                sizes.append(size)
                self.activations += size
                if allocator.allocated > self.most:
                    self._note(sum(block.size for block in beside))
                for block in beside:
                    allocator.release(block)
            elif kind == RELEASE:
                number = len(blocks) - value
                allocator.release(blocks[number])
                self.activations -= sizes[number]
                del alive[number]
            else:
                self._use(kind, value)

    def _beside(self, output_bytes: int) -> list[Any]:
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
        for block in self.present.pop(group):
            self.allocator.release(block)
        self.around.resident[self.call.component] -= sum(self.groups.bytes[group])

    def _use(self, kind: str, number: int) -> None:
        """An operation runs that may take memory beside."""
        operation = self.call.cost.operations[number]
        is_optional = operation.kind == "convolution"
        if is_optional:
            size = self.around.device.convolution_bytes(operation)
        elif self.around.settings.attention == "math" or not self.around.device.has_fused_attention(operation):
            size = score_bytes(operation, kind == MASKED_ATTENTION)
        else:
            size = fused_attention_bytes(operation)
        size //= self.share
        if not size:
            return
        needed = self.allocator.most_requested
        try:
            block = self.allocator.allocate(size)
        except OutOfDeviceMemory:
            if not is_optional:
                raise
            return  # cuDNN goes on to an algorithm that does without
        if is_optional:
            self.allocator.most_requested = needed
        if self.allocator.allocated > self.most:
            self._note(size)
        self.allocator.release(block)

    def _note(self, workspace: int) -> None:
        """More is allocated than at any moment of the call before."""
        self.most = self.allocator.allocated
        if self.around.is_peak():
            self.around.note(self.call.component, self.paths[self.place], self.activations, workspace)
