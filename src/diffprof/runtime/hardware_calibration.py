"""Calibrate this machine: measure what its device achieves, and describe it as an accelerator."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch

from diffprof.catalogue.accelerators import Accelerator, match_accelerator
from diffprof.catalogue.bundled_model import SHAPES
from diffprof.counting.profile import profile_pipeline
from diffprof.errors import RequestError
from diffprof.pipelines.loading.weights import load_pipeline
from diffprof.prediction.call_times import call_times
from diffprof.prediction.device import DeviceModel, device_of
from diffprof.prediction.time import job_of
from diffprof.prediction.workload import VIEW
from diffprof.prediction.workspace import element_bytes
from diffprof.record.request import Request
from diffprof.runtime.device import processor_name
from diffprof.runtime.machine_timings import HEAD_SIZE, MachineTimings, clock_for, time_machine

PROCESSOR_CACHE_BYTES = 8 * 2**20
MAX_STRIDED_PASSES = 30.0
SMALLEST = 1e-9


def calibrate(
    device: torch.device, name: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Accelerator:
    """Measure a device; if the catalogue knows it, the published numbers are kept."""
    reported, memory = _describe(device)
    dtype = torch.float32 if device.type == "cpu" else torch.float16
    timings = time_machine(device, dtype, progress)
    entry = _entry(device, name, reported, memory, timings)
    progress("a pipeline")
    return with_host_costs(entry, device)


def _entry(device: torch.device, name: str | None, reported: str, memory: int, timings: MachineTimings) -> Accelerator:
    source = f"measured by `diffprof hardware calibrate` on {date.today().isoformat()} with torch {torch.__version__}"
    if device.type == "cpu":
        source += f" and {torch.get_num_threads()} threads"
        source += "".join(f"; {line}" for line in timings.not_measured)
        return _processor(name or short_name(reported), reported, memory, timings, source)
    known = match_accelerator(reported, memory_bytes=memory)
    entry = known or _unknown(reported, memory, timings, source)
    measured = _measured_numbers(timings, entry, "float16" if "float16" in timings.peaks else "float32")
    link = "measured from pinned memory" if timings.host_bytes_per_second else None
    return replace(
        entry, name=name or f"my-{entry.name}", aliases=(), measured=measured, source=f"{entry.source}; {source}",
        host_link=link or entry.host_link,
        host_link_bytes_per_second=timings.host_bytes_per_second or entry.host_link_bytes_per_second,
    )  # fmt: skip


def with_host_costs(entry: Accelerator, device: torch.device) -> Accelerator:
    """Set the host's costs to those in a pipeline, measured on the bundled model.

    For each operation and module, a pipeline runs more Python code than a loop that repeats one operation.
    """
    pipeline = load_pipeline(SHAPES, device=str(device)).opened.pipeline
    pipeline.set_progress_bar_config(disable=True)
    arguments = {"prompt": "a red circle", "num_inference_steps": 4, "output_type": "pt"}
    seconds = min(_call_seconds(pipeline, arguments) for _ in range(CALLS))
    counted = profile_pipeline(pipeline, Request.create(SHAPES, arguments))
    job, known = job_of(counted), device_of(entry)
    times = call_times(job.workload, job.table, known)
    number = [call.times for call in job.workload.calls]
    busy = float(sum(times.device * number)) if known.is_processor else 0.0
    host = float(sum(times.host * number))
    launched = sum(call.times * load.count for call in job.workload.calls for load in call.loads if load.sort != VIEW)
    # Views and modules keep the costs measured alone; the rest is Python code between operations.
    operation = entry.measured["operation_seconds"] + (seconds - busy - host) / launched
    least = entry.measured["operation_seconds"]
    return replace(entry, measured={**entry.measured, "operation_seconds": max(least, operation)})


CALLS = 7


def _call_seconds(pipeline: Any, arguments: dict[str, Any]) -> float:
    clock = clock_for(pipeline.device)
    started = clock()
    pipeline(**arguments)
    return (clock() - started) / 1e9


def short_name(reported: str) -> str:
    """A name for the command line, derived from the name that the device reports."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\((?:r|tm)\)|@.*", " ", reported.casefold()))
    return "-".join(words)[:40].strip("-") or "this-machine"


