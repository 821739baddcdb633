"""Traces on a console: one of them explained, two compared, or the ranks of a run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof.render import numbers
from diffprof.render.columns import Column, fit_columns, print_table
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import TraceChange, TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.result import TraceResult
from diffprof.traces.views import sentences
from diffprof.traces.views.checklist import describe_check
from diffprof.traces.views.comparison_tables import change_columns, change_tables, rank_columns
from diffprof.traces.views.tables import EMPTY_TABLE, TraceBy, row_count, table_columns

if TYPE_CHECKING:
    from rich.console import Console

# The tables of the whole view, in order; empty ones are left out.
TABLES = (
    TraceBy.timeline,
    TraceBy.cause,
    TraceBy.check,
    TraceBy.kind,
    TraceBy.attention,
    TraceBy.section,
    TraceBy.copy,
    TraceBy.memory,
)
TABLES_WITHOUT_GPU = (TraceBy.op, TraceBy.section, TraceBy.memory)
TOP = 10


def print_result(result: TraceResult, console: Console, by: TraceBy | None = None, top: int = TOP) -> None:
    """Print the answer to a request, or one table of it for each trace."""
    if result.comparison is not None:
        print_comparison(result.comparison, console, top)
    elif result.ranks is not None and by is None:
        print_ranks(result.ranks, result.explanations, console)
    else:
        for number, explanation in enumerate(result.explanations):
            if number:
                console.print()
            print_trace(explanation, console, by, top)


def print_trace(explanation: TraceExplanation, console: Console, by: TraceBy | None = None, top: int = TOP) -> None:
    """Print everything found in a trace, or one table of it; at most `top` rows of each table."""
    _print_line(console, sentences.source_line(explanation), "bold")
    if by is not None:
        _print_table(explanation, by, console, top)
        return
    _print_line(console, sentences.headline(explanation))
    for note in sentences.notes(explanation):
        _print_line(console, note, "dim")
    for table in TABLES if explanation.timelines else TABLES_WITHOUT_GPU:
        if table is TraceBy.check or row_count(explanation, table):
            console.print()
            _print_table(explanation, table, console, top)


def print_comparison(comparison: TraceComparison, console: Console, top: int = TOP) -> None:
    """Print what changed from one trace to another."""
    _print_line(console, sentences.comparison_title(comparison), "bold")
    _print_line(console, sentences.comparison_headline(comparison))
    for difference in comparison.differences:
        _print_line(console, f"Not the same: {sentences.describe_difference(difference)}", "dim")
    for table in change_tables(comparison):
        if table.rows:
            console.print()
            # A timeline without its last rows would not add up.
            _print_changes(table.heading, table.rows, console, len(table.rows) if table.is_timeline else top)


def print_ranks(ranks: RankComparison, explanations: Sequence[TraceExplanation], console: Console) -> None:
    """Print the ranks side by side, and which of them delays the others."""
    _print_line(console, sentences.ranks_title(ranks), "bold")
    for note in sentences.ranks_notes(ranks):
        _print_line(console, note, "dim")
    console.print()
    print_table(fit_columns(rank_columns(ranks), console.width), console)
    console.print()
    for sentence in sentences.ranks_sentences(ranks):
        _print_line(console, sentence)
    for explanation in explanations:
        _print_line(console, f"{sentences.file_name(explanation)}: {sentences.headline(explanation)}", "dim")


def print_checks(explanation: TraceExplanation, console: Console) -> None:
    """Print the checklist: each verdict with its question, the evidence, the threshold and what to do."""
    checks = [describe_check(check) for check in checklist(explanation)]
    answers = [
        "\n".join(filter(None, (check.question, check.evidence, check.threshold, check.advice))) for check in checks
    ]
    columns = [
        Column("verdict", [check.verdict for check in checks], justify="left"),
        Column("question, answer, threshold, what to do", answers, justify="left", least=30),
    ]
    print_table(fit_columns(columns, console.width), console)


def _print_table(explanation: TraceExplanation, by: TraceBy, console: Console, top: int) -> None:
    if by is TraceBy.check:
        print_checks(explanation, console)
        return
    rows = row_count(explanation, by)
    if not rows:
        _print_line(console, EMPTY_TABLE[by], "dim")
        return
    columns = table_columns(explanation, by, top, console.options.ascii_only)
    print_table(fit_columns(columns, console.width), console)
    _print_rest(rows - len(columns[0].cells), console)


def _print_changes(heading: str, rows: Sequence[TraceChange], console: Console, top: int) -> None:
    print_table(fit_columns(change_columns(heading, rows[:top]), console.width), console)
    _print_rest(len(rows) - top, console)


def _print_rest(rows: int, console: Console) -> None:
    if rows > 0:
        _print_line(console, f"and {numbers.exact(rows)} more (--top)", "dim")


def _print_line(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(text, style=style))
