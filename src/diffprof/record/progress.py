"""Progress of long work, as events; `diffprof.render.progress` puts them into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Activity(Enum):
    """What is being done."""

    opening = "opening"
    """A model's configuration is read and its pipeline built."""
    counting = "counting"
    crosschecking = "crosschecking"
    """A component is counted with another tool."""
    fetching = "fetching"
    """Weights are downloaded; `done` and `total` are bytes."""
    loading = "loading"
    """Weights are read from files; `done` and `total` are components."""
    initializing = "initializing"
    """Random weights are created; `done` and `total` are components."""
    checking_memory = "checking_memory"
    generating = "generating"
    denoising = "denoising"
    """A denoising step of a generation has ended; `done` and `total` are steps."""
    warming_up = "warming_up"
    measuring = "measuring"
    tracing = "tracing"
    reading = "reading"
    """Files that were dropped into the page are read."""
    sweeping = "sweeping"
    """Requests of a sweep are answered; `done` and `total` are requests."""


@dataclass(frozen=True)
class Position:
    """One of several, counted from 1."""

    number: int
    count: int


@dataclass(frozen=True)
class ProgressEvent:
    """What is going on, and how much of it is done; None where that is not known."""

    activity: Activity
    subject: str = ""
    """The model, component or tool that it is done with."""
    done: int | None = None
    total: int | None = None
    step_seconds: float | None = None
    """How long the denoising step took that has just ended."""
    remaining_seconds: float | None = None
    """An estimate for all that is left, later models of a batch included."""
    iteration: Position | None = None
    """Which of the measured calls, or of the warm-ups."""
    model: Position | None = None
    """Which model of a batch."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Call arguments that differ from those of the request, where it is counted at more sizes or steps."""


Progress = Callable[[ProgressEvent], None]
"""Called with every event. What it raises ends the work."""

ProgressCallback = Callable[[str, int | None, int | None], None]
"""What users pass: called with a message, how much is done, and of how much. What it raises ends the work."""
