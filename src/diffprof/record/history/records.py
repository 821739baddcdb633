"""Records that the history returns about its runs."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class KeptRun:
    """The summary of one kept run. A run that was only counted has no device, time or peak."""

    id: int
    created_at: str
    """When it was kept, in UTC, such as ``2026-01-31T12:00:00.000000Z``."""
    kind: str
    """profile, run or generate."""
    model: str
    pipeline: str
    device: str | None
    device_kind: str | None
    dtype: str | None
    height: int | None
    width: int | None
    frames: int | None
    steps: int
    """Denoising steps as executed."""
    macs: int
    parameters: int
    iterations: int | None
    """The number of timed iterations, of which the time is the median."""
    wall_seconds: float | None
    """Median over the timed iterations of a whole call of the pipeline."""
    peak_memory_bytes: int | None
    """The highest memory in use: on the device if it reports it, else of the process."""
    request: str
    """Digest of the request without prompts and seeds: runs with equal digests can be compared over time."""
    diffprof: str
    python: str
    torch: str
    diffusers: str
    transformers: str
    requested_steps: int | None = None
    """Denoising steps as requested; None if the request does not give them, or was kept by an older version."""
    tags: tuple[str, ...] = ()
    picture: bool = False
    """Whether an image is kept with the run."""


# The fields that are columns of the table of runs.
COLUMNS = tuple(field.name for field in fields(KeptRun) if field.name not in ("tags", "picture"))


@dataclass(frozen=True)
class FoundRuns:
    """The runs that a search found."""

    runs: tuple[KeptRun, ...]
    damaged: tuple[int, ...] = ()
    """Numbers of matching runs whose row is damaged; `diffprof history repair` can save them."""


@dataclass(frozen=True)
class Series:
    """The runs of one request on one device, in chronological order."""

    newest: KeptRun
    """The newest run, which describes what all have in common."""
    ids: tuple[int, ...]
    moments: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Trend:
    """One metric over time."""

    metric: str
    series: tuple[Series, ...]
    """The one with the newest run first."""
    total: int
    """The number of series, including those beyond the limit."""


@dataclass(frozen=True)
class PruneResult:
    """The runs that were removed, or would be."""

    runs: int
    size_bytes: int
    """Bytes of their profiles and images."""
    left: int


@dataclass(frozen=True)
class RepairResult:
    """The result of `History.repair`."""

    saved: int
    lost: tuple[int, ...] = ()
    """Numbers of runs whose profile cannot be read."""
    redated: tuple[int, ...] = ()
    """Numbers of runs whose time was lost; they have the time of the previous run."""
    is_complete: bool = True
    """Whether the tables could be read to their ends; if not, runs with unknown numbers may be lost."""
