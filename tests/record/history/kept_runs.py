"""Histories with known runs in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from diffprof.errors import DiffprofError
from diffprof.record.history import History
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, GPU, iteration_on
from tests.sample_profiles import measured_profile, nothing, stable_diffusion

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def clock(start: datetime = NOON) -> Callable[[], datetime]:
    """A clock that moves on by a day each time it is looked at."""
    days = iter(range(10**6))
    return lambda: start + timedelta(days=next(days))


def with_model_name(profile: Profile, model: str) -> Profile:
    return replace(profile, request=replace(profile.request, model=model))


def run_of_length(times: float) -> Profile:
    """A run on the CPU of which each iteration took so many times as long as usual."""
    return measured_profile(device=CPU, iterations=[iteration_on(CPU, times=times)])


def four_runs(path: Path) -> History:
    """1: counted. 2: on the CPU. 3: on the GPU, another model, tagged. 4: on the CPU again, a tenth slower."""
    history = History(path, now=clock())
    history.add(stable_diffusion(), "profile")
    history.add(run_of_length(1), "run", tags=["baseline"])
    history.add(
        with_model_name(measured_profile(device=GPU), "other/model"), "generate", ["nice", "baseline"], picture=b"PNG"
    )
    history.add(run_of_length(1.1), "run")
    return history


def refusals(history: History) -> list[str]:
    """The error message of every way of using it."""
    messages = []
    for use in (
        history.find,
        history.count,
        lambda: history.get(1),
        lambda: history.trend("macs"),
        lambda: history.add(nothing(), "run"),
        lambda: history.tag(1, "x"),
        lambda: history.prune(keep=0),
        lambda: history.prune(keep=0, dry_run=True),
        history.check_writable,
    ):
        with pytest.raises(DiffprofError) as error:
            use()
        assert error.value.exit_code == 2
        messages.append(str(error.value))
    return messages
