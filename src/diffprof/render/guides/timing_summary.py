"""Timings of operations and iterations as text tables, laid out as in the guides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.numbers import duration, shorten

NAME_WIDTH = 50
PART_WIDTH = 20
COUNT_WIDTH = 8
TIME_WIDTH = 11
STATISTICS = (("Mean", "mean"), ("Median", "median"), ("Min", "min"), ("Max", "max"), ("Std", "std"))


def timing_summary(operations: Mapping[str, Mapping[str, Any]], top_n: int | None = 20) -> str:
    """A table of the first `top_n` operations, in the given order."""
    top = dict(list(operations.items())[:top_n])
    with_device = any("device" in stats for stats in operations.values())
    titles = ["Total", *(["On device"] if with_device else []), "Mean", "Min", "Max"]
    lines = [_row("Operation", "Count", titles)]
    rows = [_operation(name, stats, with_device) for name, stats in top.items()] or ["nothing was timed"]
    notes = [*_omission_note(operations, top), *_failures(top)]
    return frame_table("PROFILING SUMMARY - Top Operations by Total Time", lines, rows, notes)


def iteration_summary(run: Mapping[str, Any]) -> str:
    """A table of the iterations of a loop, with separate statistics for the warm-up."""
    title = f"ITERATION SUMMARY - {clean(run['name'])}"
    heading = [_row("", "Count", [name for name, _ in STATISTICS], PART_WIDTH)]
    rows = [*_part("iterations", run["statistics"]), *_part("warm-up, excluded", run["warm_up_statistics"])]
    return frame_table(title, heading, rows or ["no iteration was timed"], _iteration_notes(run))


def frame_table(title: str, heading: Sequence[str], rows: Sequence[str], notes: Sequence[str]) -> str:
    """A table between double rules, with notes below it."""
    width = max(80, *(len(line) for line in (*heading, *rows)))
    double, single = "=" * width, "-" * width
    return "\n".join([double, title, double, *heading, single, *rows, double, *notes])


def _operation(name: str, stats: Mapping[str, Any], with_device: bool) -> str:
    device = [duration(stats["device"]["total"]) if "device" in stats else "-"] if with_device else []
    times = [duration(stats["total"]), *device, *(duration(stats[key]) for key in ("mean", "min", "max"))]
    return _row(clean(name), numbers.exact(stats["count"]), times)


def _part(label: str, stats: Mapping[str, Any] | None) -> list[str]:
    if stats is None:
        return []
    device = [_statistics_row("  on device", stats["device"])] if "device" in stats else []
    return [_statistics_row(label, stats), *device]


def _statistics_row(label: str, stats: Mapping[str, Any]) -> str:
    # A single iteration has no deviation; 0 would look like a perfectly steady loop.
    alone = stats["count"] == 1
    times = ["-" if alone and key == "std" else duration(stats[key]) for _, key in STATISTICS]
    return _row(label, numbers.exact(stats["count"]), times, PART_WIDTH)


def _row(name: str, count: str, times: Sequence[str], name_width: int = NAME_WIDTH) -> str:
    cells = "".join(f" {time:>{TIME_WIDTH}}" for time in times)
    return f"{shorten(name, name_width):<{name_width}} {count:>{COUNT_WIDTH}}{cells}"


def _omission_note(operations: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    more = len(operations) - len(shown)
    return [f"and {numbers.times(more, 'operation')} with less time"] if more else []


def _failures(shown: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"{clean(name)}: {numbers.exact(stats['errors'])} of {numbers.exact(stats['count'])} raised an exception"
        for name, stats in shown.items()
        if stats["errors"]
    ]


def _iteration_notes(run: Mapping[str, Any]) -> list[str]:
    notes = []
    if run["first"] is not None:
        notes.append(f"first iteration {duration(run['first'])}")
    stats = run["statistics"]
    if stats is not None and stats["count"] > 1:
        notes.append(f"spread {numbers.percent_of(stats['spread'])} (standard deviation over mean)")
    failed = sum(part["errors"] for part in (stats, run["warm_up_statistics"]) if part is not None)
    if failed:
        notes.append(f"{numbers.times(failed, 'iteration')} raised an exception")
    return notes
