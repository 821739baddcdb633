"""Progress of a generation or a batch: which model, which step, and how long it will still take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from diffprof.record.progress import Activity, Position, Progress, ProgressEvent


class StoppedByCaller(BaseException):
    """The callback raised something. No exception: code that handles those of a model must not handle this one."""

    def __init__(self, reason: BaseException) -> None:
        self.reason = reason


@contextlib.contextmanager
def passing_on() -> Iterator[None]:
    """Let what a callback raised come out as it was raised."""
    try:
        yield
    except StoppedByCaller as stopped:
        raise stopped.reason from None


@dataclass
class Pace:
    """How long the models of a batch took, from which follows how long the others will."""

    count: int = 1
    clock: Callable[[], float] = time.monotonic
    finished: list[float] = field(default_factory=list)
    began: float | None = None
    """When the model's turn began."""
    first_step: tuple[float, int] | None = None
    """When the first step was done; the time before it went into loading and encoding."""
    last_step: tuple[float, int] | None = None
    step_seconds: float | None = None
    """Of the step that was done last; None for the first one of a loop."""

    def begin(self) -> None:
        self.began, self.first_step, self.last_step = self.clock(), None, None

    def end(self) -> None:
        if self.began is not None:
            self.finished.append(self.clock() - self.began)

    def seconds_left(self, done: int, total: int | None) -> float | None:
        """For the steps that are left and for the models after this one; None where that cannot be known yet."""
        now = self.clock()
        self._time_step(now, done)
        if self.first_step is None or done <= self.first_step[1]:
            self.first_step = now, done
            return None
        if total is None or self.began is None:
            return None
        since, at = self.first_step
        here = (now - since) / (done - at) * max(total - done, 0)
        turns = [*self.finished, now - self.began + here]
        others = self.count - len(self.finished) - 1
        return here + others * sum(turns) / len(turns)

    def _time_step(self, now: float, done: int) -> None:
        before, self.last_step = self.last_step, (now, done)
        self.step_seconds = (now - before[0]) / (done - before[1]) if before and done > before[1] else None


class Reports:
    """Reports the progress of the models of a batch, one after the other."""

    def __init__(self, progress: Progress | None, pace: Pace | None = None) -> None:
        self._progress = progress
        self.pace = pace or Pace()

    def tell(self, event: ProgressEvent) -> None:
        """Report that something is going on with the current model."""
        if self._progress is None:
            return
        position = Position(len(self.pace.finished) + 1, self.pace.count)
        try:
            self._progress(replace(event, model=position))
        except BaseException as error:
            raise StoppedByCaller(error) from error

    def step(self, name: str, done: int, total: int | None) -> None:
        """Report the end of a step: how long it took, and how long all the others will take."""
        remaining = self.pace.seconds_left(done, total)
        self.tell(
            ProgressEvent(
                Activity.denoising, name, done, total, step_seconds=self.pace.step_seconds, remaining_seconds=remaining
            )
        )
