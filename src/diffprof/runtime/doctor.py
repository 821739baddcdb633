"""``diffprof doctor``: are the promises about a measured run kept on this machine, with its device and its libraries?

It takes the model on board, which has weights, and layers of the shapes of SDXL with random ones.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.opening import open_live
from diffprof.record.examination import Check, Examination, Verdict
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.runtime import doctor_calls, doctor_devices
from diffprof.runtime.device import device_of
from diffprof.runtime.doctor_patient import Patient, Skipped

LIBRARIES = ("diffprof", "torch", "diffusers", "transformers", "accelerate", "triton", "bitsandbytes", "torchao")


def examine(device: str | None = None, progress: Progress | None = None) -> Examination:
    """Make every check; one that fails does not keep the others from being made."""
    patient = Patient(device)
    checks = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(ProgressEvent(Activity.measuring, name))
        try:
            checks.append(Check(name, Verdict.ok, check(patient)))
        except RequestError:
            raise  # such as a device that is not there: no check could be made
        except Skipped as reason:
            checks.append(Check(name, Verdict.skipped, str(reason)))
        except Exception as error:  # noqa: BLE001  that is what is to be found out
            checks.append(Check(name, Verdict.failed, f"{type(error).__name__}: {error}".splitlines()[0][:300]))
    return Examination(_machine(patient), tuple(checks))


CHECKS: dict[str, Callable[[Patient], str]] = {
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
    "second_device": doctor_devices.second_device,
    "untouched": doctor_devices.untouched_devices,
    "kept_peak": doctor_devices.kept_peak,
    "sampling": doctor_devices.sensor_readings,
    "snapshot": doctor_devices.allocation_snapshot,
}
"""By name, in the order in which they are made."""


def _machine(patient: Patient) -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform()}
    found |= {library: _version(library) for library in LIBRARIES}
    found["cuda"] = str(torch.version.cuda or torch.version.hip or "none")
    try:
        device = device_of(open_live(patient.pipeline()).pipeline)
    except Exception as error:  # noqa: BLE001  the checks say more about it
        found["device"] = f"{type(error).__name__}: {error}"
    else:
        found["device"] = f"{device.name} ({device.kind})"
    return found


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
