"""Every question is answered through an index: with 100,000 runs, none looks at all of them to show twenty."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from diffprof.record.history import METRICS, ORDERS, Filters
from diffprof.record.history.filters import Query, count, points, selection, series
from tests.record.history.kept_runs import four_runs

THEN = datetime(2026, 1, 1, tzinfo=timezone.utc)
FILTERS = {
    "runs_by_model": Filters(model="sdxl"),
    "runs_by_kind": Filters(kind="run"),
    "runs_by_dtype": Filters(dtype="float16"),
    "runs_by_device": Filters(device="cpu"),
    "runs_by_time": Filters(since=THEN, until=THEN),
    "tags_by_tag": Filters(tag="baseline"),
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(four_runs(tmp_path / "h.sqlite").path)) as opened:
        yield opened


def plan(connection: sqlite3.Connection, query: Query) -> list[str]:
    steps = connection.execute(f"EXPLAIN QUERY PLAN {query.sql}", query.values)
    # Older versions of SQLite say SCAN TABLE.
    return [step.replace(" TABLE ", " ") for *_, step in steps]


@pytest.mark.parametrize("order", ORDERS)
def test_the_first_page_in_any_order_is_read_from_an_index_without_sorting(
    order: str, connection: sqlite3.Connection
) -> None:
    name = "runs_by_time" if order == "created_at" else f"runs_by_{order}"
    (step,) = plan(connection, selection(Filters(), order, False, 20, 0))
    assert f"USING COVERING INDEX {name}" in step


@pytest.mark.parametrize("index", FILTERS)
def test_a_filter_is_a_search_in_its_index(index: str, connection: sqlite3.Connection) -> None:
    for query in (selection(FILTERS[index], "created_at", False, 20, 0), count(FILTERS[index])):
        steps = plan(connection, query)
        assert any(f"INDEX {index}" in step for step in steps), steps
        assert not any(step.startswith("SCAN") for step in steps), steps


@pytest.mark.parametrize("index", ["runs_by_model", "runs_by_kind", "runs_by_dtype", "runs_by_time"])
def test_the_newest_of_a_filter_come_without_sorting(index: str, connection: sqlite3.Connection) -> None:
    steps = plan(connection, selection(FILTERS[index], "created_at", False, 20, 0))
    assert not any("TEMP B-TREE" in step for step in steps), steps


def test_several_filters_still_search(connection: sqlite3.Connection) -> None:
    several = Filters(model="sdxl", kind="run", dtype="float16", device="cuda", since=THEN, tag="baseline")
    assert not any(step.startswith("SCAN") for step in plan(connection, selection(several, "macs", False, 20, 0)))


@pytest.mark.parametrize("metric", METRICS)
def test_a_trend_reads_one_index_and_not_the_table(metric: str, connection: sqlite3.Connection) -> None:
    grouped, *more = plan(connection, series(metric, Filters()))
    assert "USING COVERING INDEX runs_by_series" in grouped
    # The groups come out of the index; only the few that there are have to be sorted by their newest run.
    assert more == ["USE TEMP B-TREE FOR ORDER BY"]
    (step,) = plan(connection, points(metric, Filters(), "0123", "cpu"))
    assert "SEARCH runs USING COVERING INDEX runs_by_series (request=? AND device=?)" in step


@pytest.mark.parametrize("index", FILTERS)
def test_the_points_of_a_filtered_trend_are_searched(index: str, connection: sqlite3.Connection) -> None:
    steps = plan(connection, points("macs", FILTERS[index], "0123", None))
    assert not any(step.startswith("SCAN") for step in steps), steps


def test_a_search_for_words_is_the_one_that_reads_all_runs(connection: sqlite3.Connection) -> None:
    (scan, sort) = plan(connection, selection(Filters(text="cat"), "created_at", False, 20, 0))
    assert (scan, sort) == ("SCAN runs", "USE TEMP B-TREE FOR ORDER BY")
