"""Evaluate one task of a sweep: a request in, a row for each accelerator out."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.names import resolve
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.formulas.registry import registered_operations
from diffprof.counting.garbage_collection import no_garbage_collection
from diffprof.errors import DiffprofError, error_summary
from diffprof.laws.law_file import packaged_law
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.selection import profile_by_law
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.saved_profiles import load_saved, saved_file
from diffprof.sweeps.records import COUNT, LAW, PROFILE, RUN, Row, Task, TaskOutcome

if TYPE_CHECKING:
    from diffprof.prediction.device import DeviceModel
    from diffprof.prediction.device_memory import DeviceMemory
    from diffprof.prediction.memory_on_devices import MemoryOnDevices
    from diffprof.prediction.time import Job
    from diffprof.record.prediction import PredictedTime


def evaluate(task: Task) -> TaskOutcome:
    """Evaluate a task. A failure is an outcome, too, and never ends the sweep."""
    try:
        return TaskOutcome(task, tuple(_rows(task)))
    except DiffprofError as error:
        return TaskOutcome(task, error=" ".join(str(error).split()))
    except ModuleNotFoundError as error:
        return TaskOutcome(task, error=f"{error.name} is not installed where this point was computed.")
    except Exception as error:  # noqa: BLE001  a pipeline can fail in any way of its own; its point says so
        return TaskOutcome(task, error=f"this is a bug in diffprof or in the pipeline ({error_summary(error)})")


def evaluate_known(task: Task) -> TaskOutcome | None:
    """Evaluate a task that needs no dry run; None if it has to be counted or measured."""
    if not is_known(task):
        return None
    if saved_file(str(task.request.model)) is not None:
        return evaluate(task)
    try:
        # What a point makes is gone with the next one: the collector would look it over for nothing.
        with no_garbage_collection():
            resolved = resolve(task.request.model)
            profile = profile_by_law(add_recommended(task.request, resolved), resolved)
            return TaskOutcome(task, tuple(_predicted_rows(task, profile, LAW)))
    except OutsideOfLaw:
        return None
    except DiffprofError as error:
        return TaskOutcome(task, error=" ".join(str(error).split()))


def is_known(task: Task) -> bool:
    """Whether the task may need no dry run: its profile was saved, or its model has a law."""
    model = str(task.request.model)
    if task.measurement is not None or registered_operations():
        return False
    return saved_file(model) is not None or packaged_law(resolve(model).name) is not None


def _rows(task: Task) -> list[Row]:
    if task.measurement is not None:
        return [_measured_row(task)]
    return _predicted_rows(task, *_profile(task.request))


def _predicted_rows(task: Task, profile: Profile, source: str) -> list[Row]:
    """The predicted rows of all accelerators; what they have in common is computed once."""
    from diffprof.prediction.device_memory import device_memory
    from diffprof.prediction.timeline import has_allocations

    row = _row(profile, source)
    memory = _memory_of(profile) if has_allocations(profile) else None
    if not task.gpus:
        return [replace(row, **_memory_values(memory, device_memory(None)))]
    from diffprof.prediction.time import predict_time

    job = _job_of(profile)
    rows = []
    for device in _devices(task.gpus):
        time = predict_time(job, device.timed, device.basis)
        values = {**_memory_values(memory, device.memory), **_time_values(time)}
        rows.append(replace(row, gpu=device.timed.name, **values))
    return rows


class _Device(NamedTuple):
    """An accelerator with its models of time and memory."""

    timed: DeviceModel
    memory: DeviceMemory
    basis: str


_latest_devices: dict[tuple[str, ...], tuple[object, list[_Device]]] = {}
"""Those of the last task, which nearly always are those of the next; with the accelerators that were known then."""


def _devices(names: tuple[str, ...]) -> list[_Device]:
    from diffprof.prediction.device import basis_of, device_of
    from diffprof.prediction.device_memory import device_memory

    known = known_accelerators()
    if names not in _latest_devices or _latest_devices[names][0] != known:
        found = [find_accelerator(name, known) for name in names]
        devices = [
            _Device(device_of(one), device_memory(one), "measured" if one.measured else basis_of(one)) for one in found
        ]
        _latest_devices.clear()
        _latest_devices[names] = (known, devices)
    return _latest_devices[names][1]


def _profile(request: Request) -> tuple[Profile, str]:
    file = saved_file(str(request.model))
    if file is not None:
        return load_saved(file), PROFILE
    from diffprof.counting.request_profile import count_request

    profile = count_request(request)
    return profile, LAW if profile.counted_by == LAW else COUNT


_latest_memory: dict[str, MemoryOnDevices] = {}
_latest_job: dict[str, Job] = {}
"""Of the model whose point was worked out last, and of no other: its sizes and steps have much in common."""


def _memory_of(profile: Profile) -> MemoryOnDevices:
    from diffprof.prediction.memory_on_devices import MemoryOnDevices
    from diffprof.record.run_settings import RunSettings

    memory = MemoryOnDevices(profile, RunSettings(), _latest_memory.get(profile.request.model))
    _latest_memory.clear()
    _latest_memory[profile.request.model] = memory
    return memory


def _job_of(profile: Profile) -> Job:
    from diffprof.prediction.time import job_of

    job = job_of(profile, similar=_latest_job.get(profile.request.model))
    _latest_job.clear()
    _latest_job[profile.request.model] = job
    return job


def _memory_values(memory: MemoryOnDevices | None, device: DeviceMemory) -> dict[str, Any]:
    """The memory columns; empty if the profile has no allocations."""
    if memory is None:
        return {}
    from diffprof.prediction.memory_on_devices import peak_of_stages

    stages, fits = memory.on(device)
    peak = peak_of_stages(stages)
    return {
        "allocated_bytes": peak.allocated_bytes,
        "reserved_bytes": peak.reserved_bytes,
        "device_bytes": peak.device_bytes,
        "fits": fits,
    }


def _time_values(time: PredictedTime) -> dict[str, Any]:
    return {
        "seconds": time.total_seconds,
        "low_seconds": time.low_seconds,
        "high_seconds": time.high_seconds,
        "bound_seconds": time.bound_seconds,
        "limited_by": time.limited_by,
        "energy_joules": time.energy_joules,
        "basis": time.basis,
    }


def _row(profile: Profile, source: str, gpu: str | None = None) -> Row:
    """A row with counts, without memory and time."""
    request, total = profile.request, profile.total
    guidance = request.value("guidance_scale")
    return Row(
        model=request.model,
        height=_whole(request.value("height")),
        width=_whole(request.value("width")),
        frames=_whole(request.value("num_frames")),
        batch=_whole(request.value("num_images_per_prompt")),
        steps=_whole(request.value("num_inference_steps")),
        guidance=float(guidance) if isinstance(guidance, int | float) else None,
        dtype=request.dtype or _dtype(profile),
        gpu=gpu,
        macs=total.macs,
        flops=total.flops,
        other_flops=total.other_flops,
        parameters=total.parameters,
        weight_bytes=total.weight_bytes,
        executed_steps=profile.steps.count,
        step_macs=profile.steps.macs,
        allocated_bytes=None,
        reserved_bytes=None,
        device_bytes=None,
        fits=None,
        seconds=None,
        low_seconds=None,
        high_seconds=None,
        bound_seconds=None,
        limited_by=None,
        energy_joules=None,
        basis=None,
        source=source,
    )


def _dtype(profile: Profile) -> str | None:
    """The dtype of the component with the most MACs."""
    most = max(profile.components.values(), key=lambda part: part.macs, default=None)
    return most.dtype if most else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _measured_row(task: Task) -> Row:
    """Run the request; the row has measured times and memory instead of predicted ones."""
    from diffprof.runtime.model_run import ModelRun

    measurement = task.measurement
    assert measurement is not None
    run, _ = ModelRun(task.request, measurement.warmup, measurement.iterations).measure()
    profile = run.profile
    measured = profile.measured
    assert measured is not None
    times = [iteration.wall.host_ns / 1e9 for iteration in measured.timed_iterations]
    peaks = [point.peak_allocated_bytes for one in measured.timed_iterations for point in one.memory]
    allocated = max((peak for peak in peaks if peak is not None), default=None)
    reserved = [point.reserved_bytes for one in measured.timed_iterations for point in one.memory]
    return replace(
        _row(profile, RUN, measured.device.name),
        allocated_bytes=allocated,
        reserved_bytes=max((size for size in reserved if size is not None), default=None),
        seconds=statistics.median(times),
        low_seconds=min(times),
        high_seconds=max(times),
    )
