"""Traces as blocks of sentences and tables: one trace, a comparison of two, or the ranks of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import TraceComparison
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
    print_blocks(result_blocks(result, by, top, console.options.ascii_only), console)


def print_trace(explanation: TraceExplanation, console: Console, by: TraceBy | None = None, top: int = TOP) -> None:
    """Print everything found in a trace, or one table of it; at most `top` rows of each table."""
    print_blocks(trace_blocks(explanation, by, top, console.options.ascii_only), console)


def result_markdown(result: TraceResult, by: TraceBy | None = None, top: int = TOP) -> str:
    """The answer to a request as Markdown, for a pull request."""
    return markdown(result_blocks(result, by, top))


def result_blocks(
    result: TraceResult, by: TraceBy | None = None, top: int = TOP, ascii_only: bool = False
) -> list[Block]:
    """The answer to a request, or one table of it for each trace."""
    if result.comparison is not None:
        return list(comparison_blocks(result.comparison, top))
    if result.ranks is not None and by is None:
        return rank_blocks(result.ranks, result.explanations)
    return [block for explanation in result.explanations for block in trace_blocks(explanation, by, top, ascii_only)]


def trace_blocks(
    explanation: TraceExplanation, by: TraceBy | None = None, top: int = TOP, ascii_only: bool = False
) -> list[Block]:
    """Everything found in a trace, or one table of it; at most `top` rows of each table."""
    source = sentences.source_line(explanation)
    if by is not None:
        return [_table(explanation, by, top, ascii_only, source)]
    heading = Block(source, [sentences.headline(explanation), *sentences.notes(explanation)])
    tables = TABLES if explanation.timelines else TABLES_WITHOUT_GPU
    shown = [by for by in tables if by is TraceBy.check or row_count(explanation, by)]
    return [heading, *(_table(explanation, by, top, ascii_only) for by in shown)]


def comparison_blocks(comparison: TraceComparison, top: int = TOP) -> Iterator[Block]:
    """Blocks about the changes from one trace to another."""
    different = [f"Not the same: {sentences.describe_difference(one)}" for one in comparison.differences]
    yield Block(sentences.comparison_title(comparison), [sentences.comparison_headline(comparison), *different])
    for table in change_tables(comparison):
        if table.rows:
            # The timeline is not cut: its rows add up.
            shown = len(table.rows) if table.is_timeline else top
            columns = change_columns(table.heading, table.rows[:shown])
            yield Block(columns=columns, after=_rest(len(table.rows) - shown))


def rank_blocks(ranks: RankComparison, explanations: Sequence[TraceExplanation]) -> list[Block]:
    """Blocks about the ranks, and which of them delays the others."""
    each = [f"{sentences.file_name(one)}: {sentences.headline(one)}" for one in explanations]
    return [
        Block(sentences.ranks_title(ranks), sentences.ranks_notes(ranks)),
        Block(columns=rank_columns(ranks)),
        Block(lines=[*sentences.ranks_sentences(ranks), *each]),
    ]


def _checks(explanation: TraceExplanation, title: str) -> Block:
    """The checklist as a block."""
    checks = [describe_check(check) for check in checklist(explanation)]
    answers = [
        "\n".join(filter(None, (check.question, check.evidence, check.threshold, check.advice))) for check in checks
    ]
    columns = [
        Column("verdict", [check.verdict for check in checks], justify="left"),
        Column("question, answer, threshold, what to do", answers, justify="left", least=30),
    ]
    return Block(title, columns=columns)


def _table(explanation: TraceExplanation, by: TraceBy, top: int, ascii_only: bool, title: str = "") -> Block:
    if by is TraceBy.check:
        return _checks(explanation, title)
    rows = row_count(explanation, by)
    if not rows:
        return Block(title, [EMPTY_TABLE[by]])
    columns = table_columns(explanation, by, top, ascii_only)
    return Block(title, columns=columns, after=_rest(rows - len(columns[0].cells)))


def _rest(rows: int) -> list[str]:
    return [f"and {numbers.exact(rows)} more (--top)"] if rows > 0 else []
