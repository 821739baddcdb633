"""What the history tells about the runs that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Kept:
    """One kept run: the figures that it is found by. What was only counted has no device, no time and no peak."""

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
    """That the time is the median of."""
    wall_seconds: float | None
    """Median over the timed iterations of a whole call of the pipeline."""
    peak_memory_bytes: int | None
    """The most that was in use: on the device where it tells, else by the process."""
    request: str
    """Digest of what was asked for but for words and seeds: runs with the same one can be compared over time."""
    diffprof: str
    python: str
    torch: str
    diffusers: str
    transformers: str
    tags: tuple[str, ...] = ()
    picture: bool = False
    """Whether a picture is kept with it."""


# The fields that are columns of the table of runs.
COLUMNS = tuple(field.name for field in fields(Kept) if field.name not in ("tags", "picture"))


@dataclass(frozen=True)
class Series:
    """The runs of one request on one device, in the order of time."""

    newest: Kept
    """Says what they have in common."""
    ids: tuple[int, ...]
    moments: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Trend:
    """How one figure went."""

    metric: str
    series: tuple[Series, ...]
    """That with the newest run first."""
    total: int
    """How many there are, those that were not asked for included."""


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be."""

    runs: int
    size_bytes: int
    """Of their profiles and pictures."""
    left: int
