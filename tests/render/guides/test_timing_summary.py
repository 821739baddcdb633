"""Timings as the guides' tables."""

from __future__ import annotations

from typing import Any

from diffprof.render.guides.timing_summary import frame_table, iteration_summary, timing_summary


def statistics(count: int = 2, errors: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "count": count, "total": 3.0, "mean": 1.5, "median": 1.5, "min": 1.0, "max": 2.0, "std": 0.5, "spread": 1 / 3,
        "errors": errors, **more,
    }  # fmt: skip


def test_the_frame_is_as_wide_as_its_longest_row() -> None:
    lines = frame_table("T", ["h"], ["r" * 90], ["note"]).splitlines()
    assert lines[0] == "=" * 90
    assert lines[-1] == "note"


def test_operations_beyond_the_top_are_counted_in_a_note() -> None:
    text = timing_summary({"a": statistics(), "b": statistics(), "c": statistics()}, top_n=1)
    assert text.splitlines()[-1] == "and 2 operations with less time"


def test_device_times_get_a_column_if_there_are_any() -> None:
    assert "On device" not in timing_summary({"a": statistics()})
    text = timing_summary({"a": statistics(device={"total": 2.5}), "b": statistics()})
    (row,) = [line.split() for line in text.splitlines() if line.startswith("b ")]
    assert row[2:4] == ["3.000s", "-"]


def test_failures_are_named_below_the_table() -> None:
    assert timing_summary({"a": statistics(errors=1)}).endswith("a: 1 of 2 raised an exception")


def test_a_single_iteration_has_no_deviation_and_no_spread() -> None:
    run = {"name": "steps", "statistics": statistics(count=1), "warm_up_statistics": None, "first": 1.5}
    text = iteration_summary(run)
    (row,) = [line.split() for line in text.splitlines() if line.startswith("iterations")]
    assert row[-1] == "-"
    assert "spread" not in text


def test_the_warm_up_has_its_own_row() -> None:
    run = {"name": "steps", "statistics": statistics(), "warm_up_statistics": statistics(count=1), "first": 2.0}
    text = iteration_summary(run)
    assert "warm-up, excluded" in text
    assert "first iteration 2.000s" in text
    assert "spread 33.3 %" in text
