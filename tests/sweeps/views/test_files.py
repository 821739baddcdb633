"""A sweep as a file: the same points in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.sweeps.records import COLUMNS, SweepResult
from diffprof.sweeps.run import run_sweep
from tests.sweeps.saved_sweeps import saved_sweep


@pytest.fixture
def result(tmp_path: Path) -> SweepResult:
    return run_sweep(saved_sweep(tmp_path))


def test_csv_json_parquet_and_a_data_frame_hold_the_same(result: SweepResult, tmp_path: Path) -> None:
    from pyarrow import parquet

    macs = [row.macs for row in result.rows]
    with result.save(tmp_path / "s.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["macs"]) for line in lines] == macs
    assert tuple(lines[0]) == COLUMNS
    points = json.loads(result.save(tmp_path / "s.json").read_text(encoding="utf-8"))["points"]
    assert [point["macs"] for point in points] == macs
    table = parquet.read_table(result.save(tmp_path / "s.parquet"))
    assert table.column("macs").to_pylist() == macs
    assert table.column_names == list(COLUMNS)
    assert str(table.schema.field("fits").type) == "bool"
    assert list(result.to_pandas()["macs"]) == macs


def test_the_page_has_charts_and_the_table(result: SweepResult, tmp_path: Path) -> None:
    page = result.save(tmp_path / "s.html").read_text(encoding="utf-8")
    assert "chart-0" in page
    assert "h100-sxm" in page


def test_an_ending_that_means_nothing_is_refused(result: SweepResult, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"use one of \.csv, \.json, \.parquet, \.md, \.html, \.txt"):
        result.save(tmp_path / "s.xlsx")
