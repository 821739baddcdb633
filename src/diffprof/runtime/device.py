"""The device that a pipeline runs on, and its peak performance: published, or measured with matrix products."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import psutil  # type: ignore[import-untyped]
import torch
from torch.torch_version import TorchVersion

from diffprof.catalogue.accelerators import match_accelerator
from diffprof.counting.environment_patches import without_autocast
from diffprof.pipelines.components import components_of
from diffprof.record.measured import Device

TIMED_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
PUBLISHED_DTYPES = {
    "float32": "float32", "bfloat16": "bfloat16", "float16": "float16", "int8": "int8",
    "float8_e4m3fn": "float8", "float8_e4m3fnuz": "float8", "float8_e5m2": "float8",
}  # fmt: skip
"""The name of the peak for the dtype of a product. 8-bit weights that are widened first are not 8-bit products."""

SMALLEST, LARGEST = 128, 2048
REPEATS = 5
BUDGET_NS = 400_000_000
"""Time limit for one dtype: a large product would take a minute on a CPU that emulates it."""


def device_of(pipeline: Any) -> Device:
    """The device that executes the pipeline's models, even if offloading keeps their weights elsewhere."""
    place = torch.device(pipeline._execution_device)
    return processor_of(pipeline) if place.type == "cpu" else accelerator_at(place)


def processor_of(pipeline: Any) -> Device:
    """The CPU of this machine, with the peak in each dtype of the pipeline's weights."""
    threads = torch.get_num_threads()
    timed = {_name(dtype): timed_peak(dtype, threads) for dtype in TIMED_DTYPES if dtype in _dtypes(pipeline)}
    return Device(
        name=processor_name(),
        kind="cpu",
        memory_bytes=psutil.virtual_memory().total,
        threads=threads,
        peak_flops_per_second={dtype: peak.flops_per_second for dtype, peak in timed.items()},
        peak_source=_timing_note(timed),
    )


def accelerator_at(place: torch.device) -> Device:
    """An accelerator, with the peaks that torch's current settings allow."""
    properties = _properties(place)
    name = getattr(properties, "name", None) or processor_name()
    memory = getattr(properties, "total_memory", None)
    known = match_accelerator(name, getattr(properties, "multi_processor_count", None), memory)
    if known is None:
        return Device(name, place.type, memory, peak_source=f"no published peak is known for {name}")
    peaks = {dtype: known.peak_flops_per_second.get(name) for dtype, name in PUBLISHED_DTYPES.items()}
    has_tf32 = "tf32" in known.peak_flops_per_second or known.architecture in TF32_ARCHITECTURES
    tf32 = has_tf32 and _tf32_in_products(place.type)
    if tf32:
        peaks["float32"] = known.peak_flops_per_second.get("tf32")
    note = _float32_note(known.peak_flops_per_second, tf32, known.architecture in TF32_ARCHITECTURES)
    if _float16_accumulation():
        peaks["float16"] = None
        note += "; float16 has none, because torch may accumulate it in float16, which is faster than what is published"
    return Device(
        name,
        place.type,
        memory,
        peak_flops_per_second={dtype: peak for dtype, peak in peaks.items() if peak is not None},
        peak_source=f"{known.source}: dense, accumulated in float32{note}",
        bytes_per_second=known.bandwidth_bytes_per_second,
    )


TF32_ARCHITECTURES = frozenset({"ampere", "ada", "hopper", "blackwell"})
"""NVIDIA architectures that use TF32 if torch allows it, even if the catalogue has no TF32 peak for them."""


def _properties(place: torch.device) -> Any:
    """torch's properties of an accelerator; None if it has none."""
    if place.type == "mps":
        name = getattr(torch.backends.mps, "get_name", processor_name)()  # not in every torch
        return SimpleNamespace(name=name, total_memory=torch.mps.recommended_max_memory())
    get_properties = getattr(getattr(torch, place.type, None), "get_device_properties", None)
    return get_properties(place) if get_properties is not None else None


