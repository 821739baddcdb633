"""Rules about memory: a VAE that needs the most of it, memory that is not freed, and fragmentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from diffprof.breakdown.memory_peaks import memory_table
from diffprof.breakdown.shares import share
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.record.measured import Iteration, Measured, MemoryPoint
from diffprof.record.profile import Profile

MEBIBYTE = 1024**2
LARGE = Threshold("large_bytes", 256 * MEBIBYTE, "allocators reserve memory in large blocks: less may be chance")
ABOVE_THE_REST = Threshold("peak_ratio", 1.2, "with less to gain, another part would soon be the one that does not fit")
NEARLY_FULL = Threshold("full_share", 0.8, "a somewhat larger image would no longer fit")
GROWTH_ON_DEVICE = Threshold("growth_bytes", 64 * MEBIBYTE, "the workspaces that libraries keep are smaller")
ITERATIONS_OF_A_TREND = Threshold("iterations", 3, "two values are no trend")
FRAGMENTED = Threshold("reserved_ratio", 1.2, "allocators round up; a fifth more than was ever needed is not rounding")

DEVICE, PROCESS = "device", "process"
"""The memory of the accelerator, or the resident memory of the process."""


def vae_decode_memory(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The VAE needs more memory than everything else, and so determines what fits."""
    found = _peaks_on_device(profile) or _peaks_of_process(profile, measured)
    if found is None:
        return
    memory, peak, rest = found
    there = measured.device.memory_bytes
    decides = peak - rest >= LARGE.value and peak >= ABOVE_THE_REST.value * rest
    fills = there is not None and peak > rest and peak >= NEARLY_FULL.value * there
    if not decides and not fills:
        return
    images = _images_at_once(profile)
    yield Finding(
        "vae_decode_memory",
        "one_picture" if images == 1 else "several_pictures",
        share(peak - rest, there or peak),
        {
            "component": next(slot for slot in profile.components if _is_vae(profile, slot)),
            "memory": memory,
            "peak_bytes": peak,
            "rest_bytes": rest,
            "excess_bytes": peak - rest,
            "there_bytes": there,
            "full_share": share(peak, there) if there else None,
            "activation_bytes": _vae_activations(profile),
            "pictures": images,
        },
    )


def _peaks_on_device(profile: Profile) -> tuple[str, int, int] | None:
    """The peak of the VAE and that of all other components."""
    peaks = {row.part: row.device_peak_bytes for row in memory_table(profile) if not row.is_stage}
    known = {slot: peak for slot, peak in peaks.items() if peak is not None}
    vae = [peak for slot, peak in known.items() if _is_vae(profile, slot)]
    rest = [peak for slot, peak in known.items() if not _is_vae(profile, slot)]
    return (DEVICE, max(vae), max(rest)) if vae and rest else None


def _peaks_of_process(profile: Profile, measured: Measured) -> tuple[str, int, int] | None:
    """The peak of the process before and after the decode that raised it most; None if none raised it."""
    rises = []
    for iteration in measured.iterations:
        for number, sample in enumerate(iteration.samples):
            points = [point for point in iteration.memory if point.sample == number]
            if _is_vae(profile, sample.component) and len(points) > 1 and points[0].allocated_bytes is None:
                rises.append((points[0].peak_rss_bytes, points[-1].peak_rss_bytes))
    before, after = max(rises, key=lambda rise: rise[1] - rise[0], default=(0, 0))
    return (PROCESS, after, before) if after > before else None


def _is_vae(profile: Profile, slot: str | None) -> bool:
    part = profile.components.get(slot or "")
    return part is not None and part.role == "vae"


def _vae_activations(profile: Profile) -> int | None:
    counted = [part.peak_live_bytes for part in profile.components.values() if part.role == "vae"]
    return max(counted, default=0) or None


def _images_at_once(profile: Profile) -> int:
    """The batch size of the VAE's input: latents of (4, 4, 64, 64) are those of 4 images."""
    calls = [call for call in profile.calls if _is_vae(profile, call.component)]
    first = [next((shape for one in call.inputs for shape in one.shapes if len(shape) > 1), ()) for call in calls]
    return max((shape[0] for shape in first if shape), default=1)


