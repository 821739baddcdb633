"""The throughput of the components of a measured run: their times, with exact MACs and bytes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from diffprof.breakdown.clocks import Clock, clock_of, shows_rates
from diffprof.breakdown.component_samples import component_samples, counted_calls
from diffprof.breakdown.dtypes import macs_by_dtype, mixed_peak
from diffprof.breakdown.shares import share
from diffprof.breakdown.spreads import spread_of
from diffprof.breakdown.steps import loops_ns, median_rate, timed_steps
from diffprof.record.measured import Device, Iteration, Sample
from diffprof.record.profile import NO_WORK, Call, Profile, Work

COMPUTE, MEMORY, NEITHER = "compute", "memory", "neither"
FAR_FROM_BOTH = 0.25
"""A component below this share of both the peak and the bandwidth is limited by neither."""


@dataclass(frozen=True)
class ThroughputRow:
    """One component in one generation: times are medians over the timed iterations in which it was called.

    Counts are None if a call of the component was not counted. If iterations differ in their work, counts are those of
    the median iteration; rates and shares are always medians over iterations.
    """

    component: str
    class_name: str
    role: str
    dtype: str
    """The dtype of most of its MACs."""
    macs_by_dtype: Mapping[str, int]
    """MACs of all its calls in the profile by dtype, the largest first."""
    clock: str
    calls: int
    median_ns: float
    """Time of all its calls in one iteration."""
    mean_ns: float
    """Mean time over all timed iterations, also those in which it was not called. Together with the time outside of
    components, this column adds up to the mean time of a generation."""
    share: float
    """Share of the wall time: `mean_ns` divided by the mean time of a generation."""
    macs: int | None
    other_flops: int | None
    flops_per_second: float | None
    """Two FLOPs per MAC, without `other_flops`."""
    peak_share: float | None
    """Share of the device's peak in the dtypes of its operations; None if that is unknown."""
    bandwidth_share: float | None
    """Share of the device's memory bandwidth, from the bytes of all operations; None if that is unknown. Can exceed 1,
    because fused operations and caches move fewer bytes."""
    limited_by: str | None
    """What limits it: `COMPUTE` or `MEMORY`; `NEITHER` if it is far from both, as with many short kernels that the host
    launches one by one. None if either share is unknown."""
    moved_bytes: int | None
    """Bytes read and written by its operations."""
    flops_per_byte: float | None
    """Arithmetic intensity: FLOPs of the MACs for each byte read or written."""
    ops_per_call: float | None
    ns_per_op: float | None


@dataclass(frozen=True)
class Generation:
    """The whole call of the pipeline, over the timed iterations."""

    clock: str
    iterations: int
    median_ns: float
    mean_ns: float
    min_ns: int
    max_ns: int
    std_ns: float | None
    """Sample standard deviation; None for a single iteration."""
    macs: int | None
    flops_per_second: float | None
    outputs: int | None
    """Images or videos of one generation; None if the request does not say."""
    outputs_are: str
    """image or video."""
    outputs_per_second: float | None
    steps: int
    """Denoising steps of all loops."""
    steps_per_second: float | None
    """Steps per second in the loops, including the time between steps."""


def throughput_table(profile: Profile) -> list[ThroughputRow]:
    """One row for each component that was called, the slowest first."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    clock = clock_of(timed)
    names = dict.fromkeys(sample.component or "" for iteration in timed for sample in component_samples(iteration))
    rows = [_row(profile, name, timed, clock) for name in names]
    return sorted(rows, key=lambda row: (-row.median_ns, row.component))


def generation(profile: Profile) -> Generation | None:
    """The whole generation; None if nothing was measured."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    if not timed:
        return None
    clock = clock_of(timed)
    walls = [clock.length_ns(iteration.wall) for iteration in timed]
    spread = spread_of(walls)
    work = _work_of_iterations(profile, [component_samples(iteration) for iteration in timed])
    outputs = _outputs(profile) if timed[0].entry == "__call__" else None
    steps = timed_steps(profile)
    counts = [len(iteration) for iteration in steps]
    return Generation(
        clock=clock.name,
        iterations=spread.count,
        median_ns=spread.median_ns,
        mean_ns=spread.mean_ns,
        min_ns=spread.min_ns,
        max_ns=spread.max_ns,
        std_ns=spread.std_ns,
        macs=statistics.median_low([done.macs for done in work]) if work else None,
        # The whole call ends with a synchronization of all devices, so the host clock is right for it.
        flops_per_second=median_rate([done.flops for done in work], walls) if work else None,
        outputs=outputs,
        outputs_are="video" if profile.request.value("num_frames") else "image",
        outputs_per_second=None if outputs is None else median_rate([outputs] * len(walls), walls),
        steps=statistics.median_low(counts),
        steps_per_second=median_rate(counts, [loops_ns(iteration) for iteration in steps])
        if shows_rates(profile.measured, clock)
        else None,
    )


