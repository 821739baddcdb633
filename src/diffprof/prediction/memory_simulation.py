"""Simulate the memory of a generation on a device by replaying its allocations through a model of the allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from diffprof.errors import FileFormatError
from diffprof.prediction.allocator import CachingAllocator, Occupied
from diffprof.prediction.call_memory import CallPeak, CallSimulation
from diffprof.prediction.cast_weights import grown, kept_on_device
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.stages import stages_of_calls
from diffprof.prediction.timeline import PIPELINE
from diffprof.prediction.weights import (
    ComponentWeights,
    component_weights,
    is_quantized_on_device,
    without_buffers,
)
from diffprof.record.allocations import ALLOCATE, CALL, RELEASE
from diffprof.record.fit import DECODE, DENOISE, ENCODE, LOAD, StageMemory
from diffprof.record.profile import Call, Cost, Profile
from diffprof.record.run_settings import RunSettings

MISMATCH = "The allocations of this profile name more calls than it has: count the model again."
"""Profiles of earlier versions may be like that, if guidance had an interval."""


def predict_memory(
    profile: Profile,
    settings: RunSettings,
    device: DeviceMemory,
    capacity: int | None = None,
    known: KnownCalls | None = None,
) -> tuple[StageMemory, ...]:
    """Predict the memory of each stage; raises `OutOfDeviceMemory` if the device has too little."""
    return simulate_memory(profile, settings, device, capacity, known).result()


def simulate_memory(
    profile: Profile,
    settings: RunSettings,
    device: DeviceMemory,
    capacity: int | None = None,
    known: KnownCalls | None = None,
) -> MemorySimulation:
    """Run the simulation and return it; `known` calls are not simulated again."""
    simulation = MemorySimulation(profile, settings, device, capacity, known)
    simulation.run()
    return simulation


@dataclass
class _Moment:
    """The peak of a stage so far."""

    allocated: int
    component: str
    cost: Cost | None
    """Of the component's call."""
    place: int
    """Of the module that ran, among those of the cost."""
    weights: Mapping[str, int]
    activations: int
    kept: int
    workspace: int

    @property
    def module(self) -> str:
        return self.cost.module_path(self.place) if self.cost is not None else ""


