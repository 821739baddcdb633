"""The memory of a generation on a device: a profile's record of allocations, followed through PyTorch's allocator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffprof.prediction.allocator import CachingAllocator, OutOfDeviceMemory
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.residency import Groups
from diffprof.prediction.stages import stages_of_calls
from diffprof.prediction.timeline import pipeline_call
from diffprof.prediction.weights import ComponentWeights, component_weights, is_quantized_on_device, tensor_sizes
from diffprof.prediction.workspace import fused_attention_bytes, score_bytes
from diffprof.record.allocations import ALLOCATE, CALL, MASKED_ATTENTION, RELEASE, step_places
from diffprof.record.fitted import DECODE, DENOISE, ENCODE, LOAD, StageMemory
from diffprof.record.profile import Call, Cost, Profile
from diffprof.record.run_settings import RunSettings

Event = tuple[str, int, int]
"""Kind, value, and the step to the next owner."""


def predict_memory(
    profile: Profile, settings: RunSettings, device: DeviceMemory, capacity: int | None = None
) -> tuple[StageMemory, ...]:
    """The stages of the generation; raises `OutOfDeviceMemory` where the allocator cannot have what it needs."""
    simulation = _Simulation(profile, settings, device, capacity)
    simulation.run()
    return simulation.result()


@dataclass
class _Moment:
    """Where most was allocated so far in a stage."""

    allocated: int = -1
    component: str = ""
    module: str = ""
    weights: dict[str, int] | None = None
    activations: int = 0
    kept: int = 0
    workspace: int = 0


class _Simulation:
    def __init__(self, profile: Profile, settings: RunSettings, device: DeviceMemory, capacity: int | None) -> None:
        self.profile = profile
        self.settings = settings
        self.device = device
        self.allocator = CachingAllocator(capacity)
        self.weights = {slot: component_weights(part, settings) for slot, part in profile.components.items()}
        self.on_device: dict[str, list[Any]] = {}
        """Component: the blocks of its weights that lie on the device."""
        self.resident: dict[str, int] = {}
        """Component: the bytes of these blocks."""
        self.moments: dict[str, _Moment] = {}
        self.reserved: dict[str, int] = {}
        self.followed: dict[int, int] = {}
        """Cost: what it took at most beside what was there, when it was first followed event by event."""
        self.stay = set(profile.placement.stay_on_device if profile.placement else ())
        # Diffusers places no hooks on these: before version 0.48 of bitsandbytes they could not be moved.
        self.stay |= {slot for slot, scheme in settings.quantize.items() if scheme == "bitsandbytes:int8"}
        self.kept = 0
        self.stage = LOAD
        self.last_call = {call.component: number for number, call in enumerate(profile.calls)}

    def run(self) -> None:
        self._load()
        self.reserved[LOAD] = self.allocator.most_reserved
        self.allocator.empty_cache()
        stages = stages_of_calls(self.profile)
        # What precedes the first call belongs to it.
        self._begin(stages[0] if stages else DECODE)
        blocks: list[Any] = []
        sizes: list[int] = []
        number = 0
        for kind, value, _ in _events(pipeline_call(self.profile).cost):
            if kind == CALL:
                self._call(self.profile.calls[number], number, stages[number])
                number += 1
            elif kind == ALLOCATE:
                blocks.append(self.allocator.allocate(value))
                sizes.append(value)
                self.kept += value
                self._note("pipeline", "", 0, 0)
            elif kind == RELEASE:
                self.allocator.release(blocks[-value])
                self.kept -= sizes[-value]
        self._begin("")

    def _begin(self, stage: str) -> None:
        """Go over to a stage; a pipeline may come back to one."""
        if stage != self.stage:
            self.reserved[self.stage] = max(self.reserved.get(self.stage, 0), self.allocator.most_reserved)
            self.allocator.most_reserved = self.allocator.reserved
            self.stage = stage

    def result(self) -> tuple[StageMemory, ...]:
        stages = []
        for stage in (LOAD, ENCODE, DENOISE, DECODE):
            moment = self.moments.get(stage)
            if moment is None:
                continue
            reserved = self.reserved.get(stage, 0)
            stages.append(
                StageMemory(
                    stage=stage,
                    component=moment.component,
                    module=moment.module,
                    allocated_bytes=moment.allocated,
                    reserved_bytes=reserved,
                    device_bytes=reserved + self.device.context_bytes,
                    weights=moment.weights or {},
                    activation_bytes=moment.activations,
                    kept_bytes=moment.kept,
                    workspace_bytes=moment.workspace,
                )
            )
        return tuple(stages)

    def _load(self) -> None:
        """What lies on the device before the call."""
        for slot in self.weights:
            if self.settings.drop_text_encoders and not self._is_text_encoder(slot):
                continue  # they come when the prompt is encoded and the text encoders are gone
            is_quantized_there = is_quantized_on_device(self.settings.quantize.get(slot))
            if self.settings.offload == "none" or slot in self.stay or is_quantized_there:
                self._bring(slot)
        # Of cuBLAS, once and for all.
        self.allocator.allocate(self.device.matrix_workspace_bytes)
        self._note("", "", 0, 0)
        for slot in list(self.on_device) if self.settings.offload != "none" else ():
            if slot not in self.stay:
                self._take_away(slot)

    def _is_text_encoder(self, slot: str) -> bool:
        return self.profile.components[slot].role == "text_encoder"

    def _bring(self, slot: str) -> None:
        modules = self.weights[slot].modules
        if slot in self.on_device or not modules:
            return
        self.on_device[slot] = [
            self.allocator.allocate(size) for module in modules for size in tensor_sizes(module.stored_bytes)
        ]
        self.resident[slot] = self.weights[slot].total_bytes

    def _take_away(self, slot: str) -> None:
        for block in self.on_device.pop(slot, ()):
            self.allocator.release(block)
        self.resident.pop(slot, None)

    def _call(self, call: Call, number: int, stage: str) -> None:
        if self.settings.offload == "model":
            self._offload_before(call.component)
        self._begin(stage)
        if self.settings.offload == "model":
            self._bring(call.component)
            self._note(call.component, "", 0, 0)
        elif self.settings.drop_text_encoders and self.settings.offload == "none":
            self._bring_after_encoding(call.component)
        self._follow(call)
        is_last = self.last_call[call.component] == number
        if self.settings.drop_text_encoders and is_last and self._is_text_encoder(call.component):
            self._take_away(call.component)
            self.allocator.empty_cache()

    def _bring_after_encoding(self, slot: str) -> None:
        """With the first component that is no text encoder, all of them come."""
        if self._is_text_encoder(slot) or slot in self.on_device:
            return
        for other in self.weights:
            if not self._is_text_encoder(other):
                self._bring(other)
        self._note(slot, "", 0, 0)

    def _offload_before(self, slot: str) -> None:
        """As accelerate's hooks do: the component that precedes this one in the pipeline's order leaves."""
        order = self.profile.placement.offload_order if self.profile.placement else ()
        present = [name for name in order or self.profile.components if name in self.weights]
        present = [name for name in present if self.weights[name].modules and name not in self.stay]
        before = present[present.index(slot) - 1] if slot in present and present[0] != slot else None
        if before in self.on_device:
            self._take_away(before)
            self.allocator.empty_cache()

    def _follow(self, call: Call) -> None:
        """Once for all calls of one cost: from the second on, the allocator has all blocks that are needed."""
        before = self.allocator.allocated
        taken = self.followed.get(id(call.cost))
        if taken is None:
            self.followed[id(call.cost)] = _CallSimulation(self, call).run() - before
            return
        moment = self.moments.get(self.stage)
        if moment is not None:
            moment.allocated = max(moment.allocated, before + taken)

    def _note(self, component: str, module: str, activations: int, workspace: int) -> None:
        """Remember this moment, if more is allocated than at any before it in the stage."""
        moment = self.moments.get(self.stage)
        if moment is None:
            moment = self.moments[self.stage] = _Moment()
        if self.allocator.allocated > moment.allocated:
            moment.allocated = self.allocator.allocated
            moment.component, moment.module = component, module
            moment.weights = dict(self.resident)
            moment.activations, moment.kept, moment.workspace = activations, self.kept, workspace


class _CallSimulation:
    """One component call, event by event."""

    def __init__(self, around: _Simulation, call: Call) -> None:
        self.around = around
        self.call = call
        self.allocator = around.allocator
        self.paths = [module.path for module in call.cost.modules] or [""]
        settings = around.settings
        component = around.profile.components[call.component]
        own: ComponentWeights = around.weights[call.component]
        self.unpacked = {module.path: module.unpacked_bytes for module in own.modules if module.unpacked_bytes}
        is_grouped = (
            settings.offload in ("sequential", "group", "group-leaf") and call.component not in around.on_device
        )
        self.groups = Groups(component, own, settings, self.paths) if is_grouped else None
        self.present: dict[str, list[Any]] = {}
        self.share = settings.devices if component.role == "denoiser" else 1
        self.owner = 0
        self.activations = 0
        self.most = 0

    def run(self) -> int:
        allocator = self.allocator
        blocks: list[Any] = []
        sizes: list[int] = []
        alive: dict[int, None] = {}
        for kind, value, step in _events(self.call.cost):
            if kind == ALLOCATE:
                self._enter(step)
                size = value // self.share or 1
                unpacked = self.unpacked.get(self.paths[self.owner])
                copy = allocator.allocate(unpacked) if unpacked else None
                blocks.append(allocator.allocate(size))
                sizes.append(size)
                alive[len(blocks) - 1] = None
                self.activations += size
                self._note(unpacked or 0)
                if copy is not None:
                    allocator.release(copy)
            elif kind == RELEASE:
                number = len(blocks) - value
                allocator.release(blocks[number])
                self.activations -= sizes[number]
                del alive[number]
            else:
                self._use(kind, value)
        for number in alive:
            allocator.release(blocks[number])
        for group in list(self.present):
            self._drop(group)
        return self.most

    def _enter(self, step: int) -> None:
        self.owner += step
        if self.groups is None or (not step and self.present):
            return
        wanted = self.groups.on_device(self.paths[self.owner])
        for group in [name for name in self.present if name not in wanted]:
            self._drop(group)
        for group in wanted:
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
        if operation.kind == "convolution":
            size = self.around.device.convolution_bytes(operation)
        elif self.around.settings.attention == "math" or not self.around.device.has_fused_attention(operation):
            size = score_bytes(operation, kind == MASKED_ATTENTION)
        else:
            size = fused_attention_bytes(operation)
        size //= self.share
        if not size:
            return
        try:
            block = self.allocator.allocate(size)
        except OutOfDeviceMemory:
            if operation.kind != "convolution":
                raise
            return  # cuDNN goes on to an algorithm that does without
        self._note(size)
        self.allocator.release(block)

    def _note(self, workspace: int) -> None:
        if self.allocator.allocated > self.most:
            self.most = self.allocator.allocated
            self.around._note(self.call.component, self.paths[self.owner], self.activations, workspace)


def _events(cost: Cost) -> list[Event]:
    events = [(event.kind, event.value, step_places(event.step)) for event in cost.allocations.events]
    return [events[number] for number in cost.allocations.expand()]
