"""Predict the time of a generation on an accelerator, by component, step and kind of operation, with an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from diffprof.errors import RequestError
from diffprof.prediction.bounds import bound_seconds
from diffprof.prediction.call_times import PIPELINE, CallTimes, call_times
from diffprof.prediction.device import DeviceModel
from diffprof.prediction.exchange import exchange_seconds, share_sequence
from diffprof.prediction.kernel_times import KernelTimes, fixed_seconds, kernel_times
from diffprof.prediction.load_table import Floats, LoadTable, load_table
from diffprof.prediction.resolving import resolve_settings
from diffprof.prediction.transfers import overlaps, transfer_seconds
from diffprof.prediction.variants import leave_out, quantize, skip_calls
from diffprof.prediction.weights import component_weights
from diffprof.prediction.workload import Workload, workload_of
from diffprof.record.prediction import (
    BANDWIDTH,
    COMPUTE,
    HOST,
    LAUNCHES,
    LIMITS,
    TRANSFERS,
    PredictedComponent,
    PredictedTime,
)
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

WAITING, TRANSFER = "waiting for the host", "transfers"
QUANTILE = 1.645
"""The number of standard deviations that cover nine of ten values."""

TRANSFER_SPREAD = 0.4
UNKNOWN_FAMILY_SPREAD = 0.3
BASIS_SPREAD = {"measured": 0.7, "device": 1.0, "family": 1.3}
"""The spread relative to that of devices whose times were fitted."""

IDLE_POWER, BUSY_POWER = 0.25, 0.6
"""Shares of the board's power: always, and in addition while kernels run; consistent with published measurements."""


@dataclass(frozen=True)
class _LoadTimes:
    """Seconds of one execution of each load on a device."""

    kernels: KernelTimes
    fixed: Floats
    """The fixed part of the kernels' time."""
    bound: Floats


class _KnownTimes:
    """A cache of the times of loads on the last device, which do not depend on where the weights are."""

    def __init__(self) -> None:
        self._device: DeviceModel | None = None
        self._found: dict[tuple[bool, bool], _LoadTimes] = {}

    def of(self, table: LoadTable, device: DeviceModel, compiled: bool, fused_attention: bool) -> _LoadTimes:
        if self._device is not device:
            self._device, self._found = device, {}
        key = (compiled, fused_attention)
        if key not in self._found:
            kernels = kernel_times(table, device, compiled, fused_attention)
            fixed = np.minimum(fixed_seconds(table, device), kernels.seconds)
            self._found[key] = _LoadTimes(kernels, fixed, bound_seconds(table, device, compiled))
        return self._found[key]


@dataclass(frozen=True)
class Job:
    """A workload that is ready to be timed on any number of devices."""

    workload: Workload
    table: LoadTable
    settings: RunSettings
    weights: Mapping[str, int] = field(default_factory=dict)
    """Weight bytes of each component."""
    denoisers: frozenset[str] = frozenset()
    counted: Workload | None = None
    """The workload of the profile, before the settings are applied."""
    known: _KnownTimes = field(default_factory=_KnownTimes, repr=False, compare=False)

    def skip_calls(self, rate: float) -> Job:
        """The job with this share of the denoiser's calls left out."""
        return replace(self, workload=skip_calls(self.workload, self.denoisers, rate)) if rate else self


def job_of(profile: Profile, settings: RunSettings | None = None, similar: Job | None = None) -> Job:
    """Create the job of a profile with these settings.

    `similar` is the job of another generation, such as one with other steps, with which results are shared.
    """
    settings = settings or RunSettings()
    for call, _ in profile.costs():
        if call.work.macs and not call.cost.operations:
            raise RequestError(
                f"The profile of {profile.request.model} does not list the operations of {call.component}, "
                "which a time depends on; count it again."
            )
    settings = resolve_settings(profile, settings)
    counted = workload_of(profile, similar.counted if similar is not None else None)
    workload = quantize(leave_out(counted, settings.without), settings.quantize, settings.layerwise)
    workload = share_sequence(workload, _denoisers(profile), settings.devices)
    weights = {slot: component_weights(part, settings).total_bytes for slot, part in profile.components.items()}
    has_same = similar is not None and _has_same_loads(workload, similar.workload)
    table, known = (similar.table, similar.known) if similar and has_same else (load_table(workload), _KnownTimes())
    job = Job(workload, table, settings, weights, _denoisers(profile), counted, known)
    return job.skip_calls(settings.skip_rate)


