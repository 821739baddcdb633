"""Sentences about a measured run: device, time, throughput, and limitations of the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from diffprof.breakdown.clocks import Clock, clock_of
from diffprof.breakdown.memory_peaks import memory_table
from diffprof.breakdown.power import PowerUse, power_use
from diffprof.breakdown.sections import section_table, warm_ups
from diffprof.breakdown.steps import LoopRow, loop_table, step_table
from diffprof.breakdown.throughput import Generation, generation
from diffprof.errors import RequestError
from diffprof.record.measured import CountMismatch, Device, Iteration, Limitation, Measured
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.headline import composition
from diffprof.render.numbers import nanoseconds

Labelled = tuple[str, str]
SPARKLINE_WIDTH = 60


def require_measured(profile: Profile) -> Measured:
    """The measured part of the profile; a `RequestError` if there is none."""
    if profile.measured is None:
        raise RequestError("This profile was counted, not measured; measure a run with `diffprof run`.")
    return profile.measured


def device_line(profile: Profile, device: Device) -> str:
    """``StableDiffusionPipeline, a live pipeline, on NVIDIA A100-SXM4-80GB (cuda)``"""
    threads = f", {numbers.times(device.threads, 'thread')}" if device.threads else ""
    return f"{composition(profile)}, on {device.name} ({device.kind}{threads})"


def speed_lines(profile: Profile, measured: Measured) -> list[Labelled]:
    """The time of one generation, and the throughput."""
    whole = generation(profile)
    if whole is None:
        return [("Wall", "nothing was measured.")]
    stopped = measured.timed_iterations[0].error is not None  # no call finished, so there is no throughput
    lines = [("Wall", _wall(whole, measured, stopped)), ("Rate", "" if stopped else _rates(whole))]
    if measured.load_seconds is not None:
        lines.append(("Load", f"{numbers.seconds(measured.load_seconds)} to load the pipeline"))
    lines += [("Excluded", text) for text in _excluded_iterations(measured)]
    return [line for line in lines if line[1]]


def step_lines(profile: Profile, ascii_only: bool, with_bars: bool = True) -> list[Labelled]:
    """One sentence for each denoising loop, and its steps as a sparkline."""
    lines = []
    for loop in loop_table(profile):
        rows = [row for row in step_table(profile) if row.scheduler == loop.scheduler]
        bars = numbers.sparkline([row.median_ns for row in rows], SPARKLINE_WIDTH, ascii_only)
        more = [*_first_and_between(loop), *([bars] if with_bars and len(rows) > 1 else [])]
        lines += [("Steps", _loop(loop)), *(("", line) for line in more)]
    return lines


def note_lines(profile: Profile, measured: Measured, with_devices: bool = True) -> list[Labelled]:
    """What the numbers are based on, and what is unknown. `with_devices` adds memory and power of each device."""
    lines = [("Prepared", text) for text in _preparation(measured)]
    lines += [("Memory", text) for text in _stages(profile)]
    lines += [("Memory", text) for text in (_other_devices(measured) if with_devices else ())]
    lines += [("System", text) for text in _system(measured)]
    lines += [("Power", text) for text in (_power(power_use(profile)) if with_devices else ())]
    lines += [("Device", text) for text in _peak(measured.device)]
    lines += [("Failed", text) for text in _failures(measured)]
    lines += [("Note", text) for text in measurement_notes(measured)]
    return lines


def measurement_notes(measured: Measured) -> list[str]:
    """What could not be measured, and where the run differs from the count."""
    return [
        *measured.notes,
        *map(describe_limitation, measured.limitations),
        *map(_describe_mismatch, measured.mismatches),
    ]


_LIMITATIONS = {
    "no_samples": "{detail}",
    "not_evaluated": "a call could not be evaluated ({detail})",
    "not_counted": "what ran was not counted: {detail}",
    "count_interrupted": "what ran was not counted: the count was interrupted",
    "component_alone": "{detail} was called by itself, not by the pipeline, and was not counted",
    "no_trace": "there is no trace: {detail}",
    "trace_problem": "{detail}",
    "short_trace": "the trace is of one more call with {done} steps instead of {requested}",
    "late_call": "a call ended after the measurement had, and is not part of it",
    "no_device": "the device could not be read: {detail}",
    "no_device_memory": "the memory of the device could not be read: {detail}",
    "more_warmups": "{done} warm-up calls were made instead of {requested}: until then CUDA graphs are captured",
    "launch_times": "the device could not be timed by its own clock, because it came into use during the call, the "
    "pipeline itself is on the CPU, or torch has no clock of it: its sections have the times of the host",
    "time_budget": "only {done} iterations fit into the time budget: a comparison needs {requested} or more "
    "(--iterations, or a larger --time-budget)",
    "incomplete": "the run was incomplete: {done} of {requested} calls were completed",
}


def describe_limitation(limitation: Limitation) -> str:
    """The sentence for something that was not measured or counted."""
    return _LIMITATIONS[limitation.kind].format_map(vars(limitation))


def _describe_mismatch(mismatch: CountMismatch) -> str:
    if mismatch.section is None:
        return f"{', '.join(mismatch.uncounted)} ran and was not counted"
    return (
        f"the run and the count differ from {mismatch.section} number {mismatch.matched_calls} on, so only "
        "earlier calls are shown with their MACs: what the pipeline does depends on values"
    )


def _wall(whole: Generation, measured: Measured, stopped: bool) -> str:
    clock = "device time" if whole.clock == "device" else "host time"
    entry = measured.timed_iterations[0].entry
    took = f"{nanoseconds(whole.median_ns)} for one {'generation' if entry == '__call__' else f'call of {entry}'}"
    if stopped:
        return f"{nanoseconds(whole.median_ns)} until it stopped ({clock}): no call finished"
    if whole.iterations == 1:
        return f"{took} ({clock}; a single iteration has no spread)"
    spread = f"mean {nanoseconds(whole.mean_ns)}, {nanoseconds(whole.min_ns)} to {nanoseconds(whole.max_ns)}"
    # Relative to the mean, as in the finding about unstable timings.
    deviation = f", std {numbers.percent_of((whole.std_ns or 0) / whole.mean_ns)}" if whole.mean_ns else ""
    sample = f"{numbers.exact(whole.iterations)} {'iterations' if measured.repeated else 'equal calls'}"
    return f"{took}: median of {sample} ({spread}{deviation}; {clock})"


def _rates(whole: Generation) -> str:
    parts = []
    if whole.outputs_per_second is not None:
        each = f"{whole.outputs_are}s"
        parts.append(f"{numbers.per(whole.outputs_per_second, each)} = {_per_minute(whole.outputs_per_second, each)}")
    if whole.steps_per_second is not None:
        parts.append(f"{numbers.per(whole.steps_per_second, 'it')} in the denoising loop")
    if whole.flops_per_second is not None:
        parts.append(f"{numbers.flops_per_second(whole.flops_per_second)} end to end")
    return ", ".join(parts)


def _per_minute(rate: float, each: str) -> str:
    return numbers.per(60 * rate, each, "min")


def _excluded_iterations(measured: Measured) -> Iterator[str]:
    """Calls that were measured but are not in the tables: warm-ups, traced calls, calls outside the pipeline's."""
    timed = {id(one) for one in measured.timed_iterations}
    others = [one for one in measured.iterations if id(one) not in timed]
    for name, found in (("warm-up", warm_ups(measured)), ("traced call", [one for one in others if one.traced])):
        if found:
            times = ", ".join(nanoseconds(clock_of([one]).length_ns(one.wall)) for one in found)
            yield f"{numbers.times(len(found), name)} of {times}{_tracing_cost(measured, found)}"
    for entry in dict.fromkeys(one.entry for one in others if one.entry != "__call__"):
        yield _separate_calls_line(entry, [one for one in others if one.entry == entry])


