"""Time the iterations of a loop, with separate statistics for the warm-up."""

from __future__ import annotations

import itertools
import time
from types import TracebackType
from typing import Any

from diffprof.errors import RequestError
from diffprof.runtime.timing import trace_recorder as traces
from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.sections import Clock, Section, SectionRecorder
from diffprof.runtime.timing.statistics import Timings

WARM_UP, MEASURED = "warm-up", "measured"


class LoopTimer:
    """Times each iteration of a loop. The first `warmup` iterations are excluded from the statistics.

    Each iteration is also a step of a running trace.
    """

    def __init__(
        self, name: str, warmup: int = 0, clock: Clock = time.perf_counter_ns, device: DeviceTimer | None = None
    ) -> None:
        if warmup < 0:
            raise RequestError(f"warmup is {warmup}; give the number of iterations to exclude, 0 or more.")
        self.name = name
        self.warmup = warmup
        self.first_seconds: float | None = None
        """Time of the first iteration, which may be a warm-up."""
        self._timings = Timings()
        self._recorder = SectionRecorder(self._timings, clock, device)
        self._numbers = itertools.count()

    def iteration(self, sync: bool = False) -> LoopIteration:
        """A context manager around one iteration."""
        return LoopIteration(self, sync)

    @property
    def statistics(self) -> dict[str, Any] | None:
        """Count, total, mean, median, min, max, std, p95, spread and errors after the warm-up; None if there are none.

        The spread is the standard deviation divided by the mean.
        """
        return self._stats(MEASURED)

    @property
    def warm_up(self) -> dict[str, Any] | None:
        """The same statistics of the warm-up; None if there was none."""
        return self._stats(WARM_UP)

    def reset(self) -> None:
        """Start over, including the warm-up."""
        self._timings.reset()
        self._numbers = itertools.count()
        self.first_seconds = None

    def to_dict(self) -> dict[str, Any]:
        """All statistics as plain values, ready for JSON, with each sample in order unless there are too many."""
        return {
            "name": self.name,
            "unit": "seconds",
            "warmup": self.warmup,
            "first": self.first_seconds,
            "statistics": self.statistics,
            "samples": self._samples(MEASURED),
            "warm_up_statistics": self.warm_up,
            "warm_up_samples": self._samples(WARM_UP),
        }

    def _stats(self, part: str) -> dict[str, Any] | None:
        stats = self._timings.get_all_stats().get(part)
        if stats is not None:
            stats["spread"] = stats["std"] / stats["mean"] if stats["mean"] else 0.0
        return stats

    def _samples(self, part: str) -> list[float] | None:
        series = self._timings.series(part)
        series.fold(wait=True)
        return series.host.samples_seconds() if series.host.complete else None


class LoopIteration(Section):
    """One iteration of a loop."""

    __slots__ = ("_iterations", "number")

    number: int
    """The index of the iteration, starting at 0."""

    def __init__(self, iterations: LoopTimer, sync: bool) -> None:
        super().__init__(iterations._recorder, iterations.name, sync)
        self._iterations = iterations

    def __enter__(self) -> Section:
        self.number = next(self._iterations._numbers)
        self.name = WARM_UP if self.number < self._iterations.warmup else MEASURED
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.number == 0:
            self._iterations.first_seconds = self.seconds
        traces.next_step()

    def span_name(self) -> str:
        return f"{self._iterations.name} {self.number}"