def _float32_note(peaks: Mapping[str, float], tf32: bool, has_cudnn: bool) -> str:
    """A note on which of two float32 peaks an accelerator uses; empty if it has only one."""
    if tf32 and "tf32" not in peaks:
        return "; float32 has none, because torch is allowed to use TF32, whose peak is not known"
    if tf32:
        return "; float32 is that of TF32, which torch is allowed to use"
    if "tf32" not in peaks:
        return ""
    convolutions = ", though convolutions may use it" if has_cudnn and _tf32_in_convolutions() else ""
    return f"; float32 is that without TF32, which torch may not use for matrix products{convolutions}"


def _tf32_in_products(kind: str) -> bool:
    """Whether torch may use TF32 for float32 products; on Intel GPUs a setting of oneDNN decides, else that of CUDA."""
    backend: Any = torch.backends.mkldnn if kind == "xpu" else torch.backends.cuda.matmul
    products = getattr(backend, "matmul", backend)
    # Reading the older setting fails once a program has set the newer one.
    precision = getattr(products, "fp32_precision", None)
    allowed = bool(getattr(backend, "allow_tf32", False)) if precision is None else precision == "tf32"
    if allowed and torch.version.hip is not None and TorchVersion(torch.__version__) < "2.10.0":
        return os.environ.get("HIPBLASLT_ALLOW_TF32") == "1"  # without which it had no effect there
    return allowed


def _float16_accumulation() -> bool:
    return bool(getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False))


def _tf32_in_convolutions() -> bool:
    precision = getattr(getattr(torch.backends.cudnn, "conv", None), "fp32_precision", None)
    return bool(torch.backends.cudnn.allow_tf32) if precision is None else precision == "tf32"


class TimedPeak(NamedTuple):
    """The best rate of some matrix products."""

    flops_per_second: float
    products: int
    """The number of timed products."""
    size: int
    """Rows and columns of the largest product."""


@cache
def timed_peak(dtype: torch.dtype, threads: int) -> TimedPeak:
    """The best rate of matrix products in this dtype with this many threads; measured once per process."""

    def create_product(size: int) -> Callable[[], object]:
        # Ones, not random numbers, so that the program's random state stays the same.
        left, right, result = (torch.ones(size, size, dtype=dtype, device="cpu") for _ in range(3))
        return lambda: torch.mm(left, right, out=result)

    with torch.inference_mode(), without_autocast():
        return best_rate(create_product)


def best_rate(
    create_product: Callable[[int], Callable[[], object]], clock: Callable[[], int] = time.perf_counter_ns
) -> TimedPeak:
    """Time larger and larger products, as long as the next one is expected to stay within the time limit."""
    deadline = clock() + BUDGET_NS
    best, products, size = 0.0, 0, SMALLEST
    while True:
        multiply = create_product(size)
        multiply()  # warm-up
        shortest = 0
        for _ in range(REPEATS):
            began = clock()
            multiply()
            elapsed = max(clock() - began, 1)
            shortest = min(shortest or elapsed, elapsed)
            products += 1
            if clock() >= deadline:
                break
        best = max(best, 2 * size**3 * 1e9 / shortest)
        twice_as_large = 8 * shortest * (1 + REPEATS)
        if size == LARGEST or clock() + twice_as_large > deadline:
            return TimedPeak(best, products, size)
        size *= 2


def _timing_note(timed: Mapping[str, TimedPeak]) -> str:
    if not timed:
        return "nothing was timed: no weights of a dtype that this processor multiplies in"
    each = [f"{dtype} best of {peak.products} of up to {peak.size}x{peak.size}" for dtype, peak in timed.items()]
    return f"matrix products timed here: {', '.join(each)}"


def _dtypes(pipeline: Any) -> set[torch.dtype]:
    return {weight.dtype for part in components_of(pipeline).values() for weight in part.parameters()}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip().lower() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()
