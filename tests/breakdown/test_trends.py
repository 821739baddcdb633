"""A trend says how the newest run compares with those before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.breakdown.trends import TrendRow, trend_table
from diffprof.record.history import KeptRun, Series, Trend
from tests.record.history.kept_runs import four_runs

NEWEST = KeptRun(
    id=14, created_at="2026-01-14T00:00:00.000000Z", kind="run", model="sdxl", pipeline="StableDiffusionXLPipeline",
    device="Xeon", device_kind="cpu", dtype="float16", height=512, width=768, frames=None, steps=30,
    macs=1, parameters=2, iterations=3, wall_seconds=4.0, peak_memory_bytes=5, request="0123456789abcdef",
    diffprof="0.1.0", python="3.11.7", torch="2.13.0", diffusers="0.42.1", transformers="5.22.2",
)  # fmt: skip


def row_of(*values: float) -> TrendRow:
    """The row of one series with these values, of runs that are numbered from 11."""
    ids = tuple(range(11, 11 + len(values)))
    moments = tuple(f"2026-01-{run}T00:00:00.000000Z" for run in ids)
    (row,) = trend_table(Trend("wall_seconds", (Series(NEWEST, ids, moments, values),), 1))
    return row


def test_a_row_has_what_the_series_have_in_common() -> None:
    row = row_of(1.0, 2.0)
    assert (row.model, row.height, row.width, row.steps, row.dtype) == ("sdxl", 512, 768, 30, "float16")
    assert (row.device, row.request) == ("Xeon", "0123456789abcdef")


def test_first_last_least_median_and_most() -> None:
    row = row_of(5.0, 1.0, 4.0, 2.0)
    assert (row.runs, row.first, row.last, row.least, row.median, row.most) == (4, 5.0, 2.0, 1.0, 3.0, 5.0)
    assert (row.first_at, row.last_at, row.last_run) == (
        "2026-01-11T00:00:00.000000Z",
        "2026-01-14T00:00:00.000000Z",
        14,
    )


def test_the_newest_is_compared_with_the_median_of_those_before_it() -> None:
    assert row_of(1.0, 100.0, 2.0, 3.0).ratio == 1.5


@pytest.mark.parametrize("values", [(1.0,), (0.0, 0.0), (0, 5)])
def test_there_is_no_ratio_without_anything_to_compare_with(values: tuple[float, ...]) -> None:
    assert row_of(*values).ratio is None


def test_of_a_real_history_each_series_has_its_row(tmp_path: Path) -> None:
    history = four_runs(tmp_path / "other.sqlite")
    slower, other = trend_table(history.trend("wall_seconds"))
    assert (slower.last_run, slower.runs, slower.ratio) == (4, 2, pytest.approx(1.1, rel=1e-3))
    assert (other.model, other.runs, other.ratio) == ("other/model", 1, None)