def _has_same_loads(one: Workload, other: Workload) -> bool:
    pairs = zip(one.calls, other.calls, strict=False)
    return len(one.calls) == len(other.calls) and all(mine.loads is its.loads for mine, its in pairs)


def _denoisers(profile: Profile) -> frozenset[str]:
    return frozenset(slot for stage in profile.steps.stages for slot in stage.denoisers)


def predict_time(
    job: Job,
    device: DeviceModel,
    basis: str = "family",
    factors: Mapping[str, float] | None = None,
    usd_per_hour: float | None = None,
    fits: bool | None = None,
) -> PredictedTime:
    """Predict the time of a job on a device; `factors` correct components by earlier measurements."""
    settings = job.settings
    is_fused = settings.attention != "math"
    loads = job.known.of(job.table, device, settings.compiled, is_fused)
    times = call_times(job.workload, job.table, device, settings.compiled, is_fused, kernels=loads.kernels)
    parts = _Parts(job, loads, times, _waits(job, device, times), dict(factors or {}))
    components = parts.components()
    total = sum(part.total_seconds for part in components.values())
    bound = sum(part.bound_seconds for part in components.values())
    spread = _spread(parts, device, basis, total)
    busy = float(np.sum(times.device * parts.times))
    power = (device.board_power_watts or 0.0) * settings.devices
    usd_per_second = None if usd_per_hour is None else usd_per_hour / 3600 * settings.devices
    return PredictedTime(
        total_seconds=total,
        low_seconds=max(bound, total * math.exp(-QUANTILE * spread)),
        high_seconds=total * math.exp(QUANTILE * spread),
        bound_seconds=bound,
        step_seconds=parts.step_seconds(),
        components=components,
        limited_by=_largest(parts.limits(range(len(job.workload.calls)))),
        energy_joules=power * (IDLE_POWER * total + BUSY_POWER * min(busy, total)) if power else None,
        price_usd=None if usd_per_second is None else usd_per_second * total,
        fits=fits,
        kinds=_sum_tables(part.kinds for part in components.values()),
        basis=basis,
    )


def _waits(job: Job, device: DeviceModel, times: CallTimes) -> Floats:
    """The time that each call waits for transferred weights and for other devices."""
    settings = job.settings
    way = (settings.offload, settings.use_stream)
    moved = np.array(transfer_seconds(job.workload, job.weights, device, *way))
    exchanges = [
        exchange_seconds(call, settings.devices, device) if call.component in job.denoisers else 0.0
        for call in job.workload.calls
    ]
    hidden = times.total if overlaps(*way) else 0.0
    waits: Floats = np.maximum(0.0, moved - hidden) + np.array(exchanges)
    return waits


