"""What the history returns about the runs that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class KeptRun:
    """One kept run: the columns by which it is found. What was only counted has no device, time or peak."""

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
    """Denoising steps as requested; None if the request does not say, or was kept by an older version."""
    tags: tuple[str, ...] = ()
    picture: bool = False
    """Whether an image is kept with it."""


# The fields that are columns of the table of runs.
COLUMNS = tuple(field.name for field in fields(KeptRun) if field.name not in ("tags", "picture"))


@dataclass(frozen=True)
class FoundRuns:
    """The runs that a search found."""

    runs: tuple[KeptRun, ...]
    damaged: tuple[int, ...] = ()
    """Numbers of those that match, but whose row holds what no row should; `diffprof history repair` is for them."""


@dataclass(frozen=True)
class Series:
    """The runs of one request on one device, in the order of time."""

    newest: KeptRun
    """Says what they have in common."""
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
    """How many series there are, beyond the limit too."""


@dataclass(frozen=True)
class PruneResult:
    """What was removed, or would be."""

    runs: int
    size_bytes: int
    """Bytes of their profiles and images."""
    left: int


@dataclass(frozen=True)
class RepairResult:
    """What `History.repair` could save."""

    saved: int
    lost: tuple[int, ...] = ()
    """Numbers of runs whose profile cannot be read."""
    redated: tuple[int, ...] = ()
    """Numbers of runs whose time was lost: they have that of the run before."""
    is_complete: bool = True
    """Whether the tables could be read to their ends; where not, runs may be lost whose number is not known."""
