"""The HTML page of a trace, a comparison of two, or the ranks of a run: text and tables of the console, and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.numbers import nanoseconds
from diffprof.render.report.html_table import html_table
from diffprof.render.report.lead import card_row
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import Page, details, paragraph
from diffprof.traces.analysis.checklist import BAD, GOOD, LOOK, NOT_THERE, UNKNOWN, TraceCheck, checklist
from diffprof.traces.analysis.comparison import TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import Timeline, TraceExplanation
from diffprof.traces.result import TraceResult
from diffprof.traces.views import charts, sentences
from diffprof.traces.views.checklist import describe_check
from diffprof.traces.views.comparison_tables import change_columns, change_tables, rank_columns
from diffprof.traces.views.tables import (
    CAUSE,
    CURVE,
    KERNEL,
    LOCATION,
    TraceBy,
    grouped_causes,
    row_count,
    table_columns,
)
from diffprof.version import __version__

TOP = 25
MANY = 100
"""The most rows of a folded table."""
LONGEST_NAME = 140


def result_html(result: TraceResult) -> str:
    """The whole page for the answer to a request."""
    if result.comparison is not None:
        return comparison_html(result.comparison)
    if result.ranks is not None:
        return ranks_html(result.ranks, result.explanations)
    return trace_html(result.explanations[0])


def trace_html(explanation: TraceExplanation) -> str:
    """The whole page of one trace."""
    page = Page(sentences.source_line(explanation))
    _timeline(page, explanation)
    if explanation.timelines:  # without GPU work, all ten questions would be answered "unknown"
        page.add("Checklist", _checklist(explanation))
    _idle(page, explanation)
    _attention(page, explanation)
    _work(page, explanation)
    _sections(page, explanation)
    _copies_and_memory(page, explanation)
    _host(page, explanation)
    header = [
        paragraph("diffprof trace", "made-by"),
        element("h1", sentences.file_name(explanation)),
        paragraph(sentences.source_line(explanation, with_file=False), "about"),
        paragraph(sentences.headline(explanation), "lead"),
        _cards(explanation),
    ]
    return page.html(header, _footer(explanation))


def ranks_html(ranks: RankComparison, explanations: Sequence[TraceExplanation]) -> str:
    """The whole page of several ranks: side by side, then one by one."""
    title = sentences.ranks_title(ranks)
    page = Page(title)
    page.add(
        "Ranks",
        *(paragraph(sentence) for sentence in sentences.ranks_sentences(ranks)),
        page.chart(charts.ranks_chart(ranks), "The timeline of each rank"),
        html_table(rank_columns(ranks)),
        *(paragraph(note, "note") for note in sentences.ranks_notes(ranks)),
    )
    for explanation in explanations:
        page.add(
            sentences.file_name(explanation),
            paragraph(sentences.source_line(explanation, with_file=False), "note"),
            paragraph(sentences.headline(explanation)),
            _activity_tabs(page, explanation),
            details("Checklist", _checklist(explanation)),
            *(details(name, _rows(explanation, by, TOP)) for by, name in EACH_RANK.items()),
        )
    header = [paragraph("diffprof trace", "made-by"), element("h1", title)]
    return page.html(header, _footer(explanations[0]))


EACH_RANK = {
    TraceBy.cause: "Why it was idle",
    TraceBy.kind: "Kinds of work",
    TraceBy.attention: "Attention",
    TraceBy.section: "Sections",
}


def comparison_html(comparison: TraceComparison) -> str:
    """The whole page of a comparison: conditions that differ, then changes."""
    title = sentences.comparison_title(comparison)
    page = Page(title)
    differences = map(sentences.describe_difference, comparison.differences)
    page.add("What is not the same", *map(paragraph, differences))
    for table in change_tables(comparison):
        chart = Markup()
        if table.is_timeline:
            chart = page.chart(charts.changes_chart(comparison.timeline), "The timeline before and after")
        columns = _shorten(change_columns(table.heading, table.rows[:TOP]))
        page.add(table.heading.capitalize(), chart, html_table(columns), _row_limit_note(len(table.rows), TOP))
    for name, explanation in (("Before", comparison.before), ("After", comparison.after)):
        page.add(
            f"{name}: {sentences.file_name(explanation)}",
            paragraph(sentences.source_line(explanation, with_file=False), "note"),
            paragraph(sentences.headline(explanation)),
            _activity_tabs(page, explanation),
            details("Checklist", _checklist(explanation)),
            link=name,
        )
    header = [
        paragraph("diffprof trace", "made-by"),
        element("h1", title),
        paragraph(sentences.comparison_headline(comparison), "lead"),
    ]
    return page.html(header, _footer(comparison.after))


def _cards(explanation: TraceExplanation) -> Markup:
    cards = []
    for line in explanation.timelines:
        of = f" of GPU {line.device}" if len(explanation.timelines) > 1 else ""
        cards += [(numbers.percent(line.busy_share), f"busy{of}"), (nanoseconds(line.total_ns), _span_label(line, of))]
    if explanation.timelines:
        cards.append((nanoseconds(explanation.idle_ns), f"idle, {_gap_count(explanation)}"))
    if explanation.steps and len(explanation.steps.kernels) > 1:
        cards.append((numbers.exact(len(explanation.steps.kernels)), "steps"))
    if explanation.memory:
        most = max(explanation.memory, key=lambda use: use.peak_allocated_bytes)
        cards.append((numbers.gigabytes(most.peak_allocated_bytes, brief=True), f"peak allocated on {most.device}"))
    return card_row(cards)


def _span_label(line: Timeline, of: str) -> str:
    return f"from first to last work{of}, {numbers.times(line.kernels, 'kernel')}"


def _gap_count(explanation: TraceExplanation) -> str:
    return f"in {numbers.times(sum(row.gaps for row in explanation.causes), 'gap')}"


# The checks with something to do come first.
ORDER = (BAD, LOOK, GOOD, UNKNOWN, NOT_THERE)


def _checklist(explanation: TraceExplanation) -> Markup:
    checks = sorted(checklist(explanation), key=lambda check: ORDER.index(check.verdict))
    return element("ul", *map(_check, checks), class_="checks")


def _check(check: TraceCheck) -> Markup:
    text = describe_check(check)
    return element(
        "li",
        element("span", check.verdict, class_=f"verdict {check.verdict}"),
        element("b", text.question),
        element("span", " · ".join(filter(None, (text.evidence, text.threshold))), class_="evidence"),
        element("span", text.advice) if text.advice else Markup(),
    )


def _timeline(page: Page, explanation: TraceExplanation) -> None:
    page.add(
        "GPU timeline" if explanation.timelines else "Timeline",
        _activity_tabs(page, explanation),
        _rows(explanation, TraceBy.timeline, TOP),
        *(paragraph(note, "note") for note in sentences.notes(explanation)),
        link="Timeline",
    )


def _activity_tabs(page: Page, explanation: TraceExplanation) -> Markup:
    return page.tabs(
        "Which device is shown",
        {
            f"GPU {activity.device}": page.chart(
                charts.activity_chart(activity), f"What GPU {activity.device} did over time, in shares"
            )
            for activity in explanation.activity
        },
    )


def _idle(page: Page, explanation: TraceExplanation) -> None:
    shown = numbers.exact(charts.MAX_GAPS)
    many = (
        f" The {shown} longest of {numbers.exact(len(explanation.gaps))}."
        if len(explanation.gaps) > charts.MAX_GAPS
        else ""
    )
    chart = page.chart(charts.gaps_chart(explanation), "The longest gaps over time, by cause")
    page.add(
        "Why it was idle",
        html_table(grouped_causes(explanation)) if explanation.causes else "",
        details("Each cause, place by place", _rows(explanation, TraceBy.cause, TOP)),
        paragraph(f"Each point is a gap; hover over it to see its cause.{many}", "note") if chart else "",
        chart,
        details("The longest gaps", _rows(explanation, TraceBy.gap, MANY)),
        link="Idle",
    )


def _attention(page: Page, explanation: TraceExplanation) -> None:
    page.add("Attention", _rows(explanation, TraceBy.attention, MANY))


def _work(page: Page, explanation: TraceExplanation) -> None:
    page.add(
        "Kinds of work",
        page.chart(charts.kinds_chart(explanation), "GPU time by kind of work"),
        _rows(explanation, TraceBy.kind, TOP),
        details("Kernels", _rows(explanation, TraceBy.kernel, MANY)),
    )


def _sections(page: Page, explanation: TraceExplanation) -> None:
    page.add("Sections", _rows(explanation, TraceBy.section, MANY))
    if row_count(explanation, TraceBy.step) > 1:
        page.add(
            "Steps",
            page.chart(charts.steps_chart(explanation), "Host and GPU time of each step"),
            details("Steps as a table", _rows(explanation, TraceBy.step, MANY)),
        )


def _copies_and_memory(page: Page, explanation: TraceExplanation) -> None:
    page.add("Copies", _rows(explanation, TraceBy.copy, TOP))
    page.add(
        "Memory over time",
        page.chart(charts.memory_chart(explanation), "What the allocator held over time"),
        _rows(explanation, TraceBy.memory, TOP),
        link="Memory",
    )


def _host(page: Page, explanation: TraceExplanation) -> None:
    rows = _rows(explanation, TraceBy.op, MANY)
    page.add("Operators on the host", rows if not explanation.timelines else details("By self time", rows), link="Host")


def _rows(explanation: TraceExplanation, by: TraceBy, top: int) -> Markup:
    """A table of the console without columns that the page has a chart for; empty without rows."""
    rows = row_count(explanation, by)
    if not rows:
        return Markup()
    columns = [column for column in table_columns(explanation, by, top, ascii_only=False) if column.key != CURVE]
    columns = _shorten(_subject_first([replace(column, cells=column.cells[:top]) for column in columns]))
    return join(html_table(columns, total=by is TraceBy.timeline), _row_limit_note(rows, len(columns[0].cells)))


def _subject_first(columns: Sequence[Column]) -> list[Column]:
    """Put the column that identifies a row first, because a phone does not show the last columns."""
    subject = {column.key: column for column in columns if column.key in (CAUSE, LOCATION, KERNEL)}
    others = [column for column in columns if column.key not in subject]
    if CAUSE in subject:
        cause, location = subject[CAUSE], subject[LOCATION]
        both = [f"{name}\n{where}" for name, where in zip(cause.cells, location.cells, strict=True)]
        return [replace(cause, cells=both), *others]
    return [*subject.values(), *others]


def _shorten(columns: Sequence[Column]) -> list[Column]:
    """Shorten long cells, because names of kernels can be as long as a page."""
    return [
        replace(column, cells=["\n".join(map(_shorten_line, cell.split("\n"))) for cell in column.cells])
        for column in columns
    ]


def _shorten_line(line: str) -> str:
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


def _row_limit_note(rows: int, shown: int) -> Markup:
    return paragraph(f"and {numbers.exact(rows - shown)} more", "note") if rows > shown else Markup()


def _footer(explanation: TraceExplanation) -> str:
    threshold = numbers.nanoseconds(explanation.threshold_ns)
    return f"Made with diffprof {__version__}. Gaps below {threshold} are summed up."
