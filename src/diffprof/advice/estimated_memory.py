"""Estimate the memory of a generation from the simulation of a similar one, in microseconds.

What a simulation finds for one generation holds nearly for others: tensors grow with what its calls have alive, and
weights are known for every way to store and to move them. What the allocator leaves unused beside them varies; each
simulation corrects it for generations of the same kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from diffprof.advice.outcome import Outcome
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.host_memory import predict_host_memory
from diffprof.prediction.memory_on_devices import peak_of_stages
from diffprof.prediction.residency import Groups
from diffprof.prediction.stages import stages_of_calls
from diffprof.prediction.timeline import PIPELINE
from diffprof.prediction.weights import ComponentWeights, component_weights, is_quantized_on_device
from diffprof.record.fit import DENOISE, LOAD, StageMemory
from diffprof.record.profile import Component, Profile
from diffprof.record.run_settings import RunSettings

USUALLY_CACHED = 0.1
"""Unused bytes for each byte of tensors, in a stage that finds enough reserved."""

LEAST_CACHED = 0.5
"""The share of that which is often left where weights come and go; it varies, from less to more."""

LiveBytes = Mapping[str, Mapping[str, int]]
"""The most live bytes of each component's calls, by stage."""

Tensors = tuple[object, ...]
"""What decides which tensors there are, as far as memory is concerned."""

Kind = tuple[Tensors, tuple[object, ...]]
"""What generations have in common that leave about as much unused: their tensors, and which weights are where."""


def kind_of(profile: Profile, settings: RunSettings) -> Kind:
    """The kind of a generation."""
    request = profile.request
    tensors = (request.model, request.enable, request.arguments.get("num_images_per_prompt"))
    return tensors, (settings.offload, settings.drop_text_encoders, settings.devices, settings.attention)