def memory_not_freed(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """Memory grows with each iteration, or is higher after the last one than before it."""
    whole = [one for one in measured.timed_iterations if one.error is None and one.memory]
    ends = [one.memory[-1] for one in whole]
    for memory, read, least in ((DEVICE, _allocated_bytes, GROWTH_ON_DEVICE), (PROCESS, _resident, LARGE)):
        held = [bytes_ for bytes_ in map(read, ends) if bytes_ is not None]
        if len(held) != len(ends) or not held:
            continue
        grew = len(held) >= ITERATIONS_OF_A_TREND.value and all(later > earlier for earlier, later in pairwise(held))
        if grew and held[-1] - held[0] >= least.value:
            yield _not_freed_finding("grows", memory, held[0], held[-1], len(held), measured)
            return
    yield from _growth_in_last_call(whole, measured)


def _growth_in_last_call(whole: Sequence[Iteration], measured: Measured) -> Iterator[Finding]:
    # Later calls reuse what the first call keeps, such as workspaces and weights that it moved to the device.
    last = whole[-1] if whole and whole[-1] is not measured.iterations[0] else None
    before, after = (_allocated_bytes(last.memory[0]), _allocated_bytes(last.memory[-1])) if last else (None, None)
    if before is not None and after is not None and after - before >= GROWTH_ON_DEVICE.value:
        yield _not_freed_finding("kept", DEVICE, before, after, 1, measured)


def _not_freed_finding(case: str, memory: str, before: int, after: int, iterations: int, measured: Measured) -> Finding:
    return Finding(
        "memory_not_freed",
        case,
        share(after - before, measured.device.memory_bytes or after),
        {
            "memory": memory,
            "before_bytes": before,
            "after_bytes": after,
            "growth_bytes": after - before,
            "iterations": iterations,
        },
    )


def _allocated_bytes(point: MemoryPoint) -> int | None:
    return point.allocated_bytes


def _resident(point: MemoryPoint) -> int | None:
    """Resident memory of the process, if the models are in it."""
    return point.rss_bytes if point.allocated_bytes is None else None


def fragmentation(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The allocator has reserved far more memory than was ever allocated at once."""
    points = [point for iteration in measured.iterations for point in iteration.memory]
    worst: tuple[int, int, str] | None = None
    needed = 0
    for point in points:
        allocated, reserved = point.allocated_bytes, point.reserved_bytes
        if allocated is None or reserved is None:
            continue
        # Memory reserved before the measurement may have been in use then.
        needed = max(needed or reserved, allocated, point.peak_allocated_bytes or 0)
        if worst is None or reserved - needed > worst[0] - worst[1]:
            worst = (reserved, needed, point.label)
    if worst is None:
        return
    reserved, needed, label = worst
    if reserved - needed >= LARGE.value and reserved >= FRAGMENTED.value * needed:
        yield Finding(
            "fragmentation",
            "reserved",
            share(reserved - needed, measured.device.memory_bytes or reserved),
            {
                "label": label,
                "reserved_bytes": reserved,
                "needed_bytes": needed,
                "excess_bytes": reserved - needed,
            },
        )


VAE_DECODE_MEMORY = Rule(
    "vae_decode_memory",
    "The VAE needs more memory than everything else and so determines what fits: worth tiling or slicing.",
    ("one_picture", "several_pictures"),
    (ABOVE_THE_REST, LARGE, NEARLY_FULL),
    vae_decode_memory,
)
MEMORY_NOT_FREED = Rule(
    "memory_not_freed",
    "Memory grows from iteration to iteration, or is still held after the call.",
    ("grows", "kept"),
    (ITERATIONS_OF_A_TREND, GROWTH_ON_DEVICE, LARGE),
    memory_not_freed,
)
FRAGMENTATION = Rule(
    "fragmentation",
    "The allocator has reserved far more than was ever allocated: its free blocks are too small.",
    ("reserved",),
    (FRAGMENTED, LARGE),
    fragmentation,
)
