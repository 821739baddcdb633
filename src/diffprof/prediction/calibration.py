"""Calibrate predictions with a measured run: by how much its components were slower or faster than predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from diffprof.catalogue.accelerators import Accelerator, match_accelerator
from diffprof.errors import RequestError
from diffprof.prediction.device import DeviceModel, device_of
from diffprof.prediction.time import job_of, predict_time
from diffprof.record.measured import Device as MeasuredDevice
from diffprof.record.measured import Iteration
from diffprof.record.profile import Profile

SMALLEST_SHARE = 0.02
"""Components with a smaller share of a run are too short to calibrate with."""


@dataclass(frozen=True)
class Calibration:
    """A machine, and the ratios of its measured to its predicted times."""

    accelerator: Accelerator
    device: DeviceModel
    factors: Mapping[str, float]
    """The ratio by component; ``""`` for all others."""
    model: str


def calibrate_on(profile: Profile, known: Sequence[Accelerator]) -> Calibration:
    """Calibrate with a measured profile."""
    measured = profile.measured
    if measured is None or not measured.timed_iterations:
        raise RequestError(
            f"The profile of {profile.request.model} was counted, not measured, so it says nothing about a machine; "
            "use one that `diffprof run` wrote."
        )
    accelerator = accelerator_of(measured.device, known)
    device = device_of(accelerator)
    predicted = predict_time(job_of(profile), device)
    seconds = component_seconds(profile, measured.timed_iterations)
    total = sum(seconds.values())
    factors = {
        slot: seconds[slot] / part.total_seconds
        for slot, part in predicted.components.items()
        if seconds.get(slot, 0.0) > SMALLEST_SHARE * total and part.total_seconds
    }
    if not factors:
        raise RequestError(f"The run of {profile.request.model} has no component calls that could be compared.")
    weights = {slot: seconds[slot] for slot in factors}
    mean = sum(math.log(factors[slot]) * weights[slot] for slot in factors) / sum(weights.values())
    return Calibration(accelerator, device, {**factors, "": math.exp(mean)}, profile.request.model)


def accelerator_of(device: MeasuredDevice, known: Sequence[Accelerator]) -> Accelerator:
    """The accelerator of a measured run: a known one, or one created from the data of the run."""
    found = match_accelerator(device.name, memory_bytes=device.memory_bytes)
    own = [entry for entry in known if device.name in entry.reported_names]
    if found or own:
        return own[0] if own else found  # type: ignore[return-value]
    peaks = {dtype: peak for dtype, peak in device.peak_flops_per_second.items() if peak}
    if not peaks:
        raise RequestError(
            f"{device.name} is not known and the run has no peak of it; measure it with `diffprof hardware calibrate`."
        )
    return processor(device.name, peaks, device.memory_bytes or 0)


PROCESSOR_BANDWIDTH = 15e9


def processor(name: str, peaks: Mapping[str, float], memory_bytes: int) -> Accelerator:
    """A CPU as an accelerator, if only the speed of its products is known."""
    return Accelerator(
        name="this-machine",
        reported_names=(name,),
        maker="",
        architecture="cpu",
        memory_bytes=memory_bytes,
        bandwidth_bytes_per_second=PROCESSOR_BANDWIDTH,
        peak_flops_per_second={"float32": max(peaks.values()), **peaks},
        source="timed in the run",
    )


def component_seconds(profile: Profile, iterations: Sequence[Iteration]) -> dict[str, float]:
    """The median seconds of each component in one iteration."""
    collected: dict[str, list[float]] = {}
    for iteration in iterations:
        sums: dict[str, float] = {}
        for sample in iteration.samples:
            if sample.component is not None and sample.call is not None:
                taken = sample.span.device_ns if sample.span.device_ns is not None else sample.span.host_ns
                sums[sample.component] = sums.get(sample.component, 0.0) + taken / 1e9
        for slot, seconds in sums.items():
            collected.setdefault(slot, []).append(seconds)
    return {slot: median(values) for slot, values in collected.items()}
