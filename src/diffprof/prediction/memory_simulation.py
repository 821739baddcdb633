"""The memory of a generation on a device: a profile's record of allocations, followed through PyTorch's allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from diffprof.prediction.allocator import CachingAllocator, Occupied
from diffprof.prediction.call_memory import CallSimulation
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer, event_parts
from diffprof.prediction.stages import stages_of_calls
from diffprof.prediction.timeline import PIPELINE, pipeline_call
from diffprof.prediction.weights import ComponentWeights, component_weights, is_quantized_on_device
from diffprof.record.allocations import ALLOCATE, CALL, RELEASE
from diffprof.record.fitted import DECODE, DENOISE, ENCODE, LOAD, StageMemory
from diffprof.record.profile import Call, Profile
from diffprof.record.run_settings import RunSettings


def predict_memory(
    profile: Profile, settings: RunSettings, device: DeviceMemory, capacity: int | None = None
) -> tuple[StageMemory, ...]:
    """The stages of the generation; raises `OutOfDeviceMemory` where the allocator cannot have what it needs."""
    return simulate_memory(profile, settings, device, capacity).result()


def simulate_memory(
    profile: Profile,
    settings: RunSettings,
    device: DeviceMemory,
    capacity: int | None = None,
    keeps_branches: bool = False,
) -> MemorySimulation:
    """The same, with more to say than the stages; with branches, it can be gone on with from many of its calls."""
    simulation = MemorySimulation(profile, settings, device, capacity, keeps_branches)
    simulation.run()
    return simulation


@dataclass
class _Moment:
    """Where most was allocated so far in a stage."""

    allocated: int
    component: str
    module: str
    weights: dict[str, int]
    activations: int
    kept: int
    workspace: int


class MemorySimulation:
    """A generation followed through the allocator."""

    def __init__(
        self,
        profile: Profile,
        settings: RunSettings,
        device: DeviceMemory,
        capacity: int | None = None,
        keeps_branches: bool = False,
    ) -> None:
        self.profile = profile
        self.keeps_branches = keeps_branches
        self.branches: list[Branch] = []
        """States after calls that were followed, in order."""
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
        _OwnCode(self, stages).play_all(pipeline_call(self.profile).cost)
        self.end()

    def end(self) -> None:
        """No stage comes any more."""
        self._begin("")

    def fork(self, device: DeviceMemory) -> MemorySimulation:
        """The same state on another device, without the allocator."""
        other = copy(self)
        other.device = device
        other.branches = list(self.branches)
        other.resident, other.reserved, other.followed = dict(self.resident), dict(self.reserved), dict(self.followed)
        other.moments = {stage: copy(moment) for stage, moment in self.moments.items()}
        return other

    @property
    def most_reserved(self) -> int:
        """The most that was reserved at one time."""
        return max(self.reserved.values())

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
                    weights=moment.weights,
                    activation_bytes=moment.activations,
                    kept_bytes=moment.kept,
                    workspace_bytes=moment.workspace,
                )
            )
        return tuple(stages)

    def _load(self) -> None:
        """What lies on the device before the call."""
        if self._load_what_stays():
            return
        for slot in self.weights:
            if self.settings.drop_text_encoders and not self._is_text_encoder(slot):
                continue  # they come when the prompt is encoded and the text encoders are gone
            is_quantized_there = is_quantized_on_device(self.settings.quantize.get(slot))
            if self.settings.offload == "none" or slot in self.stay or is_quantized_there:
                self._bring(slot)
        # Of cuBLAS, once and for all.
        self.allocator.allocate(self.device.matrix_workspace_bytes)
        self.note("", "", 0, 0)
        for slot in list(self.on_device) if self.settings.offload != "none" else ():
            if slot not in self.stay:
                self._take_away(slot)

    def _load_what_stays(self) -> bool:
        """Load everything, if nothing of it ever leaves; for that there is a state that was worked out before."""
        if not self.is_plain:
            return False
        weights = tuple(part for part in self.weights.values() if part.modules)
        state = _with_weights(weights, self.device.matrix_workspace_bytes)
        if self.allocator.capacity is not None and state.most_reserved > self.allocator.capacity:
            return False
        self.allocator.resume(state)
        self.on_device = {part.slot: [] for part in weights}
        self.resident = {part.slot: part.total_bytes for part in weights}
        self.note("", "", 0, 0)
        return True

    def _is_text_encoder(self, slot: str) -> bool:
        return self.profile.components[slot].role == "text_encoder"

    def _bring(self, slot: str) -> None:
        weights = self.weights[slot]
        if slot in self.on_device or not weights.modules:
            return
        self.on_device[slot] = [self.allocator.allocate(size) for size in weights.tensor_bytes]
        self.resident[slot] = self.weights[slot].total_bytes

    def _take_away(self, slot: str) -> None:
        for block in self.on_device.pop(slot, ()):
            self.allocator.release(block)
        self.resident.pop(slot, None)

    @property
    def is_plain(self) -> bool:
        """Whether all weights lie on the device from the first call to the last."""
        return self.settings.offload == "none" and not self.settings.drop_text_encoders

    def call(self, call: Call, number: int, stage: str) -> None:
        """A component is called."""
        if self.settings.offload == "model":
            self._offload_before(call.component)
        self._begin(stage)
        if self.settings.offload == "model":
            self._bring(call.component)
            self.note(call.component, "", 0, 0)
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
        self.note(slot, "", 0, 0)

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
            self.followed[id(call.cost)] = CallSimulation(self, call).run() - before
            return
        moment = self.moments.get(self.stage)
        if moment is not None:
            moment.allocated = max(moment.allocated, before + taken)

    def is_peak(self) -> bool:
        """Whether more is allocated than at any moment of the stage before."""
        moment = self.moments.get(self.stage)
        return moment is None or self.allocator.allocated > moment.allocated

    def note(self, component: str, module: str, activations: int, workspace: int) -> None:
        """Remember this moment, if it is a peak."""
        if self.is_peak():
            self.moments[self.stage] = _Moment(
                self.allocator.allocated, component, module, dict(self.resident), activations, self.kept, workspace
            )


class _OwnCode(EventPlayer):
    """What the pipeline itself takes and gives back, with the calls in between; its place is the number of calls."""

    def __init__(self, around: MemorySimulation, stages: Sequence[str]) -> None:
        super().__init__(around.allocator, can_skip=around.is_plain)
        self.around = around
        self.stages = stages

    def play(self, events: Sequence[Event]) -> None:
        around, blocks, sizes = self.around, self.blocks, self.sizes
        for position, (kind, value, _) in enumerate(events):
            if kind == CALL:
                call = around.profile.calls[self.place]
                known = len(around.followed)
                if call.component not in around.settings.without:
                    around.call(call, self.place, self.stages[self.place])
                self.place += 1
                if around.keeps_branches and len(around.followed) > known:
                    self._branch(len(events) - position - 1)
            elif kind == ALLOCATE:
                self.alive[len(blocks)] = None
                blocks.append(around.allocator.allocate(value))
                sizes.append(value)
                around.kept += value
                around.note(PIPELINE, "", 0, 0)
            elif kind == RELEASE:
                number = len(blocks) - value
                around.allocator.release(blocks[number])
                around.kept -= sizes[number]
                del self.alive[number]

    def repeats(self, distance: int, times: int) -> bool:
        """Whether the same calls are made so many times more."""
        calls, end = self.around.profile.calls, self.place + distance * times
        return all(
            calls[place].cost is calls[place - distance].cost and self.stages[place] == self.stages[place - distance]
            for place in range(self.place, end)
        )

    def _branch(self, left: int) -> None:
        """Keep this state, if it can be gone on with: all weights stay, and nothing here is repeated."""
        events, times = self.parts[self.part]
        if times == 1 and self.can_skip:
            self.around.branches.append(Branch(self.fork(self.around.device), len(events) - left))

    def fork(self, device: DeviceMemory) -> _OwnCode:
        """The same state of all, on another device."""
        other = copy(self)
        other.around = self.around.fork(device)
        other.allocator, alive = self.allocator.fork({number: self.blocks[number] for number in self.alive})
        other.around.allocator = other.allocator
        other.blocks = [alive.get(number) for number in range(len(self.blocks))]
        other.sizes, other.alive = list(self.sizes), dict(self.alive)
        return other


@dataclass(frozen=True)
class Branch:
    """A simulation after the first call of a cost."""

    code: _OwnCode
    position: int
    """Of the next event, in the part of the events that is followed."""

    @property
    def most_reserved(self) -> int:
        """With so much, a device gets here in the same way."""
        return max(*self.code.around.reserved.values(), self.code.allocator.most_reserved)

    @property
    def followed(self) -> Mapping[int, int]:
        """The costs, by identity, that were followed before."""
        return self.code.around.followed

    def run_on(self, device: DeviceMemory, capacity: int | None = None) -> MemorySimulation:
        """The rest of the simulation on another device that was the same up to here."""
        code = self.code.fork(device)
        code.allocator.capacity = capacity
        code.around.keeps_branches = capacity is None
        code.around.branches.append(self)
        code.go_on(self.position)
        code.around.end()
        return code.around

    def for_profile(self, profile: Profile, settings: RunSettings) -> Branch | None:
        """The same state in the generation of another profile; None where that gets elsewhere."""
        code, around = self.code, self.code.around
        stages, parts = stages_of_calls(profile), event_parts(pipeline_call(profile).cost)
        calls = zip(profile.calls[: code.place], around.profile.calls, strict=False)
        if (
            settings != around.settings
            or parts[: code.part] != code.parts[: code.part]
            or parts[code.part][1] != 1
            or parts[code.part][0][: self.position] != code.parts[code.part][0][: self.position]
            or stages[: code.place] != code.stages[: code.place]
            or any(one.cost is not other.cost or one.component != other.component for one, other in calls)
        ):
            return None
        other = MemorySimulation(profile, settings, around.device, None, keeps_branches=True)
        if (other.weights, other.stay) != (around.weights, around.stay):
            return None
        moved = code.fork(around.device)
        fresh = moved.around
        moved.parts, moved.stages = parts, stages
        fresh.profile, fresh.last_call, fresh.branches = profile, other.last_call, []
        return Branch(moved, self.position)


@lru_cache(maxsize=16)
def _with_weights(weights: tuple[ComponentWeights, ...], workspace_bytes: int) -> Occupied:
    """An allocator with all these weights, and the workspace of cuBLAS: the same for every size of a model."""
    allocator = CachingAllocator()
    for component in weights:
        for size in component.tensor_bytes:
            allocator.allocate(size)
    allocator.allocate(workspace_bytes)
    return allocator.as_occupied()
