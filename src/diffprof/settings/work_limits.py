"""How much memory and time opening and counting a model may take: a model's files come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

from diffprof import settings


@dataclass(frozen=True)
class WorkLimits:
    """None is no limit."""

    memory_bytes: int | None = None
    """Beyond what the process has taken before."""
    seconds: float | None = None
    """Of the processor's time, so that a busy machine changes nothing."""
    ends_process: bool = False
    """Whether the process is ended where nothing else ends the work: one that does nothing else, as a command."""


COMMAND_LINE = WorkLimits(memory_bytes=1_600_000_000, seconds=120, ends_process=True)
"""Published models take up to 1.5 GB, if they are given a video, and 48 seconds on a busy machine; most take a tenth.

A process with the libraries stays below 2 GB.
"""

SERVER = replace(COMMAND_LINE, ends_process=False)
"""A page goes on for its other visitors, whatever one of them opens."""

NO_LIMITS = WorkLimits()
_chosen: ContextVar[Mapping[str, float | None] | None] = ContextVar("chosen_work_limits", default=None)
_in_force: ContextVar[WorkLimits] = ContextVar("work_limits", default=NO_LIMITS)


def set_work_limits(limits: WorkLimits) -> None:
    """Set what holds where the settings say nothing; in this context only."""
    _in_force.set(limits)


def set_option(name: str, text: str | None) -> None:
    """Set one of the two as the command line gives it, which is stronger than any setting."""
    if text is None:
        return
    value = settings.read_option(f"limit_{name}", text, f"--limit-{name}")
    _chosen.set({**(_chosen.get() or {}), name: value})


def work_limits() -> WorkLimits:
    """What is in force: an option of the command line, else a setting, else what was set for this context."""
    weakest, chosen = _in_force.get(), _chosen.get() or {}

    def value(name: str, otherwise: float | None) -> float | None:
        if name in chosen:
            return chosen[name]
        found = settings.setting(f"limit_{name}")
        return otherwise if found.source == "default" else found.value

    memory = value("memory", weakest.memory_bytes)
    seconds = value("time", weakest.seconds)
    return WorkLimits(None if memory is None else int(memory), seconds, weakest.ends_process)
