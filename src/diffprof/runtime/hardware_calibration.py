"""Calibrate this machine: measure what its device achieves, and describe it as an accelerator."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch

from diffprof.catalogue.accelerators import ALL, Accelerator, accelerators, find_accelerator, match_accelerator
from diffprof.catalogue.bundled_model import SHAPES
from diffprof.counting.profile import profile_pipeline
from diffprof.errors import DiffprofError, RequestError
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


class BusyMachineError(DiffprofError):
    """The measured numbers contradict each other, as they do if other programs run."""


def calibrate(
    device: torch.device, name: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Accelerator:
    """Measure a device; if the catalogue knows it, the published numbers are kept.

    If the numbers contradict the time of a pipeline, everything is measured again, and an error if they still do.
    """
    if name is not None:
        check_name(name, *_describe(device))
    pipeline = BundledPipeline(device)
    entry, factor = _measure(pipeline, name, progress)
    if factor > MOST_CONTRADICTION:
        progress("everything again, because the numbers contradict each other")
        entry, factor = _measure(pipeline, name, progress)
    if factor > MOST_CONTRADICTION:
        raise BusyMachineError(
            f"This machine seems busy: the measured numbers contradict each other by a factor of {factor:,.1f}, so "
            "nothing was saved; run it again when the machine is quiet."
        )
    return entry


def check_name(name: str, reported: str, memory: int) -> None:
    """Refuse the name of another accelerator of the catalogue, which the entry would replace."""
    if name == ALL:
        raise RequestError(f"--name must be another than {ALL}: --gpu {ALL} means every accelerator.")
    known = match_accelerator(reported, memory_bytes=memory)
    others = [entry for entry in accelerators() if entry != known and _has_name(entry, name)]
    if others:
        raise RequestError(
            f"{name} is another accelerator of the catalogue ({(*others[0].reported_names, others[0].name)[0]}), and "
            f"this device is {reported}; choose another --name."
        )


def _has_name(entry: Accelerator, name: str) -> bool:
    try:
        return find_accelerator(name, [entry]) == entry
    except RequestError:
        return False


def _measure(pipeline: BundledPipeline, name: str | None, progress: Callable[[str], None]) -> tuple[Accelerator, float]:
    """Measure everything once; also the factor by which the numbers contradict the pipeline's time."""
    device = pipeline.device
    dtype = torch.float32 if device.type == "cpu" else torch.float16
    timings = time_machine(device, dtype, progress)
    alone = _entry(device, name, timings)
    progress("a pipeline")
    pipeline.time()
    entry = pipeline.with_host_costs(alone)
    return entry, pipeline.contradiction(alone, entry)


def _entry(device: torch.device, name: str | None, timings: MachineTimings) -> Accelerator:
    reported, memory = _describe(device)
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


class BundledPipeline:
    """The bundled model on a device: its shortest time so far, and what the numbers of an accelerator predict."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = math.inf
        self._pipeline = load_pipeline(SHAPES, device=str(device)).opened.pipeline
        self._pipeline.set_progress_bar_config(disable=True)
        self._job = job_of(profile_pipeline(self._pipeline, Request.create(SHAPES, ARGUMENTS)))
        self._number = [call.times for call in self._job.workload.calls]

    def time(self) -> None:
        """Call it several times; other programs can only make a call longer, so that the shortest counts."""
        calls: list[float] = []
        while len(calls) < CALLS and sum(calls) < LONGEST_CALLS_SECONDS:
            calls.append(_call_seconds(self._pipeline, ARGUMENTS))
        self.seconds = min(self.seconds, *calls)

    def with_host_costs(self, entry: Accelerator) -> Accelerator:
        """Set the host's costs to those in the pipeline.

        For each operation and module, a pipeline runs more Python code than a loop that repeats one operation.
        """
        known = device_of(entry)
        times = call_times(self._job.workload, self._job.table, known)
        busy = float(sum(times.device * self._number)) if known.is_processor else 0.0
        host = float(sum(times.host * self._number))
        calls = self._job.workload.calls
        launched = sum(call.times * load.count for call in calls for load in call.loads if load.sort != VIEW)
        # Views and modules keep the costs measured alone; the rest is Python code between operations.
        least = entry.measured["operation_seconds"]
        return _with_operation_seconds(entry, max(least, least + (self.seconds - busy - host) / launched))

    def predicted_seconds(self, entry: Accelerator) -> float:
        """The time of a call with the numbers of this accelerator."""
        times = call_times(self._job.workload, self._job.table, device_of(entry))
        return float(sum(times.total * self._number))

    def contradiction(self, alone: Accelerator, entry: Accelerator) -> float:
        """The factor by which the parts are too slow for the pipeline, or the pipeline for its parts.

        `alone` has the cost of operations without a pipeline, and `entry` that in the pipeline.
        """
        slowest = _with_operation_seconds(alone, alone.measured["operation_seconds"] * MOST_HOST_COST)
        return max(self.predicted_seconds(entry) / self.seconds, self.seconds / self.predicted_seconds(slowest))


ARGUMENTS = {"prompt": "a red circle", "num_inference_steps": 4, "output_type": "pt"}
CALLS, LONGEST_CALLS_SECONDS = 15, 8.0
"""There are fewer if they take this long, as next to other programs."""

MOST_CONTRADICTION = 2.0
MOST_HOST_COST = 30.0
"""The cost of an operation in a pipeline relative to a loop: about 20 on a CPU, and less where launches are slower."""


def _with_operation_seconds(entry: Accelerator, seconds: float) -> Accelerator:
    return replace(entry, measured={**entry.measured, "operation_seconds": seconds})


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
