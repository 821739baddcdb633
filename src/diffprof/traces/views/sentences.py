"""Sentences about traces, for the console and the page."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.numbers import nanoseconds, percent
from diffprof.traces.analysis.comparison import SourceDifference, TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import LaunchStatistics, Timeline, TraceExplanation, TraceSource
from diffprof.traces.views.names import CAUSES, short


def file_name(explanation: TraceExplanation) -> str:
    return clean(Path(explanation.source.path).name)


def source_line(explanation: TraceExplanation, with_file: bool = True) -> str:
    """``trace.json.gz · AMD Instinct MI300X (rocm) · rank 0 of 8 · 239,093 events``"""
    source = explanation.source
    device = f"{', '.join(source.device_names)} ({source.platform})" if source.device_names else source.platform
    rank = None if source.rank is None else f"rank {source.rank}"
    if rank and source.world_size:
        rank += f" of {source.world_size}"
    file = file_name(explanation) if with_file else None
    return clean(" · ".join(filter(None, (file, device, rank, numbers.times(source.events, "event")))))


def headline(explanation: TraceExplanation) -> str:
    """The trace in one sentence."""
    if not explanation.timelines:
        recorded = nanoseconds(explanation.source.recorded_ns)
        return f"The trace contains no GPU work; the host was recorded for {recorded}."
    busy = sum(line.busy_ns for line in explanation.timelines)
    devices = "The GPU was" if len(explanation.timelines) == 1 else f"{len(explanation.timelines)} GPUs were"
    sentence = f"{devices} busy {percent(busy / explanation.total_ns)} of {nanoseconds(explanation.total_ns)}"
    if not explanation.idle_ns:
        return f"{sentence}."
    cause, time = next(iter(_idle_by_cause(explanation).items()))
    main_cause = f"main cause: {CAUSES[cause]} ({nanoseconds(time)})"
    return f"{sentence} and idle for {nanoseconds(explanation.idle_ns)}; {main_cause}."


def notes(explanation: TraceExplanation) -> list[str]:
    """Notes on what the tables do not show: problems of the file, overlap, start-up, steps, launches, compilation."""
    sentences = source_notes(explanation.source)
    if explanation.causes:
        causes = [f"{CAUSES[cause]} {nanoseconds(time)}" for cause, time in _idle_by_cause(explanation).items()]
        sentences.append(f"Idle time by cause: {', '.join(causes)}.")
    if explanation.idle_ns and explanation.source.has_stacks:
        sentences.append(
            "Stacks were recorded, which slows the host down: part of the idle time is overhead of the profiler."
        )
    sentences += [sentence for line in explanation.timelines for sentence in _timeline_notes(line)]
    if explanation.steps and len(explanation.steps.kernels) > 1:
        sentences.append(_steps(explanation))
    if explanation.launches:
        sentences += _launches(explanation.launches)
    if explanation.compiled:
        sentences.append(_compiled_sentence(explanation))
    return sentences


def source_notes(source: TraceSource) -> list[str]:
    """Notes on problems of the file, and how they were handled."""
    sentences = []
    if source.negative_durations:
        events = numbers.times(source.negative_durations, "event")
        sentences.append(f"Negative durations ({events}) count as 0.")
    if source.invalid_bytes:
        count = numbers.times(source.invalid_bytes, "byte")
        sentences.append(f"Bytes that are not valid UTF-8 ({count}) are shown as \\xNN.")
    return sentences


def comparison_title(comparison: TraceComparison) -> str:
    return f"{file_name(comparison.after)} compared with {file_name(comparison.before)}"


def comparison_headline(comparison: TraceComparison) -> str:
    """A sentence about the GPU time before and after."""
    total = comparison.timeline[0]
    ratio = "" if total.ratio is None else f", {numbers.factor(total.ratio)}"
    return f"The GPU took {nanoseconds(total.before_ns)} before and {nanoseconds(total.after_ns)} after{ratio}."


def describe_difference(difference: SourceDifference) -> str:
    """``steps: 4 before, 8 after``"""
    before, after = (clean(value) or "unknown" for value in (difference.before, difference.after))
    return f"{difference.name}: {before} before, {after} after"


def ranks_title(ranks: RankComparison) -> str:
    calls = numbers.times(ranks.collectives, "collective call")
    return f"{numbers.times(len(ranks.rows), 'rank')}, {calls} compared"


def ranks_notes(ranks: RankComparison) -> list[str]:
    """Notes on how far the numbers can be trusted."""
    sentences = []
    if ranks.numbered_by_order:
        sentences.append("The traces do not name their ranks: they are numbered in the order given.")
    if ranks.unmatched:
        calls = numbers.times(ranks.unmatched, "collective call")
        sentences.append(f"{calls} could not be compared: not all ranks made the same number.")
    return sentences


def ranks_sentences(ranks: RankComparison) -> list[str]:
    """Sentences about the imbalance and the straggler."""
    sentences = [f"The longest computation is {percent(ranks.imbalance)} above the mean of the ranks."]
    straggler = ranks.straggler
    if straggler is not None:
        waited = sum(row.waited_ns for row in ranks.rows if row is not straggler)
        sentences.append(
            f"Rank {straggler.rank} arrived last in {numbers.exact(straggler.last_arrivals)} of "
            f"{numbers.times(ranks.collectives, 'collective call')}: the others waited {nanoseconds(waited)} in total."
        )
    elif ranks.collectives:
        sentences.append("No single rank delays the others: they arrive last in turns.")
    return sentences


def _idle_by_cause(explanation: TraceExplanation) -> dict[str, int]:
    """The idle time of each cause, the largest first."""
    idle: dict[str, int] = {}
    for row in explanation.causes:
        idle[row.cause] = idle.get(row.cause, 0) + row.idle_ns
    return dict(sorted(idle.items(), key=lambda item: -item[1]))


def _timeline_notes(line: Timeline) -> list[str]:
    sentences = []
    if line.hidden_communication_ns or line.hidden_copy_ns:
        hidden = (nanoseconds(line.hidden_communication_ns), nanoseconds(line.hidden_copy_ns))
        sentences.append(f"Hidden behind other work: {hidden[0]} of communication, {hidden[1]} of copies.")
    if line.before_ns:
        mostly = f", mostly in {short(line.before_what)}" if line.before_what else ""
        sentences.append(f"Before the first GPU work, the host ran for {nanoseconds(line.before_ns)}{mostly}.")
    if line.after_ns:
        mostly = f", mostly in {short(line.after_what)}" if line.after_what else ""
        sentences.append(f"After the last GPU work, the host ran for {nanoseconds(line.after_ns)}{mostly}.")
    return sentences


def _launches(launches: LaunchStatistics) -> list[str]:
    latency = f"{nanoseconds(launches.latency_median_ns)} (median), {nanoseconds(launches.latency_p95_ns)} (p95)"
    queue = f"{numbers.exact(launches.queue_median)} (median), {numbers.exact(launches.queue_longest)} (max)"
    calls = f"{numbers.times(launches.calls, 'launch call')} of {nanoseconds(launches.call_median_ns)} (median)"
    sentences = [f"{calls}; launch latency {latency}; queue length {queue}."]
    if launches.graph_launches:
        kernels, graphs = numbers.exact(launches.graph_kernels), numbers.exact(launches.graph_launches)
        sentences.append(f"Graph launches: {graphs}, with {kernels} kernels and copies.")
    return sentences


def _steps(explanation: TraceExplanation) -> str:
    steps = explanation.steps
    assert steps is not None
    kernels = f"{numbers.exact(round(median(steps.kernels)))} kernels and " if explanation.timelines else ""
    time = nanoseconds(round(median(steps.host_ns)))
    count = numbers.times(len(steps.kernels), "step")
    return f"{count} (marked by {short(steps.found_by)}): {kernels}{time} per step (median)."


def _compiled_sentence(explanation: TraceExplanation) -> str:
    compiled = explanation.compiled
    assert compiled is not None
    calls = numbers.times(compiled.calls, "call")
    regions = numbers.times(compiled.regions, "compiled region")
    kernels = f"{numbers.times(compiled.triton_kernels, 'Triton kernel')} ({nanoseconds(compiled.triton_ns)})"
    compiling = ""
    if compiled.compiling_ns:
        compiling = f"; the trace contains {nanoseconds(compiled.compiling_ns)} of compilation"
    return f"{calls} of {regions}, {kernels} generated by torch.compile{compiling}."