def _describe(device: torch.device) -> tuple[str, int]:
    if device.type == "cpu":
        return processor_name(), int(psutil.virtual_memory().total)
    backend = getattr(torch, device.type, None)
    if backend is None or not hasattr(backend, "get_device_properties"):
        return platform.processor() or device.type, int(psutil.virtual_memory().total)
    properties = backend.get_device_properties(device)
    return properties.name, int(properties.total_memory)


def _processor(name: str, reported: str, memory: int, timings: MachineTimings, source: str) -> Accelerator:
    entry = Accelerator(
        name=name,
        reported_names=(reported,),
        maker=reported.split()[0] if reported.split() else "unknown",
        architecture="cpu",
        memory_bytes=memory,
        bandwidth_bytes_per_second=timings.bytes_per_second,
        peak_flops_per_second=timings.peaks,
        source=source,
        l2_cache_bytes=PROCESSOR_CACHE_BYTES,
    )
    measured = _measured_numbers(timings, entry, "float32")
    return replace(entry, measured={**measured, "elements_per_clock": timings.scattered_elements_per_second / 1e9})


def _unknown(reported: str, memory: int, timings: MachineTimings, source: str) -> Accelerator:
    if not timings.peaks:
        raise RequestError(f"{reported} computes in none of the usual dtypes.")
    return Accelerator(
        name=short_name(reported), reported_names=(reported,), maker=reported.split()[0], architecture="unknown",
        memory_bytes=memory, bandwidth_bytes_per_second=timings.bytes_per_second,
        peak_flops_per_second=timings.peaks, source=source,
    )  # fmt: skip


def _measured_numbers(timings: MachineTimings, entry: Accelerator, dtype: str) -> dict[str, float]:
    """The numbers of the time model that the timings give."""
    rate = timings.peaks[dtype]
    plain = timings.bytes_per_second
    return {
        "product_share": rate / entry.peak_flops_per_second.get(dtype, rate),
        # The measured speed of products already includes the limit by the board's power.
        "joules_per_teraflop": SMALLEST,
        "speed": 1.0,
        "convolution_share": timings.convolution_rate / rate,
        **_attention_numbers(timings, rate, device_of(entry)),
        "bandwidth_share": plain / entry.bandwidth_bytes_per_second,
        "cache_speedup": max(1.0, timings.cached_bytes_per_second / plain),
        "strided_passes": min(MAX_STRIDED_PASSES, plain / timings.strided_bytes_per_second * element_bytes(dtype) / 4),
        "norm_passes": timings.scattered_elements_per_second / timings.norm_elements_per_second,
        "operation_seconds": timings.operation_seconds,
        "view_seconds": timings.view_seconds,
        "module_seconds": timings.module_seconds,
        "kernel_seconds": max(SMALLEST, timings.kernel_seconds),
    }


def _attention_numbers(timings: MachineTimings, rate: float, device: DeviceModel) -> dict[str, float]:
    """The measured time of attention, divided between its products and what happens to its scores."""
    if device.is_processor:
        return {"attention_share": timings.attention_rate / rate}
    operations = 4 * HEAD_SIZE
    whole, masked = operations / timings.attention_rate, operations / timings.masked_attention_rate
    is_flash = device.has_flash_attention
    passes = 1.0 if is_flash else device.efficiency.masked_score_passes
    # The fitted time of a score is kept, unless it would leave too little for the products.
    products = max(whole - passes / device.score_rate, whole / 2)
    score_rate = passes / (whole - products)
    return {
        "attention_share": operations / products / rate,
        "scores_per_clock": device.efficiency.scores_per_clock * score_rate / device.score_rate,
        "masked_score_passes": max(1.0, 1.0 + (masked - whole) * score_rate) if is_flash else passes,
    }
