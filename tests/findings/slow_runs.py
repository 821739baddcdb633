"""Runs on a known accelerator, whose component times a test sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import diffprof
from diffprof.record.measured import Device, Iteration, Measured, Move, Sample, Span
from diffprof.record.profile import Profile
from tests.prediction.samples import stable_diffusion_profile

L4 = Device("NVIDIA L4", "cuda", 24 * 2**30)


def run_taking(seconds: Mapping[str, float], device: Device = L4, moves: tuple[Move, ...] = ()) -> Profile:
    """A run whose components took so long in all their calls together."""
    profile = stable_diffusion_profile()
    samples, start = [], 0
    for number, call in enumerate(profile.calls):
        calls = profile.components[call.component].calls if call.component in profile.components else 1
        taken = round(seconds.get(call.component, 0.0) / calls * 1e9)
        samples.append(Sample(f"{call.component}_{call.method}", Span(start, taken), call.component, call=number))
        start += taken
    return replace(profile, measured=Measured(device, (Iteration(0, Span(0, start), tuple(samples), moves=moves),)))


def expected(**settings: str) -> dict[str, float]:
    """What the components take on an L4."""
    parts = diffprof.predict(stable_diffusion_profile(), gpu="l4", **settings).accelerators["l4"].components
    return {slot: part.total_seconds for slot, part in parts.items() if slot != "pipeline"}


def unfused() -> Profile:
    return run_taking({**expected(), "unet": expected(attention="math")["unet"]})


def slow_decoder() -> Profile:
    times = expected()
    return run_taking({**times, "vae": times["vae"] + 2 * sum(times.values())})