def _tracing_cost(measured: Measured, found: Sequence[Iteration]) -> str:
    """The overhead of tracing: the time of a traced step, compared to an untraced one."""
    clock = clock_of((*measured.timed_iterations, *found))
    untraced, traced = (_step_ns(iterations, clock) for iterations in (measured.timed_iterations, found))
    if not found[0].traced or untraced is None or traced is None:
        return ""
    return f", {nanoseconds(traced)} per step (untraced {nanoseconds(untraced)})"


def _step_ns(iterations: Sequence[Iteration], clock: Clock) -> int | None:
    """The median length of all denoising steps."""
    lengths = [clock.length_ns(step.span) for one in iterations for step in one.steps]
    return round(median(lengths)) if lengths else None


def _separate_calls_line(entry: str, calls: Sequence[Iteration]) -> str:
    total = sum(clock_of([one]).length_ns(one.wall) for one in calls)
    return f"{entry} outside the pipeline's call, {numbers.times(len(calls), 'time')}: {nanoseconds(total)}"


def _loop(loop: LoopRow) -> str:
    text = f"{numbers.times(loop.steps, 'denoising step')} with {loop.scheduler}: {nanoseconds(loop.median_ns)} each"
    if loop.min_ns != loop.max_ns:
        text += f" ({nanoseconds(loop.min_ns)} to {nanoseconds(loop.max_ns)})"
    if loop.steps_per_second is not None:
        text += f", {numbers.per(loop.steps_per_second, 'it')}"
    return text


def _first_and_between(loop: LoopRow) -> list[str]:
    """How the first step compares with the others, and the time between steps; nothing for a single step."""
    if not loop.later_ns:
        return []
    first = f"the first takes {numbers.factor(loop.first_ns / loop.later_ns)} as long as the others, "
    return [f"{first if loop.first_ns != loop.later_ns else ''}{nanoseconds(loop.between_ns)} between steps in total"]


