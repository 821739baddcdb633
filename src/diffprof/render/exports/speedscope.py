"""The timeline of a profile for https://www.speedscope.app: a flame graph of every iteration, and of the MACs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from diffprof.breakdown.clocks import clock_of
from diffprof.record.measured import Iteration
from diffprof.record.profile import Profile
from diffprof.render.exports.slices import Slice, counted_slices, measured_slices
from diffprof.render.headline import headline
from diffprof.version import __version__

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_json(profile: Profile) -> str:
    """The profile as the text of a speedscope file."""
    frames = _Frames()
    counted = [_profile("counted, in MACs", "none", tuple(counted_slices(profile)), 0, profile.total.macs, frames)]
    measured = list(_iterations(profile, frames))
    values = {
        "$schema": SCHEMA,
        "name": headline(profile),
        "exporter": f"diffprof {__version__}",
        "activeProfileIndex": _first_timed_iteration(profile),
        "profiles": [*measured, *counted],
        "shared": {"frames": frames.entries},
    }
    return json.dumps(values, separators=(",", ":"), allow_nan=False) + "\n"


class _Frames:
    """The names of all slices, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def entries(self) -> list[dict[str, str]]:
        return [{"name": name} for name in self._numbers]


def _iterations(profile: Profile, frames: _Frames) -> Iterator[dict[str, Any]]:
    for number, iteration in enumerate(profile.measured.iterations if profile.measured else ()):
        clock = clock_of([iteration])
        begin, end = clock.start_ns(iteration.wall), clock.end_ns(iteration.wall)
        name = iteration_name(number, iteration)
        yield _profile(name, "nanoseconds", measured_slices(iteration, clock), begin, end, frames)


def iteration_name(number: int, iteration: Iteration) -> str:
    """``iteration 2``, ``iteration 1 (warm-up)``"""
    properties = (
        ("warm-up", iteration.warmup),
        ("traced", iteration.traced),
        ("did not finish", iteration.error is not None),
    )
    remark = ", ".join(words for words, holds in properties if holds)
    return f"iteration {number + 1}" + (f" ({remark})" if remark else "")


def _first_timed_iteration(profile: Profile) -> int:
    if profile.measured is None:
        return 0
    timed = {id(one) for one in profile.measured.timed_iterations}
    return next((number for number, one in enumerate(profile.measured.iterations) if id(one) in timed), 0)


def _profile(name: str, unit: str, slices: Sequence[Slice], begin: int, end: int, frames: _Frames) -> dict[str, Any]:
    events = [event for slice_ in slices for event in _events(slice_, frames)]
    return {"type": "evented", "name": name, "unit": unit, "startValue": begin, "endValue": end, "events": events}


def _events(slice_: Slice, frames: _Frames) -> Iterator[dict[str, Any]]:
    frame = frames.number(slice_.name)
    yield {"type": "O", "at": slice_.start, "frame": frame}
    for nested in slice_.inside:
        yield from _events(nested, frames)
    yield {"type": "C", "at": slice_.end, "frame": frame}
