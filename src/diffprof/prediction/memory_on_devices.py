"""The memory that a generation needs, worked out once for accelerators that behave alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import WITHOUT_TF32, DeviceMemory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.memory_simulation import simulate_memory
from diffprof.record.fit import MemoryPeak, StageMemory
from diffprof.record.profile import Operation, Profile
from diffprof.record.run_settings import RunSettings

AMD = DeviceMemory(maker="AMD")


Kind = tuple[int, bool, bool]
"""All that the allocator is asked for because of the device; devices of one kind differ in their memory only."""

Answer = tuple[tuple[StageMemory, ...], bool]


@dataclass(frozen=True)
class _Need:
    """What a generation needs if there is enough memory."""

    stages: tuple[StageMemory, ...]
    most_reserved: int
    """With so much, nothing is different."""
    most_requested: int
    """With less, it cannot be run."""


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
        self._nearly_full: dict[tuple[Kind, int], Answer] = {}
        self._costs = [call.cost for call, _ in profile.costs()]
        earlier = similar._calls if similar is not None else None
        self._calls: KnownCalls = known if known is not None else KnownCalls(earlier, self._costs)

    def on(self, device: DeviceMemory) -> tuple[tuple[StageMemory, ...], bool | None]:
        """The stages of the generation, and whether it fits; if not, with as much memory as it would need.

        None where the device does not say how much memory it has.
        """
        kind = self._kind(device)
        need = self._need(kind, device)
        capacity = device.capacity_bytes
        if capacity is not None and need.most_requested <= capacity < need.most_reserved:
            # It depends on what the allocator gives back when it has no more.
            if (kind, capacity) not in self._nearly_full:
                self._nearly_full[kind, capacity] = self._within(capacity, need, device)
            stages, fits = self._nearly_full[kind, capacity]
            return _on_device(stages, device), fits
        return _on_device(need.stages, device), None if capacity is None else need.most_reserved <= capacity

    def fits(self, device: DeviceMemory) -> bool | None:
        """Whether a device has it."""
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

    def _within(self, capacity: int, need: _Need, device: DeviceMemory) -> Answer:
        try:
            return simulate_memory(self._profile, self._settings, device, capacity, self._calls).result(), True
        except OutOfDeviceMemory:
            return need.stages, False

    @cached_property
    def _has_float32_convolutions(self) -> bool:
        """Some devices need nothing besides these."""
        return self._has(lambda one: one.kind == "convolution" and one.dtype == "float32")

    @cached_property
    def _has_large_heads(self) -> bool:
        """Some devices have no fused kernel for these."""

        def is_large(one: Operation) -> bool:
            return one.kind == "attention" and bool(one.shapes.inputs) and not AMD.has_fused_attention(one)

        return self._has(is_large)

    def _has(self, matches: Callable[[Operation], bool]) -> bool:
        return any(matches(operation) for cost in self._costs for operation in cost.operations)


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
