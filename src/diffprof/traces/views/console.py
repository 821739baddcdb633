"""A trace on a console: a sentence, the time line, why it was idle, the work, and the checklist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.columns import Column, fit_columns, print_table
from diffprof.render.numbers import milliseconds, percent
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import Change, TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import LaunchFigures, Timeline, TraceReport
from diffprof.traces.views.checks import say
from diffprof.traces.views.names import CAUSES, short
from diffprof.traces.views.tables import NOTHING, By, row_count, view_of

if TYPE_CHECKING:
    from rich.console import Console

# The tables of the whole view, in order; those without rows are left out.
SHOWN = (By.timeline, By.cause, By.check, By.kind, By.attention, By.section, By.copy, By.memory)
SHOWN_WITHOUT_GPU = (By.op, By.section, By.memory)
TOP = 10


def print_trace(report: TraceReport, console: Console, by: By | None = None, top: int = TOP) -> None:
    """All that a trace says, or one table of it; `top` rows of each at most."""
    _say(console, source_line(report), "bold")
    if by is not None:
        _print_view(report, by, console, top)
        return
    _say(console, headline(report))
    for note in (*report.source.notes, *notes(report)):
        _say(console, note, "dim")
    for view in SHOWN if report.timelines else SHOWN_WITHOUT_GPU:
        if view is By.check or row_count(report, view):
            console.print()
            _print_view(report, view, console, top)


def print_checks(report: TraceReport, console: Console) -> None:
    """The checklist: each verdict with its question, what it rests on, the threshold and what to do."""
    said = [say(check) for check in checklist(report)]
    answers = ["\n".join(filter(None, (one.question, one.evidence, one.threshold, one.advice))) for one in said]
    columns = [
        Column("verdict", [one.verdict for one in said], justify="left"),
        Column("question, answer, threshold, what to do", answers, justify="left", least=30),
    ]
    print_table(fit_columns(columns, console.width), console)


def print_comparison(made: TraceComparison, console: Console, top: int = TOP) -> None:
    """What changed from one trace to another."""
    _say(console, compared_files(made), "bold")
    _say(console, change_headline(made))
    for difference in made.differences:
        _say(console, not_the_same(difference), "dim")
    for heading, rows in changes(made).items():
        if rows:
            console.print()
            # A time line without its last rows would not add up.
            _print_changes(heading, rows, console, len(rows) if heading == TIME_LINE else top)


def compared_files(made: TraceComparison) -> str:
    return f"{file_name(made.after)} against {file_name(made.before)}"


def change_headline(made: TraceComparison) -> str:
    """How long the GPU took before and after."""
    total = made.timeline[0]
    ratio = "" if total.ratio is None else f", {numbers.factor(total.ratio)}"
    return f"The GPU took {milliseconds(total.before_ns)} before and {milliseconds(total.after_ns)} after{ratio}."


def not_the_same(difference: str) -> str:
    return f"not the same: {clean(difference)}"


TIME_LINE = "time line"


def changes(made: TraceComparison) -> dict[str, Sequence[Change]]:
    """The tables of a comparison by their headings; some may be empty."""
    return {
        TIME_LINE: made.timeline,
        "kind of work": made.kinds,
        "idle because": tuple(replace(row, name=CAUSES[row.name]) for row in made.causes),
        "attention": made.attention,
        "kernels that got slower": [row for row in made.kernels if row.difference_ns > 0],
        "kernels that got faster": [row for row in made.kernels if row.difference_ns < 0],
        "kernels that appeared": made.appeared,
        "kernels that went": made.gone,
    }


def change_columns(heading: str, rows: Sequence[Change]) -> list[Column]:
    """A table of figures before and after."""
    columns = [
        Column(heading, [short(row.name) for row in rows], justify="left", least=24, cut=True),
        Column("before", [milliseconds(row.before_ns) for row in rows]),
        Column("after", [milliseconds(row.after_ns) for row in rows]),
        Column("change", [_signed(row.difference_ns) for row in rows]),
        Column("ratio", ["" if row.ratio is None else numbers.factor(row.ratio) for row in rows], rank=1),
    ]
    if any(row.before_calls or row.after_calls for row in rows):
        calls = [f"{numbers.exact(row.before_calls)} > {numbers.exact(row.after_calls)}" for row in rows]
        columns.append(Column("count", calls, rank=1))
    return columns


def print_ranks(made: RankComparison, reports: Sequence[TraceReport], console: Console) -> None:
    """The ranks beside each other, and who holds the others up."""
    _say(console, rank_headline(made), "bold")
    for note in rank_notes(made):
        _say(console, note, "dim")
    console.print()
    print_table(fit_columns(rank_columns(made), console.width), console)
    console.print()
    for sentence in rank_sentences(made):
        _say(console, sentence)
    for report in reports:
        _say(console, f"{file_name(report)}: {headline(report)}", "dim")


def rank_headline(made: RankComparison) -> str:
    calls = numbers.times(made.collectives, "call")
    return f"{numbers.times(len(made.rows), 'rank')}, {calls} of communication compared"


def rank_notes(made: RankComparison) -> list[str]:
    """What to keep in mind with the figures."""
    found = []
    if made.numbered_by_order:
        found.append("The traces do not say which rank they are of: they are numbered in the order given.")
    if made.unmatched:
        others = numbers.times(made.unmatched, "call")
        found.append(f"{others} of communication could not be compared: not all ranks made as many.")
    return found


def rank_columns(made: RankComparison) -> list[Column]:
    """A row for each rank."""
    rows = made.rows
    return [
        Column("rank", [str(row.rank) for row in rows]),
        Column("total", [milliseconds(row.total_ns) for row in rows]),
        Column("computation", [milliseconds(row.computation_ns) for row in rows]),
        Column("communication", [milliseconds(row.communication_ns) for row in rows], rank=1),
        Column("exposed", [milliseconds(row.exposed_communication_ns) for row in rows]),
        Column("idle", [milliseconds(row.idle_ns) for row in rows]),
        Column("waited for others", [milliseconds(row.waited_ns) for row in rows]),
        Column("came last", [numbers.exact(row.last_arrivals) for row in rows]),
    ]


def rank_sentences(made: RankComparison) -> list[str]:
    """Imbalance and straggler in words."""
    sentences = [f"The longest computation is {percent(made.imbalance)} above the mean of the ranks."]
    straggler = made.straggler
    if straggler is not None:
        waited = sum(row.waited_ns for row in made.rows if row is not straggler)
        sentences.append(
            f"Rank {straggler.rank} came last in {numbers.exact(straggler.last_arrivals)} of "
            f"{numbers.times(made.collectives, 'call')}: the others waited for {milliseconds(waited)} in all."
        )
    elif made.collectives:
        sentences.append("No one rank holds up the others: they come last in turns.")
    return sentences


def source_line(report: TraceReport, with_file: bool = True) -> str:
    """``trace.json.gz · AMD Instinct MI300X (rocm) · rank 0 of 8 · 239,093 events``"""
    source = report.source
    device = f"{', '.join(source.device_names)} ({source.platform})" if source.device_names else source.platform
    rank = (
        None
        if source.rank is None
        else f"rank {source.rank}" + (f" of {source.world_size}" if source.world_size else "")
    )
    file = file_name(report) if with_file else None
    return clean(" · ".join(filter(None, (file, device, rank, numbers.times(source.events, "event")))))


def headline(report: TraceReport) -> str:
    """The trace in a sentence."""
    if not report.timelines:
        return f"No work on a GPU is in the trace; the host was recorded for {milliseconds(report.source.recorded_ns)}."
    busy = sum(line.busy_ns for line in report.timelines)
    devices = "The GPU was" if len(report.timelines) == 1 else f"{len(report.timelines)} GPUs were"
    sentence = f"{devices} busy for {percent(busy / report.total_ns)} of {milliseconds(report.total_ns)}"
    if not report.idle_ns:
        return f"{sentence}."
    worst = _worst_cause(report)
    return f"{sentence} and idle for {milliseconds(report.idle_ns)}, {worst}."


def notes(report: TraceReport) -> list[str]:
    """What the tables do not show: hidden work, start-up, steps, launches, compiled code."""
    found = [_by_cause(report)] if report.causes else []
    if report.idle_ns and report.source.has_stacks:
        found.append("Stacks were recorded, which slows the host down: a part of the idle time is the profiler's own.")
    found += [sentence for line in report.timelines for sentence in _edges(line)]
    if report.steps and len(report.steps.kernels) > 1:
        found.append(_steps(report))
    if report.launches:
        found += _launches(report.launches)
    if report.compiled:
        found.append(_compiled(report))
    return found


def _edges(line: Timeline) -> list[str]:
    found = []
    if line.hidden_communication_ns or line.hidden_copy_ns:
        hidden = (milliseconds(line.hidden_communication_ns), milliseconds(line.hidden_copy_ns))
        found.append(f"Hidden behind other work: {hidden[0]} of communication, {hidden[1]} of copies.")
    if line.before_ns:
        what = f", for most of it in {short(line.before_what)}" if line.before_what else ""
        found.append(f"Start-up: the host was recorded for {milliseconds(line.before_ns)} before the first work{what}.")
    if line.after_ns:
        what = f", for most of it in {short(line.after_what)}" if line.after_what else ""
        found.append(f"After the last work, the host went on for {milliseconds(line.after_ns)}{what}.")
    return found


def _launches(figures: LaunchFigures) -> list[str]:
    latency = f"{milliseconds(figures.latency_median_ns)} (median), {milliseconds(figures.latency_p95_ns)} (95 %)"
    queue = f"{numbers.exact(figures.queue_median)} (median), {numbers.exact(figures.queue_longest)} at most"
    found = [
        f"{numbers.times(figures.calls, 'launching call')} of {milliseconds(figures.call_median_ns)} (median); from "
        f"launch to start {latency}; in the queue {queue}."
    ]
    if figures.graph_launches:
        kernels, launches = numbers.exact(figures.graph_kernels), numbers.exact(figures.graph_launches)
        found.append(f"Launches of graphs: {launches}, with {kernels} kernels and copies.")
    return found


def _steps(report: TraceReport) -> str:
    steps = report.steps
    assert steps is not None
    kernels = f"{numbers.exact(round(median(steps.kernels)))} kernels and " if report.timelines else ""
    middle = round(median(steps.host_ns))
    count = numbers.times(len(steps.kernels), "step")
    return f"{count} (found by {short(steps.found_by)}): {kernels}{milliseconds(middle)} each (median)."


def _compiled(report: TraceReport) -> str:
    compiled = report.compiled
    assert compiled is not None
    calls = numbers.times(compiled.calls, "call")
    regions = numbers.times(compiled.regions, "compiled region")
    compiling = (
        f"; {milliseconds(compiled.compiling_ns)} of compilation are in the trace" if compiled.compiling_ns else ""
    )
    return (
        f"{calls} of {regions}, {numbers.times(compiled.triton_kernels, 'kernel')} written by torch.compile "
        f"({milliseconds(compiled.triton_ns)}){compiling}."
    )


def _worst_cause(report: TraceReport) -> str:
    cause, time = max(_lost(report).items(), key=lambda item: item[1])
    return f"{milliseconds(time)} of it: {CAUSES[cause]}"


def _by_cause(report: TraceReport) -> str:
    lost = sorted(_lost(report).items(), key=lambda item: -item[1])
    return f"Idle because: {', '.join(f'{CAUSES[cause]} {milliseconds(time)}' for cause, time in lost)}."


def _lost(report: TraceReport) -> dict[str, int]:
    lost: dict[str, int] = {}
    for row in report.causes:
        lost[row.cause] = lost.get(row.cause, 0) + row.idle_ns
    return lost


def _print_view(report: TraceReport, by: By, console: Console, top: int) -> None:
    if by is By.check:
        print_checks(report, console)
        return
    rows = row_count(report, by)
    if not rows:
        _say(console, NOTHING[by], "dim")
        return
    columns = view_of(report, by, top, console.options.ascii_only)
    print_table(fit_columns(columns, console.width), console)
    shown = len(columns[0].cells)
    if shown < rows:
        _say(console, f"and {numbers.exact(rows - shown)} more (--top)", "dim")


def _print_changes(heading: str, rows: Sequence[Change], console: Console, top: int) -> None:
    print_table(fit_columns(change_columns(heading, rows[:top]), console.width), console)
    if len(rows) > top:
        _say(console, f"and {numbers.exact(len(rows) - top)} more (--top)", "dim")


def _signed(time: int) -> str:
    return f"+{milliseconds(time)}" if time > 0 else milliseconds(time)


def file_name(report: TraceReport) -> str:
    return clean(Path(report.source.path).name)


def _say(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(text, style=style))