class SimilarMemory:
    """The memory of a generation whose weights stay on the device, from which that of others is estimated."""

    def __init__(
        self, profile: Profile, stages: Sequence[StageMemory], device: DeviceMemory, is_low: bool = False
    ) -> None:
        """With `is_low`, what is estimated is rather too little than too much."""
        self._is_low = is_low
        self._stages = stages
        self._device = device
        self._live_bytes: dict[int, tuple[Profile, LiveBytes]] = {}
        """By the identity of the profile, which is kept so that it stays its own."""
        self._present: dict[tuple[int, str], tuple[Profile, Mapping[tuple[str, str], Collection[str]]]] = {}
        self._moved_bytes: dict[tuple[object, ...], int] = {}
        self._outcomes: dict[Kind, dict[tuple[object, ...], tuple[Profile, Outcome]]] = {}
        own = self._live_bytes_of(profile)
        self._growth = {stage.stage: _growth(stage, own.get(stage.stage, {})) for stage in stages}
        """What the device needs for each live byte of the largest call."""
        self._cached = dict(_cached_bytes(stages))
        self._unused: dict[Kind, Mapping[str, int]] = {}
        """Unused bytes of each stage, as a simulation of the kind found them."""
        self._unused_beside: dict[Tensors, Mapping[str, int]] = {}
        """The same beside these tensors, wherever weights were in the first simulation."""

    def learn(self, profile: Profile, settings: RunSettings, stages: Sequence[StageMemory]) -> None:
        """Expect what a simulation left unused from generations of its kind."""
        kind = kind_of(profile, settings)
        if kind not in self._unused:
            self._unused[kind] = {one.stage: one.reserved_bytes - one.allocated_bytes for one in stages}
            self._unused_beside.setdefault(kind[0], self._unused[kind])
            self._outcomes = {one: known for one, known in self._outcomes.items() if one[0] != kind[0]}

    def estimate(self, profile: Profile, settings: RunSettings, ram_bytes: int | None = None) -> Outcome:
        """The estimated memory of another generation, and whether it may fit."""
        known = self._outcomes.setdefault(kind_of(profile, settings), {})
        key = (
            id(profile), settings.use_stream, settings.blocks_per_group, settings.storage, settings.without, ram_bytes,
        )  # fmt: skip
        if key not in known:
            known[key] = (profile, self._estimate(profile, settings, ram_bytes))
        return known[key][1]

    def _estimate(self, profile: Profile, settings: RunSettings, ram_bytes: int | None) -> Outcome:
        weights = {slot: component_weights(part, settings) for slot, part in profile.components.items()}
        stages = tuple(self._stage(stage, profile, weights, settings) for stage in self._stages)
        peak, host = peak_of_stages(stages), predict_host_memory(profile, settings)
        capacity = self._device.capacity_bytes
        has_ram = ram_bytes is None or host.peak_bytes <= ram_bytes
        fits = None if capacity is None else peak.allocated_bytes <= capacity
        return Outcome(stages, peak, host, fits if has_ram else False)

    def _stage(
        self, stage: StageMemory, profile: Profile, weights: Mapping[str, ComponentWeights], settings: RunSettings
    ) -> StageMemory:
        """The stage at the largest of its calls, or between them."""
        candidates = [(self._on_device(stage.stage, "", profile, weights, settings), stage.component, 0, 0)]
        for slot, live_bytes in self._live_bytes_of(profile).get(stage.stage, {}).items():
            tensors = round(live_bytes * (self._growth[stage.stage] if slot == stage.component else 1.0))
            if stage.stage == DENOISE:
                tensors //= settings.devices
            present = self._on_device(stage.stage, slot, profile, weights, settings)
            unpacked = weights[slot].largest_unpacked_bytes
            candidates.append((present, slot, tensors, unpacked))
            if settings.offload not in ("none", "model"):
                candidates.append(({**present, slot: _embedding_bytes(weights[slot])}, slot, 0, 0))
        present, slot, tensors, unpacked = max(candidates, key=lambda one: sum(one[0].values()) + one[2] + one[3])
        allocated = sum(present.values()) + tensors + unpacked + stage.kept_bytes
        reserved = allocated + self._unused_bytes(stage, tensors, profile, settings)
        if self._device.capacity_bytes is not None:
            reserved = max(allocated, min(reserved, self._device.capacity_bytes))
        return replace(
            stage,
            component=slot,
            allocated_bytes=allocated,
            reserved_bytes=reserved,
            device_bytes=reserved + self._device.context_bytes,
            weights=present,
            activation_bytes=tensors,
            workspace_bytes=unpacked,
        )

    def _unused_bytes(self, stage: StageMemory, tensors: int, profile: Profile, settings: RunSettings) -> int:
        kind = kind_of(profile, settings)
        found = self._unused.get(kind) or self._unused_beside.get(kind[0])
        if found is not None and stage.stage in found:
            return found[stage.stage]
        before = stage.activation_bytes + stage.workspace_bytes
        cached = self._cached.get(stage.stage, 0)
        if settings.offload != "none":
            # There are no weights between which something is left.
            cached = max(0, cached - self._cached.get(LOAD, 0))
            cached = round(LEAST_CACHED * cached) if self._is_low else cached
        return round(cached * tensors / before) if before else cached

    def _on_device(
        self,
        stage: str,
        component: str,
        profile: Profile,
        weights: Mapping[str, ComponentWeights],
        settings: RunSettings,
    ) -> Mapping[str, int]:
        """The bytes of each component's weights on the device while a component runs; none runs between the calls."""
        present = self._whole_components(profile, settings).get((stage, component), ())
        stay = profile.placement.stay_on_device if profile.placement else ()
        found = {}
        for slot, own in weights.items():
            is_loaded = stage == LOAD and is_quantized_on_device(settings.quantize.get(slot))
            if slot in present or slot in stay or is_loaded or _never_moves(settings):
                found[slot] = own.total_bytes
            elif slot == component:
                found[slot] = self._moved(own, profile.components[slot], settings)
        return found

    def _whole_components(self, profile: Profile, settings: RunSettings) -> Mapping[tuple[str, str], Collection[str]]:
        """Whose weights are on the device when a component is first called in a stage, if whole components move."""
        if _never_moves(settings) or settings.offload not in ("none", "model"):
            return {}
        key = (id(profile), settings.offload)
        if key not in self._present:
            walk = _walk_with_offload if settings.offload == "model" else _walk_with_dropped_encoders
            self._present[key] = (profile, walk(profile))
        return self._present[key][1]

    def _moved(self, own: ComponentWeights, component: Component, settings: RunSettings) -> int:
        """The bytes of a component's weights that are on the device at once while it runs."""
        if settings.offload in ("none", "model"):
            return 0
        key = (own, settings.offload, settings.use_stream, settings.blocks_per_group)
        if key not in self._moved_bytes:
            is_by_block = settings.offload == "group"
            self._moved_bytes[key] = _block_bytes(own, component, settings) if is_by_block else _layer_bytes(own)
        return self._moved_bytes[key]

    def _live_bytes_of(self, profile: Profile) -> LiveBytes:
        if id(profile) not in self._live_bytes:
            found: dict[str, dict[str, int]] = {}
            calls = (call for call in profile.calls if call.component != PIPELINE)
            for call, stage in zip(calls, stages_of_calls(profile), strict=True):
                sizes = found.setdefault(stage, {})
                sizes[call.component] = max(sizes.get(call.component, 0), call.cost.peak_live_bytes)
            self._live_bytes[id(profile)] = (profile, found)
        return self._live_bytes[id(profile)][1]


