"""Progress of long work, as events; `diffprof.render.progress` makes sentences of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Activity(Enum):
    """Kinds of work."""

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
    """Files that were dropped on the page are read."""
    sweeping = "sweeping"
    """Requests of a sweep are answered; `done` and `total` are requests."""


@dataclass(frozen=True)
class Position:
    """One of several, counted from 1."""

    number: int
    count: int


@dataclass(frozen=True)
class ProgressEvent:
    """The current activity and its progress; None for values that are not known."""

    activity: Activity
    subject: str = ""
    """The model, component or tool."""
    done: int | None = None
    total: int | None = None
    step_seconds: float | None = None
    """The duration of the denoising step that has just ended."""
    remaining_seconds: float | None = None
    """An estimate for the remaining work, including later models of a batch."""
    iteration: Position | None = None
    """The measured call or warm-up."""
    model: Position | None = None
    """The model of a batch."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Call arguments that differ from the request, if it is counted at several sizes or steps."""


Progress = Callable[[ProgressEvent], None]
"""Called with every event. An exception that it raises ends the work."""

ProgressCallback = Callable[[str, int | None, int | None], None]
"""The callback of users: called with a message, the done amount and the total. Its exceptions end the work."""