class MemorySimulation:
    """A generation that is replayed through the allocator."""

    def __init__(
        self,
        profile: Profile,
        settings: RunSettings,
        device: DeviceMemory,
        capacity: int | None = None,
        known: KnownCalls | None = None,
    ) -> None:
        self.profile = profile
        self.known = known if known is not None else KnownCalls()
        self.settings = settings
        self.device = device
        self.allocator = CachingAllocator(capacity)
        self.weights = {slot: component_weights(part, settings) for slot, part in profile.components.items()}
        self.on_device: dict[str, list[int]] = {}
        """The blocks of weights on the device, by component."""
        self.moves = 0
        """How often weights of a component were loaded or released."""
        self.resident: dict[str, int] = {}
        """The bytes of these blocks, by component."""
        self.moments: dict[str, _Moment] = {}
        self.reserved: dict[str, int] = {}
        self.followed: dict[int, int] = {}
        """The peak of additional memory of each cost, when it was first simulated event by event."""
        self.stay = set(profile.placement.stay_on_device if profile.placement else ())
        # diffusers adds no hooks to these, because they could not be moved before version 0.48 of bitsandbytes.
        self.stay |= {slot for slot, scheme in settings.quantize.items() if scheme == "bitsandbytes:int8"}
        self.stay |= set(kept_on_device(profile, settings))
        self.kept = 0
        self.stage = LOAD
        self.last_call = {call.component: number for number, call in enumerate(profile.calls)}

    def run(self) -> None:
        is_resident = self.settings.offload == "none" or bool(kept_on_device(self.profile, self.settings))
        own_code = self.known.own_code(self.profile, is_resident)
        if not is_resident:
            self.weights |= {slot: grown(self.weights[slot]) for slot in own_code.cast}
        self._load()
        self.reserved[LOAD] = self.allocator.most_reserved
        self.allocator.empty_cache()
        stages = stages_of_calls(self.profile)
        # Allocations before the first call belong to its stage.
        self._begin(stages[0] if stages else DECODE)
        _OwnCode(self, stages).play_all(own_code.parts)
        self._begin("")

    @property
    def most_reserved(self) -> int:
        """Peak of reserved memory."""
        return max(self.reserved.values())

    def _begin(self, stage: str) -> None:
        """Begin a stage, or return to one."""
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
                    weights=moment.weights,
                    activation_bytes=moment.activations,
                    kept_bytes=moment.kept,
                    workspace_bytes=moment.workspace,
                )
            )
        return tuple(stages)

    def _load(self) -> None:
        """Load the weights that have to be on the device before the call."""
        if self._load_what_stays():
            return
        for slot in self.weights:
            if self.settings.drop_text_encoders and not self.is_text_encoder(slot):
                continue  # loaded after the prompt is encoded and the text encoders are deleted
            is_quantized_there = is_quantized_on_device(self.settings.quantize.get(slot))
            if self.settings.offload == "none" or slot in self.stay or is_quantized_there:
                self._bring(slot)
        if self.settings.offload == "sequential":
            self._place_buffers()
        # The workspace of cuBLAS is allocated once.
        self.allocator.allocate(self.device.matrix_workspace_bytes)
        self.note("")
        for slot in list(self.on_device) if self.settings.offload != "none" else ():
            if slot not in self.stay:
                self._take_away(slot)

    def _place_buffers(self) -> None:
        """Place the buffers that sequential offload leaves on the device."""
        for slot, part in self.profile.components.items():
            if slot not in self.on_device and self.weights[slot].modules:
                self.weights[slot], size = without_buffers(part, self.weights[slot])
                if size:
                    self.allocator.allocate(size)
                    self.resident[slot] = size

    def _load_what_stays(self) -> bool:
        """Load all weights at once if they never leave the device, from a cached state of the allocator."""
        if not self.is_plain:
            return False
        weights = tuple(part for part in self.weights.values() if part.modules)
        state = _with_weights(weights, self.device.matrix_workspace_bytes)
        if self.allocator.capacity is not None and state.most_reserved > self.allocator.capacity:
            return False
        self.allocator.resume(state)
        self.on_device = {part.slot: [] for part in weights}
        self.resident = {part.slot: part.total_bytes for part in weights}
        self.note("")
        return True

    def is_text_encoder(self, slot: str) -> bool:
        """Whether a component is not needed after the prompt is encoded."""
        return slot in self.profile.components and self.profile.components[slot].role == "text_encoder"

    def _bring(self, slot: str) -> None:
        weights = self.weights[slot]
        if slot in self.on_device or not weights.modules:
            return
        self.moves += 1
        self.on_device[slot] = [self.allocator.allocate(size) for size in weights.tensor_bytes]
        self.resident[slot] = self.weights[slot].total_bytes

    def _take_away(self, slot: str) -> None:
        self.moves += 1
        for block in self.on_device.pop(slot, ()):
            self.allocator.release(block)
        self.resident.pop(slot, None)

    @property
    def is_plain(self) -> bool:
        """Whether all weights are on the device from the first call to the last."""
        return self.settings.offload == "none" and not self.settings.drop_text_encoders

    def call(self, call: Call, number: int, stage: str) -> None:
        """Simulate the call of a component."""
        if self.settings.offload == "model":
            self._offload_before(call.component)
        self._begin(stage)
        if self.settings.offload == "model":
            self._bring(call.component)
            self.note(call.component)
        elif self.settings.drop_text_encoders and self.settings.offload == "none":
            self._bring_after_encoding(call.component)
        self._follow(call)
        is_last = self.last_call[call.component] == number
        if self.settings.drop_text_encoders and is_last and self.is_text_encoder(call.component):
            self._take_away(call.component)
            self.allocator.empty_cache()

    def _bring_after_encoding(self, slot: str) -> None:
        """Load all other components with the first one that is not a text encoder."""
        if self.is_text_encoder(slot) or slot in self.on_device:
            return
        for other in self.weights:
            if not self.is_text_encoder(other):
                self._bring(other)
        self.note(slot)

    def _offload_before(self, slot: str) -> None:
        """Release the component before this one in the pipeline's order, as accelerate's hooks do."""
        order = self.profile.placement.offload_order if self.profile.placement else ()
        present = [name for name in order or self.profile.components if name in self.weights]
        present = [name for name in present if self.weights[name].modules and name not in self.stay]
        before = present[present.index(slot) - 1] if slot in present and present[0] != slot else None
        if before in self.on_device:
            self._take_away(before)
            self.allocator.empty_cache()

    def _follow(self, call: Call) -> None:
        """Simulate only the first call of each cost: later ones find all blocks that they need in the cache.

        Unless more memory is in use by then, such as the embeddings of another text encoder.
        """
        before = self.allocator.allocated
        taken = self.followed.get(id(call.cost))
        if taken is None or before + taken > self.allocator.reserved:
            peak = self.known.follow(CallSimulation(self, call))
            self.followed[id(call.cost)] = peak.allocated - before
            self._note_peak(call, peak)
            return
        moment = self.moments.get(self.stage)
        if moment is not None:
            moment.allocated = max(moment.allocated, before + taken)

    def _note_peak(self, call: Call, peak: CallPeak) -> None:
        """Record the peak of a call if it is the peak of the stage."""
        if peak.allocated > max(0, self.most_allocated):
            weights = dict(self.resident) if peak.weights is None else peak.weights
            self.moments[self.stage] = _Moment(
                peak.allocated, call.component, call.cost, peak.place, weights, peak.activations, self.kept,
                peak.workspace,
            )  # fmt: skip

    @property
    def most_allocated(self) -> int:
        """The peak of the stage so far; -1 at its start."""
        moment = self.moments.get(self.stage)
        return moment.allocated if moment is not None else -1

    def note(self, component: str) -> None:
        """Record this moment between calls if it is a peak."""
        allocated = self.allocator.allocated
        if allocated > self.most_allocated:
            self.moments[self.stage] = _Moment(allocated, component, None, 0, dict(self.resident), 0, self.kept, 0)


