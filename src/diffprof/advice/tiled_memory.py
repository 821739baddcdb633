"""Estimate the memory of a generation that decodes in tiles from that of the same one without tiles."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.fit import Outcome
from diffprof.prediction.memory_on_devices import peak_of_stages
from diffprof.record.fit import DECODE, StageMemory
from diffprof.record.profile import Profile


def estimate_with_tiles(
    without: Outcome, whole: Profile, tiled: Profile, capacity_bytes: int | None, ram_bytes: int | None
) -> Outcome:
    """Estimate the outcome with tiles.

    Tiles change nothing but decoding, where as much less is needed as fewer tensors are alive. What the allocator
    caches can be released where the device is full, so that what is allocated decides whether it fits.
    """
    stages = tuple(_decoding_in_tiles(one, whole, tiled) if one.stage == DECODE else one for one in without.stages)
    peak = peak_of_stages(stages)
    if capacity_bytes is None:
        return Outcome(stages, peak, without.host, None)
    has_ram = ram_bytes is None or without.host.peak_bytes <= ram_bytes
    can_fit = without.full_in in (None, DECODE) and peak.allocated_bytes <= capacity_bytes
    return Outcome(stages, peak, without.host, has_ram and can_fit)


def is_video(profile: Profile) -> bool:
    """Whether the generation makes several frames."""
    frames = profile.request.value("num_frames")
    return isinstance(frames, int) and frames > 1


def _decoding_in_tiles(decoding: StageMemory, whole: Profile, tiled: Profile) -> StageMemory:
    """The stage of decoding with the tensors of tiles instead of those of the whole image."""
    before, after = (
        max((call.cost.peak_live_bytes for call in one.calls if call.component == decoding.component), default=0)
        for one in (whole, tiled)
    )
    if not before:
        return decoding  # most memory is needed between the calls
    activations, workspace = (
        round(size * after / before) for size in (decoding.activation_bytes, decoding.workspace_bytes)
    )
    allocated = (
        decoding.allocated_bytes - decoding.activation_bytes - decoding.workspace_bytes + activations + workspace
    )
    reserved = round(decoding.reserved_bytes * allocated / decoding.allocated_bytes)
    return replace(
        decoding,
        allocated_bytes=allocated,
        reserved_bytes=reserved,
        device_bytes=decoding.device_bytes - decoding.reserved_bytes + reserved,
        activation_bytes=activations,
        workspace_bytes=workspace,
    )
