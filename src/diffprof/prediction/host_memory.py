"""Predict the host memory of a generation: offloaded weights, pinned memory, and the peak while loading."""

from __future__ import annotations

from diffprof.prediction.cast_weights import kept_on_device
from diffprof.prediction.weights import ComponentWeights, component_weights, is_quantized_on_device
from diffprof.record.fit import HostMemory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

PROCESS_BYTES = 2 * 1024**3
"""The memory of Python, PyTorch, diffusers and the CUDA libraries."""

SHARD_BYTES = 5 * 1000**3
"""A component that is quantized while it is loaded is read in files of at most about this size."""


def predict_host_memory(profile: Profile, settings: RunSettings) -> HostMemory:
    """Predict the host's memory while the pipeline is loaded, and while it runs."""
    plain = RunSettings(without=settings.without)
    kept = {slot: component_weights(part, settings) for slot, part in profile.components.items()}
    read = {slot: component_weights(part, plain).total_bytes for slot, part in profile.components.items()}
    load = PROCESS_BYTES + sum(_load_bytes(slot, kept, read, settings) for slot in read)
    waiting = sum(weights.total_bytes for weights in kept.values())
    pinned = 0
    if settings.offload == "none":
        running = PROCESS_BYTES
    elif settings.offload.startswith("group") and settings.use_stream:
        moved = kept.keys() - kept_on_device(profile, settings)
        pinned = sum(kept[slot].pinned_bytes for slot in moved)
        # Groups are pinned one after the other: what is not pinned yet lies there as it was loaded.
        running = PROCESS_BYTES + pinned
        load = max(load, PROCESS_BYTES + pinned + max((weights.total_bytes for weights in kept.values()), default=0))
    else:
        running = PROCESS_BYTES + waiting
    return HostMemory(peak_bytes=max(load, running), pinned_bytes=pinned, load_bytes=load)


def _load_bytes(slot: str, kept: dict[str, ComponentWeights], read: dict[str, int], settings: RunSettings) -> int:
    """Weights are read to the host and then moved; bitsandbytes quantizes them on the device, file by file."""
    if is_quantized_on_device(settings.quantize.get(slot)):
        return min(read[slot], SHARD_BYTES)
    if slot in settings.quantize:
        return kept[slot].total_bytes + min(read[slot], SHARD_BYTES)
    return read[slot]