def _stages(profile: Profile) -> Iterator[str]:
    rows = [row for row in memory_table(profile) if row.is_stage]
    on_device = [row for row in rows if row.device_peak_bytes is not None]
    if on_device:
        peaks = [f"{row.part} {numbers.gigabytes(row.device_peak_bytes or 0)}" for row in on_device]
        yield f"peak device memory: {', '.join(peaks)}"
    if rows:
        sizes = [numbers.gigabytes(row.rss_peak_bytes) for row in rows]
        peaks = [f"{row.part} {size}" for row, size in zip(rows, sizes, strict=True)]
        peak = f"{sizes[0]} throughout" if len(set(sizes)) == 1 < len(sizes) else ", ".join(peaks)
        yield f"highest resident memory (RSS): {peak}"


def _system(measured: Measured) -> Iterator[str]:
    points = measured.system
    if not points:
        return
    busy = [point.cpu_percent / 100 for point in points]
    parts = [
        f"{numbers.significant(sum(busy) / len(busy))} cores busy on average, {numbers.significant(max(busy))} at peak"
    ]
    for what, rates in (
        ("read from disk", [point.read_bytes_per_second for point in points]),
        ("written to disk", [point.written_bytes_per_second for point in points]),
    ):
        known = [rate for rate in rates if rate is not None]
        if known:
            parts.append(f"{what} at up to {numbers.gigabytes(round(max(known)))}/s")
    gpu = [point.gpu_percent / 100 for point in points if point.gpu_percent is not None]
    if gpu:
        parts.append(f"GPU {numbers.percent(sum(gpu) / len(gpu))} busy on average")
    yield f"{', '.join(parts)} ({numbers.times(len(points), 'sample')})"


def _peak(device: Device) -> Iterator[str]:
    peaks = [f"{numbers.flops_per_second(peak)} in {dtype}" for dtype, peak in device.peak_flops_per_second.items()]
    if peaks:
        yield f"peak {', '.join(peaks)} ({device.peak_source or 'source unknown'})"


def _failures(measured: Measured) -> Iterator[str]:
    for number, iteration in enumerate(measured.iterations):
        if iteration.error is not None:
            progress = f"after {nanoseconds(iteration.wall.host_ns)} and {numbers.times(len(iteration.steps), 'step')}"
            yield f"iteration {number + 1} stopped {progress}: {iteration.error}"
    for row in section_table(measured.timed_iterations)[:-1]:
        if row.failures:
            failed = f"{numbers.exact(row.failures)} of {numbers.exact(row.times.count)}"
            yield f"{row.section}: {failed} calls raised an exception"


PREPARATIONS: dict[str, str | dict[str, str]] = {
    "compile": {"whole": "denoisers compiled", "regional": "repeated blocks of the denoisers compiled"},
    "offload": "{} offload",
    "device_map": "components on several devices ({})",
    "parallel": "split across ranks ({})",
    "revision": "revision {}",
    "variant": "weights of the variant {}",
}


def _preparation(measured: Measured) -> list[str]:
    """How the pipeline was prepared; with several ranks, which of them the results are for."""
    parts = []
    for name, value in measured.preparation.items():
        text = PREPARATIONS.get(name, f"{name} {{}}")
        parts.append(text.get(value, value) if isinstance(text, dict) else text.format(value))
    ranks = {row.rank for row in measured.ranks}
    if len(ranks) > 1:
        parts.append(f"{len(ranks)} ranks; everything but the table of ranks is for rank 0")
    return [", ".join(parts)] if parts else []


def _power(use: PowerUse | None) -> list[str]:
    if use is None:
        return []
    parts = [f"{numbers.watts(use.mean_watts)} on average, {numbers.joules(use.joules)} for one generation"]
    if use.mhz is not None:
        parts.append(f"{numbers.exact(round(use.mhz[0]))} to {numbers.exact(round(use.mhz[1]))} MHz")
    if use.highest_celsius is not None:
        parts.append(f"up to {numbers.exact(round(use.highest_celsius))} °C")
    if use.throttled_share:
        share = numbers.percent_of(use.throttled_share)
        parts.append(f"the clock was lowered in {share} of the samples by {' and '.join(use.reasons)}")
    return ["; ".join(parts)]


def _other_devices(measured: Measured) -> list[str]:
    """The components that ran on each further device, and its peak memory."""
    sentences = []
    for name, device in measured.other_devices.items():
        parts = dict.fromkeys(
            sample.component or ""
            for iteration in measured.iterations
            for sample in iteration.samples
            if sample.device == name
        )
        points = [
            point for iteration in measured.iterations for point in iteration.device_memory if point.device == name
        ]
        allocated = max((point.peak_allocated_bytes or 0 for point in points), default=0)
        reserved = max((point.reserved_bytes or 0 for point in points), default=0)
        sentences.append(
            f"{name} ({device.name}) ran {', '.join(parts)}: at most {numbers.gigabytes(allocated)} allocated and "
            f"{numbers.gigabytes(reserved)} reserved"
        )
    return sentences
