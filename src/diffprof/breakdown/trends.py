"""A metric over the runs of the same request on the same device."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from diffprof.record.history import Series, Trend


@dataclass(frozen=True)
class TrendRow:
    """The runs of one request on one device. Values are in the unit that the metric's name ends in."""

    model: str
    pipeline: str
    device: str | None
    dtype: str | None
    height: int | None
    width: int | None
    frames: int | None
    steps: int
    """Executed denoising steps."""
    requested_steps: int | None
    request: str
    """Digest of the request."""
    runs: int
    first_at: str
    last_at: str
    last_run: int
    """Number of the newest run."""
    first: float
    last: float
    least: float
    median: float
    most: float
    ratio: float | None
    """The newest value relative to the median of all before it; None if there is none, or if it is 0."""


def trend_table(trend: Trend) -> list[TrendRow]:
    """One row for each series, in the same order."""
    return [_row(series) for series in trend.series]


def _row(series: Series) -> TrendRow:
    newest, values = series.newest, series.values
    return TrendRow(
        model=newest.model,
        pipeline=newest.pipeline,
        device=newest.device,
        dtype=newest.dtype,
        height=newest.height,
        width=newest.width,
        frames=newest.frames,
        steps=newest.steps,
        requested_steps=newest.requested_steps,
        request=newest.request,
        runs=len(values),
        first_at=series.moments[0],
        last_at=series.moments[-1],
        last_run=series.ids[-1],
        first=values[0],
        last=values[-1],
        least=min(values),
        median=statistics.median(values),
        most=max(values),
        ratio=_ratio(values[:-1], values[-1]),
    )


def _ratio(before: tuple[float, ...], last: float) -> float | None:
    median = statistics.median(before) if before else 0
    return last / median if median else None
