"""Events as columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffprof.traces import read_trace
from diffprof.traces.reading.columns import UNKNOWN, Names, Spans, values_at
from tests.traces.trace_builder import TraceBuilder


def test_each_distinct_name_has_one_number() -> None:
    names = Names()
    assert names.numbers(["mm", "add", "mm"]).tolist() == [0, 1, 0]
    assert names.numbers(["softmax", "add"]).tolist() == [2, 1]
    assert names.all == ["mm", "add", "softmax"]


def test_rows_are_chosen_by_number_by_flag_or_as_a_slice() -> None:
    column = np.array([10, 20, 30])
    spans = Spans(start=column, end=column + 5, name=np.array([0, 1, 2]), device=np.zeros(3, dtype=np.int64))
    assert len(spans) == 3
    assert spans.rows(np.array([2, 0])).start.tolist() == [30, 10]
    assert spans.rows(spans.start > 15).end.tolist() == [25, 35]
    assert spans.rows(slice(1)).name.tolist() == [0]


def test_an_unknown_row_has_the_default() -> None:
    column, rows = np.array([10, 20]), np.array([1, UNKNOWN, 0])
    assert values_at(column, rows, 7).tolist() == [20, 7, 10]
    assert values_at(column, rows, np.array([1, 2, 3])).tolist() == [20, 2, 10]


def test_a_trace_goes_from_its_first_to_its_last_event_on_host_or_device(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 5, 20)
    builder.gpu("gemm", 10, 30)
    assert read_trace(builder.write(tmp_path / "t.json")).start_and_end() == (5_000, 30_000)