class _Parts:
    """The times of all calls by component, by kind of operation, and by what limits them."""

    def __init__(
        self,
        job: Job,
        loads: _LoadTimes,
        times: CallTimes,
        waits: Floats,
        factors: Mapping[str, float],
    ) -> None:
        self.job, self.loads, self.calls = job, loads, times
        self.times = np.array([call.times for call in job.workload.calls], dtype=float)
        factor = np.array([factors.get(call.component, factors.get("", 1.0)) for call in job.workload.calls])
        bounds = np.bincount(job.table.call, weights=loads.bound * job.table.count, minlength=len(self.times))
        # A correction by measurements must not make a call faster than the device can be.
        self.computing = np.maximum(times.total * factor, bounds)
        self.waits = waits
        self.bounds = bounds * self.times
        self.total = (self.computing + waits) * self.times
        self.by_kind = _by_call_and_kind(job.table, times.kernels.seconds * job.table.count, len(self.times))
        self.by_limit = self._seconds_by_limit()

    def components(self) -> dict[str, PredictedComponent]:
        found: dict[str, PredictedComponent] = {}
        for slot in dict.fromkeys(call.component for call in self.job.workload.calls):
            own = [number for number, call in enumerate(self.job.workload.calls) if call.component == slot]
            found[slot] = PredictedComponent(
                total_seconds=float(sum(self.total[own])),
                bound_seconds=float(sum(self.bounds[own])),
                calls=round(float(sum(self.times[own]))),
                limited_by=_largest(self.limits(own)),
                kinds=_sum_tables(self._kinds(number) for number in own),
            )
        return found

    def _kinds(self, number: int) -> dict[str, float]:
        """Seconds of all calls of one kind, by kind of operation."""
        # The time of the calls is divided between kernels and waiting.
        whole = max(float(self.calls.device[number]), float(self.calls.total[number])) or 1.0
        shown = float(self.computing[number]) * float(self.times[number])
        names = self.job.table.kinds
        kinds = {
            name: float(seconds) / whole * shown for name, seconds in zip(names, self.by_kind[number], strict=True)
        }
        kinds[WAITING] = shown - sum(kinds.values())
        kinds[TRANSFER] = float(self.waits[number] * self.times[number])
        return {kind: seconds for kind, seconds in kinds.items() if seconds > 1e-12}

    def limits(self, calls: Sequence[int]) -> dict[str, float]:
        """Seconds of these kinds of calls, by what limits them."""
        return {name: sum([seconds[number] for number in calls], 0.0) for name, seconds in self.by_limit.items()}

    def _seconds_by_limit(self) -> dict[str, list[float]]:
        table, kernels, fixed = self.job.table, self.loads.kernels, self.loads.fixed
        rest = (kernels.seconds - fixed) * table.count
        is_compute = kernels.compute >= kernels.memory

        def of_calls(seconds: Floats) -> Floats:
            return np.bincount(table.call, weights=seconds, minlength=len(self.times)) * self.times

        found = {
            COMPUTE: of_calls(np.where(is_compute, rest, 0.0)),
            BANDWIDTH: of_calls(np.where(is_compute, 0.0, rest)),
            LAUNCHES: of_calls(fixed * table.count),
            HOST: np.maximum(0.0, self.calls.total - self.calls.device) * self.times,
            TRANSFERS: self.waits * self.times,
        }
        return {name: found[name].tolist() for name in LIMITS}

    def step_seconds(self) -> float:
        steps = self.job.workload.steps
        if not steps:
            return 0.0
        inside = [call.in_loop or call.component == PIPELINE for call in self.job.workload.calls]
        return float(np.sum(self.total[inside])) / steps


def _by_call_and_kind(table: LoadTable, seconds: Floats, calls: int) -> Floats:
    """Seconds of each kind of call, a row, by kind of operation, a column."""
    number = len(table.kinds)
    added = np.bincount(table.call * number + table.kind, weights=seconds, minlength=calls * number)
    return added.reshape(calls, number).astype(float)


def _largest(limits: Mapping[str, float]) -> str:
    return max(LIMITS, key=lambda name: limits[name])


def _sum_tables(tables: Iterable[Mapping[str, float]]) -> dict[str, float]:
    added: dict[str, float] = {}
    for table in tables:
        for name, seconds in table.items():
            added[name] = added.get(name, 0.0) + seconds
    return dict(sorted(added.items(), key=lambda item: -item[1]))


def _spread(parts: _Parts, device: DeviceModel, basis: str, total: float) -> float:
    """The standard deviation of the logarithm; errors of device, host and transfers are independent."""
    if not total:
        return 0.0
    efficiency = device.efficiency
    limits = parts.limits(range(len(parts.times)))
    own = efficiency.spread * BASIS_SPREAD[basis] if basis in BASIS_SPREAD else UNKNOWN_FAMILY_SPREAD
    shares: Sequence[tuple[float, float]] = (
        (own, total - limits[HOST] - limits[TRANSFERS]),
        (efficiency.host_spread, limits[HOST] + limits[LAUNCHES]),
        (TRANSFER_SPREAD, limits[TRANSFERS]),
    )
    return math.sqrt(sum((spread * seconds / total) ** 2 for spread, seconds in shares))
