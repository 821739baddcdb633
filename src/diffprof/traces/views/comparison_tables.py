"""The tables of two traces and of several ranks, for a console of any width and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.numbers import milliseconds
from diffprof.traces.analysis.comparison import TraceChange, TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.views.names import CAUSES, short


@dataclass(frozen=True)
class ChangeTable:
    """The changes of one kind, and the heading of their table."""

    heading: str
    rows: Sequence[TraceChange]
    is_timeline: bool = False
    """Whether the rows are the parts of the timeline, which add up."""


def change_tables(comparison: TraceComparison) -> list[ChangeTable]:
    """The tables of a comparison; some may be empty."""
    causes = [replace(row, name=CAUSES[row.name]) for row in comparison.causes]
    return [
        ChangeTable("timeline", comparison.timeline, is_timeline=True),
        ChangeTable("kind of work", comparison.kinds),
        ChangeTable("cause of idle time", causes),
        ChangeTable("attention", comparison.attention),
        ChangeTable("kernels that got slower", [row for row in comparison.kernels if row.difference_ns > 0]),
        ChangeTable("kernels that got faster", [row for row in comparison.kernels if row.difference_ns < 0]),
        ChangeTable("new kernels", comparison.appeared),
        ChangeTable("kernels no longer used", comparison.gone),
    ]


def change_columns(heading: str, rows: Sequence[TraceChange]) -> list[Column]:
    """Times and calls before and after."""
    columns = [
        Column(heading, [short(row.name) for row in rows], justify="left", least=24, cut=True),
        Column("before", [milliseconds(row.before_ns) for row in rows]),
        Column("after", [milliseconds(row.after_ns) for row in rows]),
        Column("change", [_with_sign(row.difference_ns) for row in rows]),
        Column("ratio", ["" if row.ratio is None else numbers.factor(row.ratio) for row in rows], rank=1),
    ]
    if any(row.before_calls or row.after_calls for row in rows):
        calls = [f"{numbers.exact(row.before_calls)} > {numbers.exact(row.after_calls)}" for row in rows]
        columns.append(Column("count", calls, rank=1))
    return columns


def rank_columns(ranks: RankComparison) -> list[Column]:
    """A row for each rank."""
    rows = ranks.rows
    return [
        Column("rank", [str(row.rank) for row in rows]),
        Column("total", [milliseconds(row.total_ns) for row in rows]),
        Column("computation", [milliseconds(row.computation_ns) for row in rows]),
        Column("communication", [milliseconds(row.communication_ns) for row in rows], rank=1),
        Column("exposed", [milliseconds(row.exposed_communication_ns) for row in rows]),
        Column("idle", [milliseconds(row.idle_ns) for row in rows]),
        Column("waited for others", [milliseconds(row.waited_ns) for row in rows]),
        Column("arrived last", [numbers.exact(row.last_arrivals) for row in rows]),
    ]


def _with_sign(time: int) -> str:
    return f"+{milliseconds(time)}" if time > 0 else milliseconds(time)
