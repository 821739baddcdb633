"""One task of a sweep answered: a request in, a row for each accelerator out."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended import add_recommended
from diffprof.counting.formulas.registry import registered_operations
from diffprof.errors import DiffprofError, error_summary
from diffprof.laws.law_file import packaged_law
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.selection import profile_by_law
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.saved import load_saved, saved_file
from diffprof.sweeps.records import COUNT, LAW, PROFILE, RUN, Outcome, Row, Task

if TYPE_CHECKING:
    from diffprof.record.fitted import Fit
    from diffprof.record.predicted import PredictedTime


def evaluate(task: Task) -> Outcome:
    """The rows of the task; a failure is an outcome too, and never ends the sweep."""
    try:
        return Outcome(task, tuple(_rows(task)))
    except DiffprofError as error:
        return Outcome(task, error=" ".join(str(error).split()))
    except ModuleNotFoundError as error:
        return Outcome(task, error=f"{error.name} is not installed where this point was computed.")
    except Exception as error:  # noqa: BLE001  a pipeline can fail in any way of its own; its point says so
        return Outcome(task, error=f"this is a bug in diffprof or in the pipeline ({error_summary(error)})")


def evaluate_known(task: Task) -> Outcome | None:
    """The same for what is answered at once, in this process; None for what has to be counted or measured."""
    if not is_known(task):
        return None
    if saved_file(str(task.request.model)) is not None:
        return evaluate(task)
    try:
        profile = profile_by_law(add_recommended(task.request), resolve(task.request.model))
        return Outcome(task, tuple(_predicted_rows(task, profile, LAW)))
    except OutsideOfLaw:
        return None
    except DiffprofError as error:
        return Outcome(task, error=" ".join(str(error).split()))


def is_known(task: Task) -> bool:
    """Whether the task may be answered at once: its profile was saved, or there is a law of its model."""
    model = str(task.request.model)
    if task.measurement is not None or registered_operations():
        return False
    return saved_file(model) is not None or packaged_law(resolve(model).name) is not None


def _rows(task: Task) -> list[Row]:
    if task.measurement is not None:
        return [_measured_row(task)]
    return _predicted_rows(task, *_profile(task.request))


def _predicted_rows(task: Task, profile: Profile, source: str) -> list[Row]:
    if not task.gpus:
        return [_row(profile, source, _fit(profile, None))]
    from diffprof.advice.predict import PredictionRequest, predict_profile

    times = predict_profile(profile, PredictionRequest(task.gpus, dtype=task.request.dtype)).accelerators
    return [_row(profile, source, _fit(profile, gpu), gpu, time) for gpu, time in times.items()]


def _profile(request: Request) -> tuple[Profile, str]:
    file = saved_file(str(request.model))
    if file is not None:
        return load_saved(file), PROFILE
    from diffprof.counting.cached import count_request

    profile = count_request(request)
    return profile, LAW if profile.counted_by == LAW else COUNT


def _fit(profile: Profile, gpu: str | None) -> Fit | None:
    """What memory it takes; None where the profile does not say what comes and goes."""
    from diffprof.advice.fit import FitRequest, fit_profile
    from diffprof.prediction.timeline import has_allocations

    if not has_allocations(profile):
        return None
    return fit_profile(profile, FitRequest(gpu, with_changes=False))


def _row(
    profile: Profile, source: str, fit: Fit | None, gpu: str | None = None, time: PredictedTime | None = None
) -> Row:
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
        allocated_bytes=fit.peak.allocated_bytes if fit else None,
        reserved_bytes=fit.peak.reserved_bytes if fit else None,
        device_bytes=fit.peak.device_bytes if fit else None,
        fits=fit.fits if fit else None,
        seconds=time.total_seconds if time else None,
        low_seconds=time.low_seconds if time else None,
        high_seconds=time.high_seconds if time else None,
        bound_seconds=time.bound_seconds if time else None,
        limited_by=time.limited_by if time else None,
        energy_joules=time.energy_joules if time else None,
        basis=time.basis if time else None,
        source=source,
    )


def _dtype(profile: Profile) -> str | None:
    """Of the part that computes most."""
    most = max(profile.components.values(), key=lambda part: part.macs, default=None)
    return most.dtype if most else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _measured_row(task: Task) -> Row:
    """The request run for real: its times and its memory instead of predicted ones."""
    from diffprof.runtime.model_run import ModelRun

    measurement = task.measurement
    assert measurement is not None
    run, _ = ModelRun(task.request, measurement.warmup, measurement.iterations).measure()
    profile = run.profile
    measured = profile.measured
    assert measured is not None
    times = [iteration.wall.host_ns / 1e9 for iteration in measured.timed]
    peaks = [point.peak_allocated_bytes for one in measured.timed for point in one.memory]
    allocated = max((peak for peak in peaks if peak is not None), default=None)
    reserved = [point.reserved_bytes for one in measured.timed for point in one.memory]
    return replace(
        _row(profile, RUN, None, measured.device.name),
        allocated_bytes=allocated,
        reserved_bytes=max((size for size in reserved if size is not None), default=None),
        seconds=statistics.median(times),
        low_seconds=min(times),
        high_seconds=max(times),
    )
