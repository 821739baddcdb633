"""The runs of the history and their trends as tables, JSON, CSV and Markdown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.breakdown.trends import TrendRow, trend_table
from diffprof.record.history import KeptRun, PruneResult, RepairResult, Trend
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.clean import clean
from diffprof.render.columns import Column

if TYPE_CHECKING:
    from rich.console import Console

FORMAT_NAME = "diffprof-history"

# 1: the first. docs/history.schema.json describes it.
FORMAT_VERSION = 1

UNKNOWN = "-"
SPARKS = 24
LONGEST_NAME = 28

METRICS: dict[str, tuple[str, Callable[[float], str]]] = {
    "wall_seconds": ("Time of one call of the pipeline", lambda value: numbers.nanoseconds(value * 1e9)),
    "peak_memory_bytes": ("Peak memory", lambda value: numbers.gigabytes(round(value))),
    "macs": ("MACs of one generation", lambda value: numbers.macs(round(value))),
    "parameters": ("Parameters", lambda value: numbers.parameters(round(value))),
}


KEPT_AT = "kept (UTC)"


def print_runs(runs: Sequence[KeptRun], total: int, console: Console, offset: int = 0) -> None:
    """Print the runs as a table, and how many there are in total."""
    print_blocks([_runs_block(runs, total, offset)], console)


def runs_markdown(runs: Sequence[KeptRun], total: int, offset: int = 0) -> str:
    """The runs as Markdown."""
    return markdown([_runs_block(runs, total, offset)])


def _runs_block(runs: Sequence[KeptRun], total: int, offset: int) -> Block:
    return Block(columns=run_columns(runs) if runs else (), after=[_range("run", len(runs), total, offset)])


def run_columns(runs: Sequence[KeptRun]) -> list[Column]:
    """The columns that distinguish one run from another."""
    columns = [
        Column("run", [str(run.id) for run in runs], style="bold"),
        Column(KEPT_AT, [_minute_of(run.created_at) for run in runs], rank=3, justify="left"),
        Column("kind", [run.kind for run in runs], rank=5, justify="left"),
        Column("model", [numbers.shorten(run.model, LONGEST_NAME) for run in runs], justify="left", least=12),
        Column("size", [_size(run) for run in runs], rank=4, justify="left"),
        Column("steps", [_steps(run) for run in runs], rank=4),
        Column("dtype", [run.dtype or UNKNOWN for run in runs], rank=8, justify="left"),
        Column("device", [_device(run.device) for run in runs], rank=7, justify="left"),
        Column("MACs", [numbers.short(round(run.macs)) for run in runs], rank=2),
        Column("time", [_format_metric("wall_seconds", run.wall_seconds) for run in runs], rank=1),
        Column("memory", [_format_metric("peak_memory_bytes", run.peak_memory_bytes) for run in runs], rank=2),
        Column("tags", [", ".join(run.tags) for run in runs], rank=6, justify="left", least=10),
    ]
    return _non_empty(columns)


def print_trend(trend: Trend, console: Console) -> None:
    """Print the trend: a row for each request and device, with a sparkline."""
    print_blocks([_trend_block(trend, console.options.ascii_only)], console)


def trend_markdown(trend: Trend) -> str:
    """The trend as Markdown."""
    return markdown([_trend_block(trend)])


def _trend_block(trend: Trend, ascii_only: bool = False) -> Block:
    rows = trend_table(trend)
    title, _ = METRICS[trend.metric]

    def cells(value: Callable[[TrendRow], float]) -> list[str]:
        return [_format_metric(trend.metric, value(row)) for row in rows]

    columns = [
        Column("model", [numbers.shorten(row.model, LONGEST_NAME) for row in rows], justify="left", least=12),
        Column("size", [_size(row) for row in rows], rank=3, justify="left"),
        Column("steps", [_steps(row) for row in rows], rank=3),
        Column("dtype", [row.dtype or UNKNOWN for row in rows], rank=7, justify="left"),
        Column("device", [_device(row.device) for row in rows], rank=4, justify="left"),
        Column("runs", [numbers.exact(row.runs) for row in rows], rank=2),
        Column(
            "oldest to newest",
            [numbers.sparkline(one.values, SPARKS, ascii_only) for one in trend.series],
            rank=1,
            justify="left",
            style="cyan",
        ),
        Column("first", cells(lambda row: row.first), rank=5),
        Column("median", cells(lambda row: row.median), rank=2),
        Column("last", cells(lambda row: row.last)),
        Column(
            "vs\nearlier",
            [UNKNOWN if row.ratio is None else numbers.factor(row.ratio) for row in rows],
        ),
        Column("last\nrun", [str(row.last_run) for row in rows], rank=6),
        Column("request", [row.request for row in rows], rank=8, justify="left", style="dim"),
    ]
    count = _range("series", len(rows), trend.total, plural="series")
    return Block(title, columns=_non_empty(columns), after=[count]) if rows else Block(lines=[count])


def runs_json(runs: Sequence[KeptRun], total: int) -> str:
    """The runs as JSON."""
    return _json({"total": total, "runs": [dataclasses.asdict(run) for run in runs]})


def runs_csv(runs: Sequence[KeptRun]) -> str:
    """The runs as CSV: exact numbers, no units."""
    from diffprof.render.csv import table_csv

    return table_csv([field.name for field in dataclasses.fields(KeptRun)], [_plain_row(run) for run in runs])


def trend_json(trend: Trend) -> str:
    """The series with all their points as JSON."""
    series = [
        {
            **dataclasses.asdict(row),
            "points": [
                {"run": run, "created_at": moment, "value": value}
                for run, moment, value in zip(one.ids, one.moments, one.values, strict=True)
            ],
        }
        for row, one in zip(trend_table(trend), trend.series, strict=True)
    ]
    return _json({"metric": trend.metric, "total": trend.total, "series": series})


def trend_csv(trend: Trend) -> str:
    """The series as CSV, without their points."""
    from diffprof.render.csv import table_csv

    names = [field.name for field in dataclasses.fields(TrendRow)]
    return table_csv(names, [dataclasses.asdict(row) for row in trend_table(trend)])


def kept_line(run: KeptRun) -> str:
    """``Run 7: kept 2026-01-31 12:00 UTC from `diffprof run`, tagged baseline``"""
    tags = f", tagged {', '.join(run.tags)}" if run.tags else ""
    picture = ", with an image" if run.picture else ""
    return clean(f"Run {run.id}: kept {_minute_of(run.created_at)} UTC from `diffprof {run.kind}`{tags}{picture}")


def pruned_line(pruned: PruneResult, dry_run: bool) -> str:
    """``Removed 3 runs, 2.10 MB; 7 runs are left``"""
    done = "Would remove" if dry_run else "Removed"
    left = f"{numbers.times(pruned.left, 'run')} {'is' if pruned.left == 1 else 'are'} left"
    return f"{done} {numbers.times(pruned.runs, 'run')}, {numbers.gigabytes(pruned.size_bytes)}; {left}"


def repaired_line(repaired: RepairResult) -> str:
    """``3 runs; lost: run 2``"""
    parts = [numbers.times(repaired.saved, "run")]
    if repaired.lost:
        parts.append(f"lost: {_runs(repaired.lost)}")
    if repaired.redated:
        parts.append(f"with a lost date, replaced by that of the run before: {_runs(repaired.redated)}")
    if not repaired.is_complete:
        parts.append("the tables are damaged, and further runs may be lost")
    return "; ".join(parts)


def damage_line(damaged: Sequence[int]) -> str:
    """``Not shown, because their rows are damaged: runs 2, 3; ...``"""
    whose = "its row is" if len(damaged) == 1 else "their rows are"
    return (
        f"Not shown, because {whose} damaged: {_runs(damaged)}; `diffprof history repair FILE` writes a copy of the "
        "others."
    )


MAX_NUMBERS = 10


def _runs(numbers_of_runs: Sequence[int]) -> str:
    word = "run" if len(numbers_of_runs) == 1 else "runs"
    more = len(numbers_of_runs) - MAX_NUMBERS
    listed = ", ".join(map(str, numbers_of_runs[:MAX_NUMBERS]))
    return f"{word} {listed}{f' and {numbers.exact(more)} more' if more > 0 else ''}"


def _non_empty(columns: Sequence[Column]) -> list[Column]:
    """Leave out columns without any known value, such as the time of profiles that were only counted."""
    return [column for column in columns if any(cell not in ("", UNKNOWN) for cell in column.cells)]


def _json(values: dict[str, Any]) -> str:
    return json.dumps({"format": {"name": FORMAT_NAME, "version": FORMAT_VERSION}, **values}, indent=2) + "\n"


def _plain_row(run: KeptRun) -> dict[str, Any]:
    return {**vars(run), "tags": "; ".join(run.tags)}


def _format_metric(metric: str, value: float | None) -> str:
    return UNKNOWN if value is None else METRICS[metric][1](value)


def _minute_of(created_at: str) -> str:
    return created_at[:16].replace("T", " ")


def _steps(run: KeptRun | TrendRow) -> str:
    """``21 (22 executed)``, or one number if both are the same."""
    executed, requested = run.steps, run.requested_steps
    if requested is None or requested == executed:
        return numbers.exact(executed)
    return f"{numbers.exact(requested)} ({numbers.exact(executed)} executed)"


def _size(run: KeptRun | TrendRow) -> str:
    size = f"{run.width}x{run.height}" if run.width and run.height else ""
    frames = numbers.times(run.frames, "frame") if run.frames else ""
    return ", ".join(part for part in (size, frames) if part) or UNKNOWN


def _device(name: str | None) -> str:
    return numbers.shorten(name, LONGEST_NAME) if name else UNKNOWN


def _range(noun: str, shown: int, total: int, offset: int = 0, plural: str | None = None) -> str:
    """``Runs 1 to 20 of 100,000``, or ``7 runs`` if all are shown."""
    all_of_them = plural or f"{noun}s"
    if shown == total:
        return f"{numbers.exact(total)} {noun if total == 1 else all_of_them}"
    if not shown:
        return f"None of {numbers.exact(total)} {all_of_them} from number {numbers.exact(offset + 1)} on"
    numbered = f"{numbers.exact(offset + 1)} to {numbers.exact(offset + shown)}"
    return f"{all_of_them.capitalize()} {numbered} of {numbers.exact(total)}; --limit shows more"
