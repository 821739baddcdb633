"""`diffprof.watch`: measure all pipelines that code creates and calls by itself.

with diffprof.watch() as watched:
    their_script.main()

for profile in watched.profiles:
    print(profile)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from diffprof.pipelines.opening import open_live
from diffprof.record.display import Displayed
from diffprof.record.measured import Limitation
from diffprof.record.profile import Profile
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.measure import Run
from diffprof.runtime.measurement import Measurement
from diffprof.settings.limits import SAMPLES_PER_SECOND


class Watched(Displayed):
    """The runs of all pipelines that were called inside ``watch``."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        """One run for each pipeline, in the order of their first calls."""

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile for each different call of each pipeline."""
        return tuple(profile for run in self.runs for profile in run.profiles)

    @property
    def limitations(self) -> tuple[Limitation, ...]:
        """What could not be measured, and why."""
        return tuple(limitation for run in self.runs for limitation in run.limitations)

    def __repr__(self) -> str:
        return f"<Watched {len(self.runs)} pipelines, {len(self.profiles)} different calls>"


@contextlib.contextmanager
def watch(*, sample_hz: float = SAMPLES_PER_SECOND) -> Iterator[Watched]:
    """Measure every call of every diffusers pipeline inside the block, without changing the calls.

    Pipelines may be created inside the block. If a pipeline calls another one, that is part of the outer call.
    """
    watched = Watched()
    watcher = _Watcher(watched, sample_hz)
    watcher.start()
    try:
        yield watched
    finally:
        watcher.stop()


class _Watcher:
    """Starts a measurement at the first call of each pipeline, and stops them all at the end."""

    def __init__(self, watched: Watched, sample_hz: float) -> None:
        self._watched, self._sample_hz = watched, sample_hz
        self._measurements: dict[int, Measurement] = {}
        self._pipelines: list[Any] = []
        """Kept alive, because they are identified by `id`."""
        self._classes: set[type] = set()
        self._restore: list[Callable[[], None]] = []
        self._depth = 0

    def start(self) -> None:
        from diffusers import DiffusionPipeline

        for kind in _subclasses(DiffusionPipeline):
            self._watch_class(kind)
        # Classes that are imported later are found when one of their objects is created.
        self._restore.append(intercept(DiffusionPipeline, "register_modules", self._register))

    def stop(self) -> None:
        for restore in reversed(self._restore):
            restore()
        for measurement in self._measurements.values():
            measurement.stop()
        self._pipelines.clear()

    def _register(self, original: Callable[..., Any], pipeline: Any, args: Any, kwargs: Any) -> Any:
        self._watch_class(type(pipeline))
        return original(pipeline, *args, **kwargs)

    def _watch_class(self, kind: type) -> None:
        if kind not in self._classes and "__call__" in vars(kind):
            self._classes.add(kind)
            self._restore.append(intercept(kind, "__call__", self._call))

    def _call(self, original: Callable[..., Any], pipeline: Any, args: Any, kwargs: Any) -> Any:
        if self._depth or id(pipeline) in self._measurements:
            return original(pipeline, *args, **kwargs)
        self._depth += 1
        try:
            measurement = Measurement(open_live(pipeline), sample_hz=self._sample_hz)
            measurement.start()
        finally:
            self._depth -= 1
        self._measurements[id(pipeline)] = measurement
        self._pipelines.append(pipeline)
        self._watched.runs.append(Run(measurement))
        # Called again from the outside, now through the measurement.
        return pipeline(*args, **kwargs)


def _subclasses(kind: type) -> Iterator[type]:
    children: list[type] = kind.__subclasses__()
    for each in children:
        yield each
        yield from _subclasses(each)
