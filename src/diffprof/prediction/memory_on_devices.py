"""The memory that a generation needs, worked out once for accelerators that behave alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import WITHOUT_TF32, DeviceMemory
from diffprof.prediction.memory import Branch, MemorySimulation, predict_memory, simulate_memory
from diffprof.record.fitted import MemoryPeak, StageMemory
from diffprof.record.profile import Operation, Profile
from diffprof.record.run_settings import RunSettings

AMD = DeviceMemory(maker="AMD")


@dataclass(frozen=True)
class _Need:
    """What a generation takes where there is memory enough."""

    stages: tuple[StageMemory, ...]
    most_reserved: int
    """With so much, nothing is different."""
    most_requested: int
    """With less, it cannot be run."""


class MemoryOnDevices:
    """The memory of one generation on any number of devices; the settings are those for its pipeline."""

    def __init__(self, profile: Profile, settings: RunSettings) -> None:
        self._profile = profile
        self._settings = settings
        self._needs: dict[tuple[int, bool, bool], _Need] = {}
        self._branches: dict[int, Branch] = {}

    def on(self, device: DeviceMemory) -> tuple[tuple[StageMemory, ...], bool | None]:
        """The stages of the generation and whether it fits; as much as it takes where it does not.

        None where the device does not say how much memory it has.
        """
        need = self._need(device)
        capacity = device.capacity_bytes
        if capacity is not None and need.most_requested <= capacity < need.most_reserved:
            # It depends on what the allocator gives back when it has no more.
            try:
                return predict_memory(self._profile, self._settings, device, capacity), True
            except OutOfDeviceMemory:
                return _on_device(need.stages, device), False
        return _on_device(need.stages, device), None if capacity is None else need.most_reserved <= capacity

    def fits(self, device: DeviceMemory) -> bool | None:
        """Whether a device has it."""
        return self.on(device)[1]

    def _need(self, device: DeviceMemory) -> _Need:
        """By all that the allocator is asked for because of the device."""
        has_copies = not self._float32_convolutions or device.architecture not in WITHOUT_TF32
        has_fused = not self._large_heads or device.maker == "NVIDIA"
        key = (device.matrix_workspace_bytes, has_copies, has_fused)
        if key not in self._needs:
            run = self._simulate(device)
            self._needs[key] = _Need(run.result(), run.most_reserved, run.allocator.most_requested)
        return self._needs[key]

    def _simulate(self, device: DeviceMemory) -> MemorySimulation:
        """Devices with the same workspace are the same up to the first call in which they differ."""
        branch = self._branches.get(device.matrix_workspace_bytes)
        if branch is not None:
            return branch.run_on(device)
        differing = self._float32_convolutions | self._large_heads
        run = simulate_memory(self._profile, self._settings, device, branch_at=differing)
        if run.branch is not None:
            self._branches[device.matrix_workspace_bytes] = run.branch
        return run

    @cached_property
    def _float32_convolutions(self) -> frozenset[int]:
        """Costs, by identity, with convolutions that differ."""
        return self._costs_with(lambda one: one.kind == "convolution" and one.dtype == "float32")

    @cached_property
    def _large_heads(self) -> frozenset[int]:
        """Costs, by identity, with attention that differs."""

        def is_large(one: Operation) -> bool:
            return one.kind == "attention" and bool(one.shapes.inputs) and not AMD.has_fused_attention(one)

        return self._costs_with(is_large)

    def _costs_with(self, matches: Callable[[Operation], bool]) -> frozenset[int]:
        costs = [call.cost for call, _ in self._profile.costs()]
        return frozenset(id(cost) for cost in costs if any(map(matches, cost.operations)))


def _on_device(stages: Sequence[StageMemory], device: DeviceMemory) -> tuple[StageMemory, ...]:
    return tuple(replace(stage, device_bytes=stage.reserved_bytes + device.context_bytes) for stage in stages)


def peak_of_stages(stages: Sequence[StageMemory]) -> MemoryPeak:
    """The stage with most memory allocated; what is reserved is the most of all stages."""
    most = max(stages, key=lambda stage: stage.allocated_bytes)
    return MemoryPeak(
        allocated_bytes=most.allocated_bytes,
        reserved_bytes=max(stage.reserved_bytes for stage in stages),
        device_bytes=max(stage.device_bytes for stage in stages),
        stage=most.stage,
        component=most.component,
        module=most.module,
    )
