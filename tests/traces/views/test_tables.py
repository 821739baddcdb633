"""The tables of one trace."""

from __future__ import annotations

import pytest

from diffprof.traces.views.tables import EMPTY_TABLE, TraceBy, row_count, table_columns
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

TABLES = [by for by in TraceBy if by is not TraceBy.check]


@pytest.mark.parametrize("by", TABLES)
def test_every_column_of_a_table_has_all_its_rows(by: TraceBy, explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    columns = table_columns(explanation, by, 100, ascii_only=True)
    (rows,) = {len(column.cells) for column in columns}
    # A timeline has a row for each part and one for the total.
    assert rows == (4 if by is TraceBy.timeline else row_count(explanation, by))


@pytest.mark.parametrize("by", TABLES)
def test_an_empty_table_has_a_message(by: TraceBy) -> None:
    assert EMPTY_TABLE[by]


def test_the_longest_gaps_come_first_up_to_the_requested_number(explain_built: Explain) -> None:
    columns = table_columns(explain_built(two_denoising_steps()), TraceBy.gap, 2, ascii_only=True)
    assert next(column.cells for column in columns if column.name == "idle for") == ["0.220 ms", "0.100 ms"]


def test_the_timeline_of_several_devices_names_them(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 10)
    builder.gpu("gemm", 0, 10, device=1)
    device = table_columns(explain_built(builder), TraceBy.timeline, 10, ascii_only=True)[0]
    assert list(dict.fromkeys(device.cells)) == ["GPU 0", "GPU 1"]