def _row(profile: Profile, name: str, timed: Sequence[Iteration], clock: Clock) -> ThroughputRow:
    each = [[sample for sample in component_samples(iteration) if sample.component == name] for iteration in timed]
    ran = [samples for samples in each if samples]
    each_ns = [sum(clock.length_ns(sample.span) for sample in samples) for samples in ran]
    part = profile.components.get(name)
    done = _work_of_iterations(profile, ran)
    mix = macs_by_dtype(call for call in profile.calls if call.component == name)
    rates = _NO_RATES
    # On an accelerator, the host clock measures launches, from which no rate follows.
    if done and shows_rates(profile.measured, clock):
        rates = _rates(done, each_ns, mix, _device_of(profile, ran))
    median_ns = statistics.median(each_ns)
    return ThroughputRow(
        component=name,
        class_name=part.class_name if part else "",
        role=part.role if part else "",
        dtype=part.dtype if part else "",
        macs_by_dtype=mix,
        clock=clock.name,
        calls=statistics.median_low([len(samples) for samples in ran]),
        median_ns=median_ns,
        mean_ns=sum(each_ns) / len(timed),
        share=share(sum(each_ns), sum(clock.length_ns(iteration.wall) for iteration in timed)),
        flops_per_second=rates.flops_per_second,
        peak_share=rates.peak_share,
        bandwidth_share=rates.bandwidth_share,
        limited_by=_limited_by(rates.peak_share, rates.bandwidth_share),
        **(_counted_columns(_median_work(profile, ran), median_ns) if done else dict.fromkeys(COUNTED_COLUMNS)),
    )


COUNTED_COLUMNS = ("macs", "other_flops", "moved_bytes", "flops_per_byte", "ops_per_call", "ns_per_op")


def _counted_columns(counted: _CountedWork, median_ns: float) -> dict[str, Any]:
    work = counted.work
    return {
        "macs": work.macs,
        "other_flops": work.other_flops,
        "moved_bytes": work.moved_bytes,
        "flops_per_byte": work.flops / work.moved_bytes if work.moved_bytes else None,
        "ops_per_call": counted.ops / counted.calls if counted.calls else None,
        "ns_per_op": median_ns / counted.ops if counted.ops else None,
    }


class _Rates(NamedTuple):
    """The achieved rates of a component, and its shares of the device's peak and bandwidth, if known."""

    flops_per_second: float | None = None
    peak_share: float | None = None
    bandwidth_share: float | None = None


_NO_RATES = _Rates()


def _rates(done: Sequence[Work], each_ns: Sequence[int], mix: Mapping[str, int], device: Device | None) -> _Rates:
    flops = median_rate([work.flops for work in done], each_ns)
    moved = median_rate([work.moved_bytes for work in done], each_ns)
    peak = mixed_peak(mix, device.peak_flops_per_second) if device else None
    bandwidth = device.bytes_per_second if device else None
    return _Rates(
        flops,
        flops / peak if flops is not None and peak else None,
        moved / bandwidth if moved is not None and bandwidth else None,
    )


def _device_of(profile: Profile, ran: Sequence[Sequence[Sample]]) -> Device | None:
    """The device that the component ran on."""
    if profile.measured is None:
        return None
    places = {sample.device for samples in ran for sample in samples}
    (place,) = places if len(places) == 1 else (None,)
    return profile.measured.device if place is None else profile.measured.other_devices.get(place)


def _limited_by(peak_share: float | None, bandwidth_share: float | None) -> str | None:
    if peak_share is None or bandwidth_share is None:
        return None
    if max(peak_share, bandwidth_share) < FAR_FROM_BOTH:
        return NEITHER
    return COMPUTE if peak_share >= bandwidth_share else MEMORY


@dataclass(frozen=True)
class _CountedWork:
    """The counts of a component in one iteration."""

    work: Work
    calls: int
    ops: int


def _median_work(profile: Profile, ran: Sequence[Sequence[Sample]]) -> _CountedWork:
    """The work of the median iteration."""
    counted = [_counted_work(counted_calls(profile, samples) or []) for samples in ran]
    return sorted(counted, key=lambda done: done.work.macs)[(len(counted) - 1) // 2]


def _counted_work(calls: Sequence[Call]) -> _CountedWork:
    ops = sum(operation.count for call in calls for operation in call.cost.operations)
    return _CountedWork(sum((call.work for call in calls), NO_WORK), len(calls), ops)


def _work_of_iterations(profile: Profile, ran: Sequence[Sequence[Sample]]) -> list[Work]:
    """The work of the samples in each iteration; empty if one of them was not counted."""
    calls = [counted_calls(profile, samples) for samples in ran]
    if not all(calls):
        return []
    return [sum((call.work for call in of_iteration or ()), NO_WORK) for of_iteration in calls]


def _outputs(profile: Profile) -> int | None:
    """Prompts times images per prompt; None if either is not in the request."""
    value = profile.request.value
    prompt = value("prompt")
    prompts = len(prompt) if isinstance(prompt, list | tuple) else 1 if isinstance(prompt, str) else None
    for name in ("num_images_per_prompt", "num_videos_per_prompt"):
        if isinstance(value(name), int) and prompts is not None:
            return prompts * int(value(name))
    batch = value("batch_size")
    return batch if isinstance(batch, int) and prompts is None else None
