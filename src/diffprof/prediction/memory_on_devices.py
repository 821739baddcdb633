"""Predict the memory of a generation on many accelerators; those of the same kind share one simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import WITHOUT_TF32, DeviceMemory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.memory_simulation import MemorySimulation, simulate_memory
from diffprof.record.fit import MemoryPeak, StageMemory
from diffprof.record.profile import Operation, Profile
from diffprof.record.run_settings import RunSettings

AMD = DeviceMemory(maker="AMD")


Kind = tuple[int, bool, bool]
"""The properties of a device that affect allocations; devices of one kind differ only in their memory."""


@dataclass(frozen=True)
class _Trial:
    """A generation on a device that has less memory than it would like."""

    stages: tuple[StageMemory, ...]
    fits: bool


@dataclass(frozen=True)
class _Need:
    """The memory of a generation if there is enough."""

    stages: tuple[StageMemory, ...]
    most_reserved: int
    """With this much memory, the result is the same as with more."""
    most_requested: int
    """With less memory, the generation cannot run."""


class MemoryOnDevices:
    """The memory of one generation on any number of devices; the settings are those for its pipeline.

    `similar` is that of another generation, such as one of another size or with other steps: calls of both are not
    followed again. `known` are calls that were followed for others, and will be.
    """

    def __init__(
        self,
        profile: Profile,
        settings: RunSettings,
        similar: MemoryOnDevices | None = None,
        known: KnownCalls | None = None,
    ) -> None:
        self._profile = profile
        self._settings = settings
        self._needs: dict[Kind, _Need] = {}
        self._trials: dict[tuple[Kind, int], _Trial] = {}
        self._costs = [call.cost for call, _ in profile.costs()]
        earlier = similar._calls if similar is not None else None
        self._calls: KnownCalls = known if known is not None else KnownCalls(earlier, self._costs)

    def on(self, device: DeviceMemory) -> tuple[tuple[StageMemory, ...], bool | None]:
        """The stages of the generation, and whether it fits; if not, with as much memory as it would need.

        None if the memory of the device is unknown.
        """
        kind = self._kind(device)
        need = self._need(kind, device)
        capacity = device.capacity_bytes
        trial = self._trial(kind, need, device)
        if trial is not None:
            return _on_device(trial.stages, device), trial.fits
        return _on_device(need.stages, device), None if capacity is None else need.most_reserved <= capacity

    def fits(self, device: DeviceMemory) -> bool | None:
        """Whether the generation fits on a device."""
        return self.on(device)[1]

    def _kind(self, device: DeviceMemory) -> Kind:
        has_copies = not self._has_float32_convolutions or device.architecture not in WITHOUT_TF32
        has_fused = not self._has_large_heads or device.maker == "NVIDIA"
        return device.matrix_workspace_bytes, has_copies, has_fused

    def _need(self, kind: Kind, device: DeviceMemory) -> _Need:
        if kind not in self._needs:
            run = simulate_memory(self._profile, self._settings, device, None, self._calls)
            self._needs[kind] = _Need(run.result(), run.most_reserved, run.allocator.most_requested)
        return self._needs[kind]

    def _trial(self, kind: Kind, need: _Need, device: DeviceMemory) -> _Trial | None:
        """The generation on a nearly full device, which depends on what its allocator releases; None on others."""
        capacity = device.capacity_bytes
        if capacity is None or not need.most_requested <= capacity < need.most_reserved:
            return None
        if (kind, capacity) not in self._trials:
            simulation = MemorySimulation(self._profile, self._settings, device, capacity, self._calls)
            try:
                simulation.run()
            except OutOfDeviceMemory:
                self._trials[kind, capacity] = _Trial(need.stages, False)
            else:
                self._trials[kind, capacity] = _Trial(simulation.result(), True)
        return self._trials[kind, capacity]

    @cached_property
    def _has_float32_convolutions(self) -> bool:
        """Whether there are convolutions in float32, for which some devices need no workspace."""
        return self._has(lambda one: one.kind == "convolution" and one.dtype == "float32")

    @cached_property
    def _has_large_heads(self) -> bool:
        """Whether there are large attention heads, for which some devices have no fused kernel."""

        def is_large(one: Operation) -> bool:
            return one.kind == "attention" and bool(one.shapes.inputs) and not AMD.has_fused_attention(one)

        return self._has(is_large)

    def _has(self, matches: Callable[[Operation], bool]) -> bool:
        return any(matches(operation) for cost in self._costs for operation in cost.operations)


def _on_device(stages: Sequence[StageMemory], device: DeviceMemory) -> tuple[StageMemory, ...]:
    return tuple(replace(stage, device_bytes=stage.reserved_bytes + device.context_bytes) for stage in stages)


def peak_of_stages(stages: Sequence[StageMemory]) -> MemoryPeak:
    """The stage with the most allocated memory; reserved memory is the maximum of all stages."""
    most = max(stages, key=lambda stage: stage.allocated_bytes)
    return MemoryPeak(
        allocated_bytes=most.allocated_bytes,
        reserved_bytes=max(stage.reserved_bytes for stage in stages),
        device_bytes=max(stage.device_bytes for stage in stages),
        stage=most.stage,
        component=most.component,
        module=most.module,
    )