def _cached_bytes(stages: Sequence[StageMemory]) -> Iterator[tuple[str, int]]:
    """What each stage leaves unused of the memory that it reserves itself: what others reserved says nothing."""
    most = 0
    for stage in stages:
        unused = max(0, stage.reserved_bytes - stage.allocated_bytes)
        tensors = stage.activation_bytes + stage.workspace_bytes
        yield stage.stage, unused if stage.reserved_bytes > most else min(unused, round(USUALLY_CACHED * tensors))
        if stage.stage != LOAD:  # its cache is emptied
            most = max(most, stage.reserved_bytes)


def _growth(stage: StageMemory, live_bytes: Mapping[str, int]) -> float:
    """What a stage needs for each live byte of the component that runs at its peak."""
    live = live_bytes.get(stage.component, 0)
    return (stage.activation_bytes + stage.workspace_bytes) / live if live else 1.0


def _block_bytes(own: ComponentWeights, component: Component, settings: RunSettings) -> int:
    """What lies outside of blocks, and the largest of them; two with a stream."""
    sizes = dict(Groups(component, own, settings, ()).totals)
    outside = sizes.pop("", 0)
    return outside + sum(sorted(sizes.values())[-(2 if settings.use_stream else 1) :])


def _layer_bytes(own: ComponentWeights) -> int:
    """What belongs to no layer, and the largest layer; a large embedding comes first, before there are many tensors."""
    layers = [one for one in own.modules if "Embedding" not in one.class_name]
    outside = sum(one.stored_bytes for one in layers if not one.path)
    return outside + max((one.stored_bytes for one in layers if one.path), default=0)


def _embedding_bytes(own: ComponentWeights) -> int:
    return max((module.stored_bytes for module in own.modules if "Embedding" in module.class_name), default=0)


def _never_moves(settings: RunSettings) -> bool:
    return settings.offload == "none" and not settings.drop_text_encoders


def _stages_of_slots(profile: Profile) -> Iterator[tuple[str, str]]:
    """The stage and component of each call."""
    calls = (call for call in profile.calls if call.component != PIPELINE)
    return ((stage, call.component) for call, stage in zip(calls, stages_of_calls(profile), strict=True))


def _walk_with_offload(profile: Profile) -> dict[tuple[str, str], Collection[str]]:
    """Components on the device with model offload, which releases the one before each in the pipeline's order."""
    found: dict[tuple[str, str], Collection[str]] = {}
    named = profile.placement.offload_order if profile.placement else ()
    movable = {slot for slot, part in profile.components.items() if part.weight_bytes}
    order = [slot for slot in named or profile.components if slot in movable]
    present: set[str] = set()
    for stage, slot in _stages_of_slots(profile):
        place = order.index(slot) if slot in order else 0
        present -= {order[place - 1]} if place else set()
        present.add(slot)
        found.setdefault((stage, slot), frozenset(present))
    return found


def _walk_with_dropped_encoders(profile: Profile) -> dict[tuple[str, str], Collection[str]]:
    """Components on the device if text encoders are deleted after use, before the others are loaded."""
    found: dict[tuple[str, str], Collection[str]] = {}
    encoders = {slot for slot, part in profile.components.items() if part.role == "text_encoder"}
    for stage, slot in _stages_of_slots(profile):
        found.setdefault((stage, slot), encoders if slot in encoders else {*profile.components} - encoders)
    return found
