"""The report of a trace, of two, or of the ranks of one run: the words and tables of the console, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.numbers import milliseconds
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import Page, details, paragraph
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import Timeline, TraceReport
from diffprof.traces.views import charts as figures
from diffprof.traces.views import console as words
from diffprof.traces.views.checks import Said, say
from diffprof.traces.views.tables import By, row_count, view_of
from diffprof.version import __version__

TOP = 25
MANY = 100
"""Rows of what is folded."""
LONGEST_NAME = 140


def trace_html(report: TraceReport) -> str:
    """The whole page of one trace."""
    page = Page(words.source_line(report))
    if report.timelines:  # of the host alone all ten questions would be answered "unknown"
        page.add("Checklist", _checklist(report))
    _timeline(page, report)
    _idle(page, report)
    _attention(page, report)
    _work(page, report)
    _sections(page, report)
    _copies_and_memory(page, report)
    _host(page, report)
    header = [
        paragraph("diffprof trace", "made-by"),
        element("h1", words.file_name(report)),
        paragraph(words.source_line(report, with_file=False), "about"),
        paragraph(words.headline(report), "lead"),
        _cards(report),
    ]
    return page.html(header, _footer(report))


def ranks_html(made: RankComparison, reports: Sequence[TraceReport]) -> str:
    """The whole page of several ranks: beside each other, then one by one."""
    title = words.rank_headline(made)
    page = Page(title)
    page.add(
        "Ranks",
        *(paragraph(sentence) for sentence in words.rank_sentences(made)),
        page.chart(figures.ranks_figure(made), "The time line of each rank"),
        html_table(words.rank_columns(made)),
        *(paragraph(note, "note") for note in words.rank_notes(made)),
    )
    for report in reports:
        page.add(
            words.file_name(report),
            paragraph(words.source_line(report, with_file=False), "note"),
            paragraph(words.headline(report)),
            _over_time(page, report),
            details("Checklist", _checklist(report)),
            *(details(name, _rows(report, by, TOP)) for by, name in EACH_RANK.items()),
        )
    header = [paragraph("diffprof trace", "made-by"), element("h1", title)]
    return page.html(header, _footer(reports[0]))


EACH_RANK = {By.cause: "Why it was idle", By.kind: "Kinds of work", By.attention: "Attention", By.section: "Sections"}


def trace_comparison_html(made: TraceComparison) -> str:
    """The whole page of two traces: what they do not have in common, then what changed."""
    title = words.compared_files(made)
    page = Page(title)
    page.add("What is not the same", *(paragraph(difference) for difference in made.differences))
    for heading, rows in words.changes(made).items():
        drawn = Markup()
        if heading == words.TIME_LINE:
            drawn = page.chart(figures.trace_changes_figure(made.timeline), "The time line before and after")
        columns = _short(words.change_columns(heading, rows[:TOP]))
        page.add(heading.capitalize(), drawn, html_table(columns), _left_out(len(rows), TOP))
    for name, report in (("Before", made.before), ("After", made.after)):
        page.add(
            f"{name}: {words.file_name(report)}",
            paragraph(words.source_line(report, with_file=False), "note"),
            paragraph(words.headline(report)),
            _over_time(page, report),
            details("Checklist", _checklist(report)),
            link=name,
        )
    header = [
        paragraph("diffprof trace", "made-by"),
        element("h1", title),
        paragraph(words.change_headline(made), "lead"),
    ]
    return page.html(header, _footer(made.after))


def _cards(report: TraceReport) -> Markup:
    shown = []
    for line in report.timelines:
        of = f" of GPU {line.device}" if len(report.timelines) > 1 else ""
        shown += [(numbers.percent(line.busy_share), f"busy{of}"), (milliseconds(line.total_ns), _from_first(line, of))]
    if report.timelines:
        shown.append((milliseconds(report.idle_ns), f"idle, {_gaps(report)}"))
    if report.steps and len(report.steps.kernels) > 1:
        shown.append((numbers.exact(len(report.steps.kernels)), "steps"))
    if report.memory:
        most = max(report.memory, key=lambda use: use.peak_allocated_bytes)
        shown.append((numbers.gigabytes(most.peak_allocated_bytes), f"held at most on {most.device}"))
    made = [element("div", element("b", figure), element("span", what), class_="card") for figure, what in shown]
    return element("div", *made, class_="cards") if made else Markup()


def _from_first(line: Timeline, of: str) -> str:
    return f"first to last work{of}, {numbers.times(line.kernels, 'kernel')}"


def _gaps(report: TraceReport) -> str:
    return f"in {numbers.times(sum(row.gaps for row in report.causes), 'gap')}"


# Those that ask for something to be done come first.
ORDER = ("bad", "look", "good", "unknown", "-")


def _checklist(report: TraceReport) -> Markup:
    said = sorted((say(check) for check in checklist(report)), key=lambda one: ORDER.index(one.verdict))
    return element("ul", *map(_check, said), class_="checks")


def _check(one: Said) -> Markup:
    verdict = "none" if one.verdict == "-" else one.verdict
    return element(
        "li",
        element("span", verdict, class_=f"verdict {verdict}"),
        element("b", one.question),
        element("span", " · ".join(filter(None, (one.evidence, one.threshold))), class_="evidence"),
        element("span", one.advice) if one.advice else Markup(),
    )


def _timeline(page: Page, report: TraceReport) -> None:
    page.add(
        "GPU time line" if report.timelines else "Time line",
        _over_time(page, report),
        _rows(report, By.timeline, TOP),
        *(paragraph(note, "note") for note in (*report.source.notes, *words.notes(report))),
        link="Time line",
    )


def _over_time(page: Page, report: TraceReport) -> Markup:
    return page.tabs(
        "Which device is shown",
        {
            f"GPU {one.device}": page.chart(
                figures.activity_figure(one), f"What GPU {one.device} did over time, in shares"
            )
            for one in report.activity
        },
    )


def _idle(page: Page, report: TraceReport) -> None:
    shown = numbers.exact(figures.MOST_GAPS)
    many = f" The {shown} longest of {numbers.exact(len(report.gaps))}." if len(report.gaps) > figures.MOST_GAPS else ""
    drawn = page.chart(figures.gaps_figure(report), "The longest gaps over time, by cause")
    page.add(
        "Why it was idle",
        _rows(report, By.cause, TOP),
        paragraph(f"Each point is a gap; pointing at it tells what it is laid to.{many}", "note") if drawn else "",
        drawn,
        details("The longest gaps", _rows(report, By.gap, MANY)),
        link="Idle",
    )


def _attention(page: Page, report: TraceReport) -> None:
    page.add("Attention", _rows(report, By.attention, MANY))


def _work(page: Page, report: TraceReport) -> None:
    page.add(
        "Kinds of work",
        page.chart(figures.trace_kinds_figure(report), "GPU time by kind of work"),
        _rows(report, By.kind, TOP),
        details("Kernels", _rows(report, By.kernel, MANY)),
    )


def _sections(page: Page, report: TraceReport) -> None:
    page.add("Sections", _rows(report, By.section, MANY))
    if row_count(report, By.step) > 1:
        page.add(
            "Steps",
            page.chart(figures.trace_steps_figure(report), "Host and GPU time of each step"),
            details("Steps as a table", _rows(report, By.step, MANY)),
        )


def _copies_and_memory(page: Page, report: TraceReport) -> None:
    page.add("Copies", _rows(report, By.copy, TOP))
    page.add(
        "Memory over time",
        page.chart(figures.trace_memory_figure(report), "What the allocator held over time"),
        _rows(report, By.memory, TOP),
        link="Memory",
    )


def _host(page: Page, report: TraceReport) -> None:
    rows = _rows(report, By.op, MANY)
    page.add("Operators on the host", rows if not report.timelines else details("By their own time", rows), link="Host")


def _rows(report: TraceReport, by: By, top: int) -> Markup:
    """A table as on the console, without what a page has a figure for; nothing where it has no rows."""
    rows = row_count(report, by)
    if not rows:
        return Markup()
    columns = [column for column in view_of(report, by, top, ascii_only=False) if column.name != "over time"]
    shown = _short(_named_first([replace(one, cells=one.cells[:top]) for one in columns]))
    return join(html_table(shown, total=by is By.timeline), _left_out(rows, len(shown[0].cells)))


def _named_first(columns: Sequence[Column]) -> list[Column]:
    """What a row is about comes first: on a telephone, the last columns are out of sight."""
    by_name = {column.name: column for column in columns}
    if "because" in by_name:
        because, of = by_name.pop("because"), by_name.pop("of")
        both = [f"{cause}\n{what}" for cause, what in zip(because.cells, of.cells, strict=True)]
        return [replace(because, cells=both), *by_name.values()]
    if "kernel" in by_name:
        return [by_name.pop("kernel"), *by_name.values()]
    return list(columns)


def _short(columns: Sequence[Column]) -> list[Column]:
    """Names of kernels can be as long as a page."""
    return [replace(one, cells=["\n".join(map(_cut, cell.split("\n"))) for cell in one.cells]) for one in columns]


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


def _left_out(rows: int, shown: int) -> Markup:
    return paragraph(f"and {numbers.exact(rows - shown)} more", "note") if rows > shown else Markup()


def _footer(report: TraceReport) -> str:
    threshold = numbers.nanoseconds(report.threshold_ns)
    return f"Made with diffprof {__version__}. Gaps below {threshold} are told together."