class _OwnCode(EventPlayer):
    """Plays the allocations of the pipeline's own code, with the component calls in between."""

    def __init__(self, around: MemorySimulation, stages: Sequence[str]) -> None:
        super().__init__(around.allocator, can_skip=True)
        self.around = around
        self.stages = stages
        self.moves: list[int] = []
        """How often weights had been moved at the start of each turn."""

    def play(self, events: Sequence[Event]) -> None:
        around, blocks, sizes, alive = self.around, self.blocks, self.sizes, self.alive
        allocator, allocate, release = self.allocator, self.allocator.allocate, self.allocator.release
        most = around.most_allocated
        self.moves.append(around.moves)
        for kind, value, _ in events:
            if kind == ALLOCATE:
                alive[len(blocks)] = None
                blocks.append(allocate(value))
                sizes.append(value)
                around.kept += value
                if allocator.allocated > most:
                    around.note(PIPELINE)
                    most = allocator.allocated
            elif kind == RELEASE:
                number = len(blocks) - value
                release(blocks[number])
                around.kept -= sizes[number]
                del alive[number]
            elif kind == CALL:
                if self.place >= len(self.stages):
                    raise FileFormatError(MISMATCH)
                call = around.profile.calls[self.place]
                if call.component not in around.settings.without:
                    around.call(call, self.place, self.stages[self.place])
                self.place += 1
                most = around.most_allocated

    def repetitions(self, distance: int, turns: int, times: int, is_exact: bool = True) -> int:
        """All repetitions, if each makes the same calls and no weights are moved."""
        if self.moves[-turns] != self.around.moves:
            return 0
        calls, end = self.around.profile.calls, self.place + distance * times
        is_same = all(
            calls[place].cost is calls[place - distance].cost and self.stages[place] == self.stages[place - distance]
            for place in range(self.place, end)
        )
        # A text encoder may be deleted after its last call.
        last = self.around.last_call
        is_end = any(self.place <= number < end and self.around.is_text_encoder(slot) for slot, number in last.items())
        return times if is_same and not is_end else 0


@lru_cache(maxsize=16)
def _with_weights(weights: tuple[ComponentWeights, ...], workspace_bytes: int) -> Occupied:
    """The state of an allocator with all these weights and the workspace of cuBLAS, which is the same for all sizes."""
    allocator = CachingAllocator()
    for component in weights:
        for size in component.tensor_bytes:
            allocator.allocate(size)
    allocator.allocate(workspace_bytes)
    return allocator.as_occupied()
