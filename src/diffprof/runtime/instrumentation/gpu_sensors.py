"""What a GPU tells about itself: use, memory, power, clock, temperature and why its clock is lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class GpuReading(NamedTuple):
    """The present use of a GPU, by all programs; None where it does not tell."""

    percent: float
    memory_bytes: int
    watts: float | None = None
    mhz: float | None = None
    celsius: float | None = None
    throttle: str | None = None
    """Why its clock is lowered, joined by commas; empty if it is not."""


ReadGpu = Callable[[], GpuReading]

THROTTLING = {
    0x04: "power cap", 0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake",
}  # fmt: skip
"""NVML's reasons to lower the clock, by bit; being idle and limits that somebody has set are no throttling."""

CLOCK_OF_MULTIPROCESSORS, SENSOR_OF_GPU = 1, 0


def find_gpu(place: torch.device | None = None) -> tuple[ReadGpu | None, str | None]:
    """A function that reads the GPU at `place` or else the current one, or why there is none; neither without a GPU."""
    if not torch.cuda.is_initialized() or (place is not None and place.type != "cuda"):
        return None, None
    if torch.version.hip is not None:
        return _find_amd_gpu(place)
    try:
        import pynvml
    except ImportError:
        return None, "The GPU is not sampled: install diffprof[gpu] for it."
    try:
        return nvml_gpu(pynvml, str(torch.cuda.get_device_properties(place).uuid)), None
    except (pynvml.NVMLError, AttributeError) as error:
        return None, f"The GPU is not sampled: NVML says {error}."


def nvml_gpu(nvml: Any, uuid: str) -> ReadGpu:
    """A function that reads the GPU with this UUID: NVML's indices do not follow CUDA_VISIBLE_DEVICES, a UUID does."""
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    errors = (nvml.NVMLError, AttributeError)
    reasons = "nvmlDeviceGetCurrentClocksEventReasons"
    if not hasattr(nvml, reasons):
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"  # its name before 2023
    power = _sensor(errors, lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
    clock = _sensor(errors, lambda: float(nvml.nvmlDeviceGetClockInfo(handle, CLOCK_OF_MULTIPROCESSORS)))
    heat = _sensor(errors, lambda: float(nvml.nvmlDeviceGetTemperature(handle, SENSOR_OF_GPU)))
    throttle = _sensor(errors, lambda: throttle_reasons(getattr(nvml, reasons)(handle)))

    def read() -> GpuReading:
        used = nvml.nvmlDeviceGetUtilizationRates(handle).gpu
        memory = nvml.nvmlDeviceGetMemoryInfo(handle).used
        return GpuReading(float(used), memory, power(), clock(), heat(), throttle())

    read()  # fails now, not in the middle of a run
    return read


def throttle_reasons(bits: int) -> str:
    """NVML's reasons in words, each once."""
    return ", ".join(dict.fromkeys(word for bit, word in THROTTLING.items() if bits & bit))


def _find_amd_gpu(place: torch.device | None) -> tuple[ReadGpu | None, str | None]:
    """By ROCm SMI, through the functions that torch has for it."""
    cuda: Any = torch.cuda
    errors = (RuntimeError, AttributeError, OSError, ImportError)
    power = _sensor(errors, lambda: cuda.power_draw(place) / 1000)
    clock = _sensor(errors, lambda: float(cuda.clock_rate(place)))
    heat = _sensor(errors, lambda: float(cuda.temperature(place)))

    def read() -> GpuReading:
        free, total = cuda.mem_get_info(place)
        return GpuReading(float(cuda.utilization(place)), total - free, power(), clock(), heat())

    try:
        read()
    except Exception as error:  # noqa: BLE001  amdsmi has errors of its own, and may be missing
        return None, f"The GPU is not sampled: ROCm SMI says {error}."
    return read, None


def _sensor(errors: tuple[type[Exception], ...], read: Callable[[], Any]) -> Callable[[], Any]:
    """The sensor, or a function that gives None where this GPU has no such sensor."""
    try:
        read()
    except errors:
        return lambda: None
    return read
