"""Read sensors of a GPU: utilization, memory, power, clock, temperature, and reasons for throttling."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class GpuReading(NamedTuple):
    """The current readings of a GPU, for all programs; None for values that it does not report."""

    percent: float | None = None
    memory_bytes: int | None = None
    watts: float | None = None
    mhz: float | None = None
    celsius: float | None = None
    throttle: str | None = None
    """Reasons for throttling, joined by commas; empty if there are none."""


ReadGpu = Callable[[], GpuReading]

THROTTLING = {
    0x04: "power cap", 0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake",
}  # fmt: skip
"""NVML's reasons for throttling, by bit; being idle and limits set by a user are not throttling."""

AMD_THROTTLING = {
    "active_ppt_pwr": "power cap", "active_socket_thrm": "heat", "active_vr_thrm": "heat", "active_hbm_thrm": "heat",
    "active_prochot_thrm": "heat",
}  # fmt: skip
"""AMD SMI's reasons for throttling, on MI300 and later; each is 1, 0 or not reported."""

CLOCK_OF_MULTIPROCESSORS, SENSOR_OF_GPU = 1, 0


def find_gpu(place: torch.device | None = None) -> tuple[ReadGpu | None, str | None]:
    """A function that reads the GPU at `place`, or the current one; else the reason why it cannot be read.

    Both are None without a GPU.
    """
    kind = "cuda" if place is None else place.type
    if kind == "mps":
        return None, "The GPU is not sampled: Metal does not report its use, power or clock to programs."
    if kind == "xpu":
        return _find_intel_gpu(place) if torch.xpu.is_initialized() else (None, None)
    if kind != "cuda" or not torch.cuda.is_initialized():
        return None, None
    if torch.version.hip is not None:
        return _find_amd_gpu(place)
    try:
        import pynvml
    except ImportError:
        return None, "The GPU is not sampled: install diffprof[gpu] for it."
    try:
        return nvml_gpu(pynvml, str(torch.cuda.get_device_properties(place).uuid)), None
    except (pynvml.NVMLError, AttributeError, RuntimeError, AssertionError) as error:
        return None, f"The GPU is not sampled: NVML says {error}."


def nvml_gpu(nvml: Any, uuid: str) -> ReadGpu:
    """A function that reads the GPU with this UUID; NVML's indices do not respect CUDA_VISIBLE_DEVICES."""
    nvml.nvmlInit()
    errors = (nvml.NVMLError, AttributeError)
    handle = _sensor(errors, lambda: nvml.nvmlDeviceGetHandleByUUID(f"MIG-{uuid}"))()  # a slice of a GPU
    if handle is None:
        handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    reasons = "nvmlDeviceGetCurrentClocksEventReasons"
    if not hasattr(nvml, reasons):
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"  # its name before 2023
    power = _sensor(errors, lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
    clock = _sensor(errors, lambda: float(nvml.nvmlDeviceGetClockInfo(handle, CLOCK_OF_MULTIPROCESSORS)))
    heat = _sensor(errors, lambda: float(nvml.nvmlDeviceGetTemperature(handle, SENSOR_OF_GPU)))
    throttle = _sensor(errors, lambda: throttle_reasons(getattr(nvml, reasons)(handle)))

    # A slice of a GPU does not report utilization, and one that shares the CPU's memory reports no memory.
    use = _sensor(errors, lambda: float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu))
    memory = _sensor(errors, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used))

    def read() -> GpuReading:
        return GpuReading(use(), memory(), power(), clock(), heat(), throttle())

    if all(value is None for value in read()):
        nvml.nvmlDeviceGetUtilizationRates(handle)  # says why
    return read


def throttle_reasons(bits: int) -> str:
    """The names of NVML's reasons, without duplicates."""
    return ", ".join(dict.fromkeys(word for bit, word in THROTTLING.items() if bits & bit))


def _find_amd_gpu(place: torch.device | None) -> tuple[ReadGpu | None, str | None]:
    """Read an AMD GPU with AMD SMI, through torch's functions."""
    cuda: Any = torch.cuda
    errors = (Exception,)  # amdsmi has errors of its own, and may be missing
    # In watts: torch documents milliwatts, as NVML reports them, but passes on AMD SMI's number unchanged.
    power = _sensor(errors, lambda: _positive(cuda.power_draw(place)))
    clock = _sensor(errors, lambda: _positive(cuda.clock_rate(place)))
    heat = _sensor(errors, lambda: _number(cuda.temperature(place)))
    throttle = _sensor(errors, lambda: _amd_throttle_reasons(cuda, place))

    memory = _sensor(errors, lambda: int(cuda.device_memory_used(place)))  # not in every torch

    def read() -> GpuReading:
        use = cuda.utilization(place)  # if even this fails, nothing can be read
        return GpuReading(_number(use), memory(), power(), clock(), heat(), throttle())

    try:
        read()
    except Exception as error:  # noqa: BLE001  as above
        return None, f"The GPU is not sampled: AMD SMI says {error}."
    return read, None


def _find_intel_gpu(place: torch.device | None) -> tuple[ReadGpu | None, str | None]:
    """Read an Intel GPU with Level Zero, through torch's functions; utilization and power take 0.1 s each."""
    xpu: Any = torch.xpu
    errors = (Exception,)  # functions and the library below them may be missing, or need more rights
    use = _sensor(errors, lambda: float(xpu.utilization(place)))
    memory = _sensor(errors, lambda: int(xpu.device_memory_used(place)))
    power = _sensor(errors, lambda: float(xpu.power_draw(place)))
    clock = _sensor(errors, lambda: float(xpu.clock_rate(place)))
    heat = _sensor(errors, lambda: float(xpu.temperature(place)))

    def read() -> GpuReading:
        return GpuReading(use(), memory(), power(), clock(), heat())

    if all(value is None for value in read()):
        try:
            xpu.temperature(place)  # says why
        except Exception as error:  # noqa: BLE001  as above
            return None, f"The GPU is not sampled: torch.xpu says {error}."
    return read, None


def _number(value: Any) -> float | None:
    """A number of AMD SMI; None for "N/A"."""
    return float(value) if isinstance(value, (int, float)) else None


def _positive(value: Any) -> float | None:
    """A number of AMD SMI; None for zero, to which torch converts "N/A"."""
    return _number(value) or None


def _amd_throttle_reasons(cuda: Any, place: torch.device | None) -> str | None:
    """The names of AMD SMI's reasons, without duplicates; None if none is reported."""
    amdsmi: Any = importlib.import_module("amdsmi")
    status = amdsmi.amdsmi_get_violation_status(cuda._get_amdsmi_handler(place))
    known = {field: status[field] for field in AMD_THROTTLING if isinstance(status.get(field), (int, bool))}
    return (
        ", ".join(dict.fromkeys(AMD_THROTTLING[field] for field, active in known.items() if active)) if known else None
    )


def _sensor(errors: tuple[type[Exception], ...], read: Callable[[], Any]) -> Callable[[], Any]:
    """The function `read`, or one that returns None if this GPU has no such sensor."""
    try:
        read()
    except errors:
        return lambda: None
    return read
