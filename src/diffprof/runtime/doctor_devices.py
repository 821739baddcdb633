"""The checks of ``diffprof doctor`` on devices: clocks, memory, peaks and sensors."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from diffprof.breakdown.devices import device_table
from diffprof.breakdown.throughput import throughput_table
from diffprof.runtime.device import device_of
from diffprof.runtime.doctor_model import DoctorModel, Skipped, measured_run, require
from diffprof.runtime.instrumentation.gpu_sensors import find_gpu
from diffprof.runtime.memory_history import label_allocations, memory_snapshot, snapshot_file
from diffprof.runtime.timing.devices import DeviceTimer, TorchSearch, devices_in_use

REPEATS = 10
MAX_OF_PEAK = 1.05
"""The largest plausible share of the peak: five percent above it, to allow for a boosted clock."""
WINOGRAD = 2.25
"""The factor by which Winograd's algorithm reduces the multiplications of a 3 x 3 convolution below those counted."""


def device_times(model: DoctorModel) -> str:
    """Every section must have a device time, and their sum must not exceed the time of the call."""
    if model.place.type == "cpu":
        raise Skipped("the CPU has only the host clock")
    pipeline = model.pipeline()
    model.call(pipeline)
    iteration = measured_run(model, pipeline).profile.measured.iterations[0]  # type: ignore[union-attr]
    times = [sample.span.device_ns for sample in iteration.samples if sample.component is not None]
    require(None not in times, "a section has no device time")
    inside, wall = sum(time or 0 for time in times), iteration.wall.device_ns or 0
    require(0 < inside <= wall, f"sections take {inside:,} ns of a call of {wall:,} ns")
    require(iteration.memory[-1].allocated_bytes is not None, "the allocator's memory is not read")
    return f"{len(times)} sections, {inside / wall:.0%} of the call"


def device_rows(model: DoctorModel) -> str:
    """The tables must have plausible memory, and shares of the device's peak and bandwidth."""
    if model.place.type == "cpu":
        raise Skipped("there is no device besides the CPU")
    pipeline = model.pipeline()
    model.call(pipeline)
    profile = measured_run(model, pipeline).profile
    (row, *_) = device_table(profile)
    require(row.allocated_bytes is not None and row.reserved_bytes is not None, "memory is not read")
    require((row.unused_bytes or 0) >= 0, "more is allocated than reserved")
    shares = [one for one in throughput_table(profile) if one.peak_share is not None]
    for one in shares:
        require((one.peak_share or 0) <= MAX_OF_PEAK, f"{one.component} is reported to be above the peak of {row.name}")
    if not shares:
        raise Skipped(f"the peak of {row.name} is not known")
    return f"{row.reserved_bytes:,} bytes reserved, {row.allocated_bytes:,} allocated at most"


def layer_rates(model: DoctorModel) -> str:
    """SDXL-shaped layers at 1024 x 1024 must run below the device's peak."""
    pipeline = model.pipeline()
    place = torch.device(pipeline._execution_device)
    device = device_of(pipeline)
    dtype = torch.float32 if place.type == "cpu" else torch.float16
    peak = device.peak_flops_per_second.get(str(dtype).removeprefix("torch."))
    rates = {
        name: flops / _seconds(layer, place)
        for name, (flops, layer) in _sdxl_layers(place, dtype, small=place.type == "cpu").items()
    }
    if peak is not None and place.type != "cpu":  # the peak of a CPU is measured, so it is not a limit
        for name, rate in rates.items():
            most = MAX_OF_PEAK * (WINOGRAD if name == "convolution" else 1)
            require(rate <= most * peak, f"{name} reaches {rate / peak:.0%} of the peak of {device.name}")
    each = [f"{name} {_rate(rate)}" for name, rate in rates.items()]
    return ", ".join(each) + ("" if peak is None else f", of {_rate(peak)}")


def _rate(flops_per_second: float) -> str:
    tera = flops_per_second / 1e12
    return f"{tera:.1f} TFLOP/s" if tera >= 1 else f"{1000 * tera:.1f} GFLOP/s"


def _sdxl_layers(place: torch.device, dtype: torch.dtype, small: bool) -> dict[str, tuple[int, Callable[[], object]]]:
    """The FLOPs of one call and the call itself, by name; `small` layers for a CPU, which would take minutes."""
    tokens, side, heads = (256, 32, 5) if small else (4096, 128, 10)
    options: dict[str, Any] = {"device": place, "dtype": dtype}
    x, image = torch.randn(2, tokens, 640, **options), torch.randn(2, 320, side, side, **options)
    linear, convolution = torch.nn.Linear(640, 5120, **options), torch.nn.Conv2d(320, 320, 3, padding=1, **options)
    query = torch.randn(2, heads, tokens, 64, **options)
    attend = torch.nn.functional.scaled_dot_product_attention
    return {
        "linear": (2 * x.numel() * 5120, lambda: linear(x)),
        "convolution": (2 * image.numel() * 320 * 9, lambda: convolution(image)),
        "attention": (2 * 2 * query.numel() * tokens, lambda: attend(query, query, query)),
    }


