"""The dictionary that the guides call profiling data: time, memory and compute of a generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffprof.breakdown.memory_peaks import memory_table
from diffprof.breakdown.throughput import generation
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.guides.counts import guide_counts
from diffprof.render.headline import size_changes
from diffprof.render.run_sentences import measurement_notes

TERA = 10**12
NOT_JSON = ("profile",)
"""Keys whose values cannot be written to a JSON file."""


def profiling_data(profile: Profile, model_id: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The profiling data of one measured generation.

    Counts have the keys of `ComputeProfiler.profile_pipeline`, ``inference_time_seconds`` is the time, and ``profile``
    the whole profile. ``throughput_tflops`` is 10^12 FLOPs (two per MAC) divided by the time of the whole call. If
    nothing could be counted, ``enabled`` is False and ``reason`` says why.
    """
    timing = generation(profile)
    measured = profile.measured
    measured_notes = measurement_notes(measured) if measured else ()
    all_notes = [*notes, *measured_notes, *size_changes(profile), *profile.ledger.assumptions]
    common = {
        "model_id": model_id,
        **(_time_entries(timing.median_ns / 1e9) if timing else {}),
        **_memory_entries(profile),
        "load_seconds": measured.load_seconds if measured else None,
        "device": measured.device.name if measured else None,
        "notes": list(dict.fromkeys(all_notes)),
        "profile": profile,
    }
    if timing is None or not profile.ledger.executed_ops:
        return {**unprofiled_data(all_notes[-1] if all_notes else "nothing was counted"), **common}
    rate = timing.flops_per_second
    # If the run and the count differ, their ratio means nothing.
    if rate is None and measured is not None and not measured.mismatches:
        rate = profile.total.flops / (timing.median_ns / 1e9)
    return {
        **guide_counts(profile),
        "num_inference_steps": profile.request.value("num_inference_steps") or profile.steps.count,
        "input_shape": _input_shape(profile),
        **common,
        "throughput_tflops": rate / TERA if rate is not None else None,
        "throughput_str": numbers.flops_per_second(rate) if rate is not None else None,
        "steps_per_second": timing.steps_per_second,
    }


def unprofiled_data(reason: str, seconds: float | None = None) -> dict[str, Any]:
    """The profiling data of a generation that was not counted, with the reason."""
    return {"enabled": False, "reason": reason, **(_time_entries(seconds) if seconds is not None else {})}


def json_values(data: dict[str, Any] | None) -> dict[str, Any] | None:
    """The entries that can be written to a JSON file."""
    if data is None:
        return None
    return {name: value for name, value in data.items() if name not in NOT_JSON}


def _time_entries(seconds: float) -> dict[str, Any]:
    return {"inference_time_seconds": seconds, "inference_time_str": numbers.duration(seconds)}


def _memory_entries(profile: Profile) -> dict[str, Any]:
    rows = memory_table(profile)
    on_device = [row.device_peak_bytes for row in rows if row.device_peak_bytes is not None]
    peak_bytes = max(on_device or [row.rss_peak_bytes for row in rows], default=None)
    return {
        "peak_memory_bytes": peak_bytes,
        "peak_memory_str": numbers.gigabytes(peak_bytes) if peak_bytes is not None else None,
        "peak_memory_of": "device" if on_device else "process",
    }


def _input_shape(profile: Profile) -> tuple[int, ...] | None:
    """The shape of the generated image or video, as in the guides: batch, channels, frames, height, width."""

    value = profile.request.value
    height, width, frames = value("height"), value("width"), value("num_frames")
    if not isinstance(height, int) or not isinstance(width, int):
        return None
    return (1, 3, *([frames] if isinstance(frames, int) else []), height, width)
