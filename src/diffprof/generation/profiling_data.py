"""What a generation took and cost: the dictionary that the guides call profiling data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffprof.breakdown.memory import memory_table
from diffprof.breakdown.throughput import generation
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.guides.counts import guide_counts
from diffprof.render.headline import size_changes

TERA = 10**12
NOT_PLAIN = ("profile",)
"""Keys whose values no JSON file holds."""


def profiling_data(profile: Profile, model_id: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """One generation that was made and measured.

    All that was counted is under the keys of `ComputeProfiler.profile_pipeline`, the time under
    ``inference_time_seconds``, and ``profile`` is the whole profile. ``throughput_tflops`` are 10^12 FLOPs of the MACs
    in a second, over the whole call. What could not be counted is not there: ``enabled`` is False then, and ``reason``
    says why.
    """
    made = generation(profile)
    measured = profile.measured
    told = [*notes, *(measured.notes if measured else ()), *size_changes(profile), *profile.ledger.assumptions]
    common = {
        "model_id": model_id,
        **(_timed(made.median_ns / 1e9) if made else {}),
        **_memory(profile),
        "load_seconds": measured.load_seconds if measured else None,
        "device": measured.device.name if measured else None,
        "notes": list(dict.fromkeys(told)),
        "profile": profile,
    }
    if made is None or not profile.ledger.executed_ops:
        return {**not_profiled(told[-1] if told else "nothing was counted"), **common}
    rate = made.flops_per_second
    # A note tells that what ran is not all of what was counted: no rate follows from the two then.
    if rate is None and measured is not None and not measured.notes:
        rate = profile.total.flops / (made.median_ns / 1e9)
    return {
        **guide_counts(profile),
        "num_inference_steps": profile.request.value("num_inference_steps") or profile.steps.count,
        "input_shape": _input_shape(profile),
        **common,
        "throughput_tflops": rate / TERA if rate is not None else None,
        "throughput_str": numbers.flops_per_second(rate) if rate is not None else None,
        "steps_per_second": made.steps_per_second,
    }


def not_profiled(reason: str, seconds: float | None = None) -> dict[str, Any]:
    """A generation of which nothing was counted, and why."""
    return {"enabled": False, "reason": reason, **(_timed(seconds) if seconds is not None else {})}


def plain(data: dict[str, Any] | None) -> dict[str, Any] | None:
    """The data as a JSON file holds it."""
    if data is None:
        return None
    return {name: value for name, value in data.items() if name not in NOT_PLAIN}


def _timed(seconds: float) -> dict[str, Any]:
    return {"inference_time_seconds": seconds, "inference_time_str": numbers.duration(seconds)}


def _memory(profile: Profile) -> dict[str, Any]:
    rows = memory_table(profile)
    on_device = [row.device_peak_bytes for row in rows if row.device_peak_bytes is not None]
    most = max(on_device or [row.rss_peak_bytes for row in rows], default=None)
    return {
        "peak_memory_bytes": most,
        "peak_memory_str": numbers.gigabytes(most) if most is not None else None,
        "peak_memory_of": "device" if on_device else "process",
    }


def _input_shape(profile: Profile) -> tuple[int, ...] | None:
    """Batch, channels, frames of a film, height, width: of what came out, as in the guides."""
    value = profile.request.value
    height, width, frames = value("height"), value("width"), value("num_frames")
    if not isinstance(height, int) or not isinstance(width, int):
        return None
    return (1, 3, *([frames] if isinstance(frames, int) else []), height, width)
