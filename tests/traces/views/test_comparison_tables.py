"""The tables of two traces and of several ranks."""

from __future__ import annotations

from dataclasses import replace

from diffprof.render.columns import Column
from diffprof.traces.analysis.comparison import TraceChange, compare_traces
from diffprof.traces.analysis.ranks import RankComparison, RankRow
from diffprof.traces.facts import HOST
from diffprof.traces.views.comparison_tables import change_columns, change_tables, rank_columns
from tests.traces.conftest import Explain
from tests.traces.trace_builder import two_denoising_steps


def cells(columns: list[Column]) -> dict[str, list[str]]:
    return {column.name: list(column.cells) for column in columns}


def test_kernels_that_got_slower_and_faster_are_separate_tables(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    slower, faster = TraceChange("gemm", 10, 30, 1, 1), TraceChange("norm", 30, 10, 1, 1)
    comparison = replace(
        compare_traces(explanation, explanation), kernels=(slower, faster), causes=(TraceChange(HOST, 0, 50, 0, 1),)
    )
    tables = {table.heading: table.rows for table in change_tables(comparison)}
    assert tables["kernels that got slower"] == [slower]
    assert tables["kernels that got faster"] == [faster]
    assert [row.name for row in tables["cause of idle time"]] == ["host too slow"]
    assert (tables["new kernels"], tables["kernels no longer used"]) == ((), ())


def test_only_the_timeline_has_rows_that_add_up(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    tables = change_tables(compare_traces(explanation, explanation))
    assert [table.heading for table in tables if table.is_timeline] == ["timeline"]


def test_a_change_has_both_times_their_difference_and_their_ratio() -> None:
    rows = [TraceChange("gemm", 2_000_000, 3_000_000, 4, 6), TraceChange("flash", 0, 1_000_000, 0, 2)]
    assert cells(change_columns("kernel", rows)) == {
        "kernel": ["gemm", "flash"],
        "before": ["2.000 ms", "0.000 ms"],
        "after": ["3.000 ms", "1.000 ms"],
        "change": ["+1.000 ms", "+1.000 ms"],
        "ratio": ["1.50x", ""],
        "count": ["4 > 6", "0 > 2"],
    }


def test_a_timeline_has_no_column_of_calls() -> None:
    columns = cells(change_columns("timeline", [TraceChange("idle", 5_000_000, 4_000_000, 0, 0)]))
    assert "count" not in columns
    assert columns["change"] == ["-1.000 ms"]


def test_each_rank_is_a_row() -> None:
    row = RankRow(
        0, "a.json", 9_000_000, 6_000_000, 2_000_000, 1_000_000, 0, 2_000_000, waited_ns=500_000, last_arrivals=1
    )
    columns = cells(rank_columns(RankComparison((row, replace(row, rank=1, last_arrivals=1_200)), 3, 0, False)))
    assert columns["rank"] == ["0", "1"]
    assert columns["arrived last"] == ["1", "1,200"]
    assert columns["waited for others"] == ["0.500 ms"] * 2
