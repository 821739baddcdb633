"""A memory snapshot that was explained, written down by hand."""

from __future__ import annotations

from diffprof.traces.memory.explain import DeviceSnapshot, FailedAllocation, MemoryShare

MB = 10**6
DEVICE = DeviceSnapshot(
    device=0,
    peak_bytes=400 * MB,
    has_history=True,
    owners=(MemoryShare("denoiser", 300 * MB, 7), MemoryShare("vae", 100 * MB, 2)),
    modules=(MemoryShare("unet.down_blocks.0", 300 * MB, 7),),
    lines=(MemoryShare("unet.py:7 forward", 300 * MB, 7),),
    stacks=(MemoryShare("unet.py:7 forward < pipeline.py:2 __call__", 300 * MB, 7), MemoryShare("alone", MB, 1)),
    allocated_bytes=150 * MB,
    reserved_bytes=560 * MB,
    largest_free_bytes=300 * MB,
    failures=(),
)
FAILURE = FailedAllocation(
    400 * MB, 60 * MB, "vae.py:9 forward", "vae.decoder", 150 * MB, (MemoryShare("vae.py:8 forward", 50 * MB, 1),)
)
