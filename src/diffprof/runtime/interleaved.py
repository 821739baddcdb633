"""Measure several pipelines in turns, so that other load on the machine affects all of them alike."""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diffprof.errors import RequestError
from diffprof.pipelines.components import is_pipeline
from diffprof.pipelines.opening import open_live
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.repetition import RepeatedCall, check_repeats


def measure_interleaved(
    pipelines: Sequence[Any], arguments: dict[str, Any], warmup: int, iterations: int, progress: Progress | None
) -> tuple[Profile, ...]:
    """Call every pipeline once in each round, in a random order; one profile for each pipeline."""
    if len(pipelines) < 2 or len({id(pipeline) for pipeline in pipelines}) < len(pipelines):
        raise RequestError("measuring in turns needs at least two different pipelines; `diffprof.measure` takes one")
    for pipeline in pipelines:
        if not is_pipeline(pipeline):
            raise RequestError(f"cannot measure a {type(pipeline).__name__}; give live diffusers pipelines")
    check_repeats(warmup, iterations)
    sides = [_Side(pipeline, arguments, progress) for pipeline in pipelines]
    rng = random.Random(0)
    with contextlib.ExitStack() as monitored:
        for side in sides:
            side.measurement.start()
            monitored.callback(side.measurement.stop)
        for number in range(iterations):
            for side in rng.sample(sides, len(sides)):
                side.call.run(side.measurement, warmup if number == 0 else 0, 1)
    turns = secrets.token_hex(8)
    return tuple(_with_turns(side.measurement.profiles(), turns) for side in sides)


class _Side:
    """One of the pipelines, and its measurement."""

    def __init__(self, pipeline: Any, arguments: dict[str, Any], progress: Progress | None) -> None:
        opened = open_live(pipeline)
        self.call = RepeatedCall(opened, arguments, progress)
        self.measurement = Measurement(opened, rehearsal=self.call.rehearsal, repeated=True)


def _with_turns(profiles: tuple[Profile, ...], turns: str) -> Profile:
    """The profile with the most calls, marked as measured in turns with the others."""
    profile = max(profiles, key=lambda one: len(one.measured.timed_iterations) if one.measured else 0)
    assert profile.measured is not None, "it was measured"
    return replace(profile, measured=replace(profile.measured, turns=turns))
