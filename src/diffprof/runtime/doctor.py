"""``diffprof doctor``: check on this machine, with its device and libraries, that measured runs can be trusted.

Runs the bundled model, and SDXL-shaped layers with random weights.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.opening import open_live
from diffprof.record.examination import Check, Examination, Verdict
from diffprof.record.measured import Device
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.runtime import doctor_calls, doctor_devices
from diffprof.runtime.device import device_of
from diffprof.runtime.doctor_model import DoctorModel, Skipped

LIBRARIES = ("diffprof", "torch", "diffusers", "transformers", "accelerate")
OPTIONAL_LIBRARIES = (
    "amdsmi", "bitsandbytes", "cache-dit", "flash-attn", "gguf", "kernels", "nunchaku", "nvidia-ml-py",
    "optimum-quanto", "peft", "sageattention", "torchao", "transformer-engine", "triton", "xformers",
)  # fmt: skip
"""Listed if they are installed."""
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
"""Environment variables that affect devices and memory; listed if they are set."""


def examine(device: str | None = None, progress: Progress | None = None) -> Examination:
    """Run every check; a check that fails does not stop the others."""
    model = DoctorModel(device)
    checks = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(ProgressEvent(Activity.measuring, name))
        try:
            checks.append(Check(name, Verdict.ok, check(model)))
        except RequestError:
            raise  # for example a device that does not exist: no check is possible
        except Skipped as reason:
            checks.append(Check(name, Verdict.skipped, str(reason)))
        except Exception as error:  # noqa: BLE001  any failure is a result of the check
            checks.append(Check(name, Verdict.failed, f"{type(error).__name__}: {error}".splitlines()[0][:300]))
    return Examination(_machine(model), tuple(checks))


CHECKS: dict[str, Callable[[DoctorModel], str]] = {
    "equal_images": doctor_calls.equal_images,
    "counts": doctor_calls.counts,
    "compiled": doctor_calls.compiled_code,
    "cuda_graphs": doctor_calls.cuda_graphs,
    "foreign_cache": doctor_calls.foreign_cache,
    "offloaded": doctor_calls.offload_modes,
    "autocast": doctor_calls.autocast,
    "generator": doctor_calls.generator_of_device,
    "random_state": doctor_calls.random_state,
    "freed": doctor_calls.freed_memory,
    "device_times": doctor_devices.device_times,
    "rows": doctor_devices.device_rows,
    "layers": doctor_devices.layer_rates,
    "untouched": doctor_devices.untouched_devices,  # before any check that uses a second device
    "second_device": doctor_devices.second_device,
    "kept_peak": doctor_devices.kept_peak,
    "sampling": doctor_devices.sensor_readings,
    "snapshot": doctor_devices.allocation_snapshot,
}
"""The checks by name, in the order in which they run."""


def _machine(model: DoctorModel) -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform()}
    installed = {library: _version(library) for library in (*LIBRARIES, *OPTIONAL_LIBRARIES)}
    found |= {name: version or "not installed" for name, version in installed.items() if version or name in LIBRARIES}
    found["cuda"] = torch.version.cuda or "none"
    found |= {"rocm": torch.version.hip} if torch.version.hip else {}
    found |= {name: os.environ[name] for name in VARIABLES if name in os.environ}
    try:
        pipeline = open_live(model.pipeline()).pipeline
        device = device_of(pipeline)
        found["device"] = f"{device.name} ({device.kind})"
        if device.kind != "cpu":
            found |= _accelerator(torch.device(pipeline._execution_device), device)
    except Exception as error:  # noqa: BLE001  the checks report more about it
        found["device"] = f"{type(error).__name__}: {error}"
    return found


def _accelerator(place: torch.device, device: Device) -> dict[str, str]:
    """The memory, the peaks and the number of accelerators."""
    backend: Any = getattr(torch, place.type)
    found = {"devices": str(backend.device_count())}
    if device.memory_bytes is not None:
        found["memory"] = f"{device.memory_bytes:,} bytes"
    if place.type == "cuda":
        found["capability"] = ".".join(map(str, torch.cuda.get_device_capability(place)))
        found["cudnn"] = str(torch.backends.cudnn.version())
    found["peaks"] = ", ".join(f"{name} {rate / 1e12:.1f}" for name, rate in device.peak_flops_per_second.items())
    found["peaks"] = f"{found['peaks']} TFLOP/s" if found["peaks"] else "not known"
    return found


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