@torch.no_grad()
def _seconds(layer: Callable[[], object], place: torch.device) -> float:
    """The shortest of several calls, in device time."""
    timer = DeviceTimer(TorchSearch(place.index)) if place.type != "cpu" else None
    if timer is not None:
        timer.search()
    shortest = float("inf")
    for _ in range(REPEATS):
        began, mark = time.perf_counter(), timer.mark() if timer is not None else None
        layer()
        if timer is not None and mark is not None:
            end = timer.mark()
            timer.synchronize()
            require(end is not None, "no event could be recorded")
            seconds = mark.event.elapsed_time(end.event) / 1000 if end is not None else 0.0
        else:
            seconds = time.perf_counter() - began
        shortest = min(shortest, seconds)
    return max(shortest, 1e-9)


def second_device(model: DoctorModel) -> str:
    """A pipeline on the second device must be measured there."""
    place = model.place
    backend: Any = getattr(torch, place.type)
    if place.type == "cpu" or backend.device_count() < 2:
        raise Skipped("there is one device")
    pipeline = model.pipeline()
    second = torch.device(place.type, 1 if (place.index or 0) == 0 else 0)
    pipeline.to(second)
    run = measured_run(model, pipeline)
    points = run.profile.measured.iterations[0].memory  # type: ignore[union-attr]
    require(max(point.peak_allocated_bytes or 0 for point in points) > 0, f"no memory was seen on {second}")
    return f"times and memory of {second}"


def untouched_devices(model: DoctorModel) -> str:
    """No context, which takes hundreds of MiB, may be created on a device that the pipeline does not use."""
    if model.place.type != "cuda" or torch.cuda.device_count() < 2:
        raise Skipped("there is no second device")
    pipeline = model.pipeline()
    model.call(pipeline)
    before = devices_in_use(torch.cuda)
    if len(before) == torch.cuda.device_count():
        raise Skipped("every device is in use already")
    measured_run(model, pipeline)
    after = devices_in_use(torch.cuda)
    require(before == after, f"devices {before} were in use, and {after} after a measured call")
    return f"{len(before)} of {torch.cuda.device_count()} are in use"


def kept_peak(model: DoctorModel) -> str:
    """Measuring must not change the peak memory that a program reads."""
    place = model.place
    if place.type not in ("cuda", "xpu"):
        raise Skipped("torch has no peak memory statistics for this device")
    pipeline = model.pipeline()
    backend: Any = getattr(torch, place.type)
    model.call(pipeline)  # the first one allocates what stays
    backend.reset_peak_memory_stats(place)
    model.call(pipeline)
    alone = backend.max_memory_allocated(place)
    backend.reset_peak_memory_stats(place)
    measured_run(model, pipeline)
    watched = backend.max_memory_allocated(place)
    require(alone == watched, f"the peak is {alone:,} bytes, and {watched:,} where the call is measured")
    return f"{alone:,} bytes"


def sensor_readings(model: DoctorModel) -> str:
    """NVML, AMD SMI or Level Zero must report readings."""
    if model.place.type == "cpu":
        raise Skipped("there is no GPU to sample")
    read, problem = find_gpu(model.place)
    if read is None:
        raise Skipped(problem or "this GPU is not sampled")
    reading = read()
    sensors = {
        "use": reading.percent,
        "memory": reading.memory_bytes,
        "power": reading.watts,
        "clock": reading.mhz,
        "temperature": reading.celsius,
        "throttling": reading.throttle,
    }
    missing = [name for name, value in sensors.items() if value is None]
    reported = [name for name in sensors if name not in missing]
    return f"it reports {', '.join(reported)}" + (f", but not {', '.join(missing)}" if missing else "")


def allocation_snapshot(model: DoctorModel) -> str:
    """A memory snapshot must have allocations with labels."""
    if model.place.type != "cuda":
        raise Skipped("only CUDA and ROCm record allocations")
    pipeline = model.pipeline()
    with tempfile.TemporaryDirectory() as folder:
        with memory_snapshot(Path(folder), requested=True):
            with label_allocations(pipeline):
                model.call(pipeline)
            traces = torch.cuda.memory._snapshot()["device_traces"]
        size = snapshot_file(Path(folder)).stat().st_size
    labels = [event.get("user_metadata") for trace in traces for event in trace if event["action"] == "alloc"]
    require(bool(labels), "no allocation was recorded")
    if not hasattr(torch.cuda.memory, "_set_memory_metadata"):
        return f"{len(labels):,} allocations in {size:,} bytes, without labels, which this torch does not have"
    require(any(labels), "no allocation has the label of a module")
    return f"{len(labels):,} allocations, {sum(map(bool, labels)):,} with the label of a module, in {size:,} bytes"
