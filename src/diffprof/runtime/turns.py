"""Measures several pipelines in turns, so that what the machine does meanwhile hits all of them alike."""

from __future__ import annotations

import contextlib
import random
import secrets
from dataclasses import replace
from typing import Any

from diffprof.errors import RequestError
from diffprof.pipelines.opening import open_live
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.repetition import Repetition


def measure_in_turns(
    *pipelines: Any, warmup: int = 1, iterations: int = 20, progress: Progress | None = None, **arguments: Any
) -> tuple[Profile, ...]:
    """Call live pipelines with the same arguments, one after the other, again and again; one profile for each.

    Profiles that were made together are compared pair by pair (`diffprof compare`, `diffprof gate`): on a machine that
    others use too, that shows differences which are far smaller than its noise. Each round has an order of its own,
    drawn by lot, so that no rhythm of the machine falls on one of them.
    """
    if len(pipelines) < 2 or len({id(pipeline) for pipeline in pipelines}) < len(pipelines):
        raise RequestError("measuring in turns takes two different pipelines or more; `diffprof.measure` takes one")
    for pipeline in pipelines:
        if not hasattr(pipeline, "register_modules") or not callable(pipeline):
            raise RequestError(f"cannot measure a {type(pipeline).__name__}; give live diffusers pipelines")
    if iterations < 1:
        raise RequestError(f"a measurement needs one iteration or more; asked for: {iterations=}")
    sides = [_Side(pipeline, arguments, warmup, progress) for pipeline in pipelines]
    lot = random.Random(0)
    with contextlib.ExitStack() as watched:
        for side in sides:
            side.measuring.start()
            watched.callback(side.measuring.stop)
        for number in range(iterations):
            for side in lot.sample(sides, len(sides)):
                (side.first if number == 0 else side.later).run(side.measuring)
    name = secrets.token_hex(8)
    return tuple(_named(side.measuring.profiles(), name) for side in sides)


class _Side:
    """One of the pipelines, its warm-ups with the first of its calls."""

    def __init__(self, pipeline: Any, arguments: dict[str, Any], warmup: int, progress: Progress | None) -> None:
        opened = open_live(pipeline)
        self.first = Repetition(opened, arguments, warmup, 1, progress)
        self.later = Repetition(opened, arguments, 0, 1, progress)
        self.measuring = Measurement(opened, stand_ins=self.first.stand_ins, repeated=True)


def _named(profiles: tuple[Profile, ...], name: str) -> Profile:
    # Calls that turned out to do different things have a profile each; most of them are alike.
    profile = max(profiles, key=lambda one: len(one.measured.timed) if one.measured else 0)
    assert profile.measured is not None, "it was measured"
    return replace(profile, measured=replace(profile.measured, turns=name))
