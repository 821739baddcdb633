"""Limits of memory and time for opening and counting a model, whose files are untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

from diffprof import settings


@dataclass(frozen=True)
class WorkLimits:
    """Limits of memory and time; None for no limit."""

    memory_bytes: int | None = None
    """Memory in addition to what the process already has."""
    seconds: float | None = None
    """CPU time, so that a busy machine makes no difference."""
    ends_process: bool = False
    """Whether to end the process if nothing else stops the work, as for a command, which does nothing else."""


COMMAND_LINE = WorkLimits(memory_bytes=1_600_000_000, seconds=120, ends_process=True)
"""Published models take up to 1.5 GB, if they are given a video, and 48 seconds on a busy machine; most take a tenth.

A process with the libraries stays below 2 GB.
"""

SERVER = replace(COMMAND_LINE, ends_process=False)
"""The limits of the web app, whose process must go on for other visitors."""

NO_LIMITS = WorkLimits()
_chosen: ContextVar[Mapping[str, float | None] | None] = ContextVar("chosen_work_limits", default=None)
_in_force: ContextVar[WorkLimits] = ContextVar("work_limits", default=NO_LIMITS)


def set_work_limits(limits: WorkLimits) -> None:
    """Set the default limits of this context, which the settings override."""
    _in_force.set(limits)


def set_option(name: str, text: str | None) -> None:
    """Set a limit from an option of the command line, which overrides all settings."""
    if text is None:
        return
    value = settings.read_option(f"limit_{name}", text, f"--limit-{name}")
    _chosen.set({**(_chosen.get() or {}), name: value})


def work_limits() -> WorkLimits:
    """The limits in effect: from the command line, else from the settings, else those of this context."""
    weakest, chosen = _in_force.get(), _chosen.get() or {}

    def value(name: str, otherwise: float | None) -> float | None:
        if name in chosen:
            return chosen[name]
        found = settings.setting(f"limit_{name}")
        return otherwise if found.source == "default" else found.value

    memory = value("memory", weakest.memory_bytes)
    seconds = value("time", weakest.seconds)
    return WorkLimits(None if memory is None else int(memory), seconds, weakest.ends_process)
