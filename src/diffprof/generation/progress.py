"""Report the progress of a generation or a batch, with an estimate of the remaining time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from diffprof.record.progress import Activity, Position, Progress, ProgressEvent


class CallbackError(BaseException):
    """The user's callback raised `reason`. Not an `Exception`, so that no handler in a pipeline swallows it."""

    def __init__(self, reason: BaseException) -> None:
        self.reason = reason


@contextlib.contextmanager
def raise_callback_errors() -> Iterator[None]:
    """Unwrap a `CallbackError`: raise the original exception of the callback."""
    try:
        yield
    except CallbackError as error:
        raise error.reason from None


@dataclass
class Pace:
    """Estimates the remaining time from the completed steps and models."""

    count: int = 1
    clock: Callable[[], float] = time.monotonic
    finished: list[float] = field(default_factory=list)
    started: float | None = None
    """When the current model was started."""
    first_step: tuple[float, int] | None = None
    """When the first step ended, and its number; the time before it includes loading and encoding."""
    last_step: tuple[float, int] | None = None
    step_seconds: float | None = None
    """Duration of the last step; None for the first one of a loop."""

    def begin(self) -> None:
        """Start timing a model."""
        self.started, self.first_step, self.last_step = self.clock(), None, None

    def end(self) -> None:
        """Report that the current model has finished."""
        if self.started is not None:
            self.finished.append(self.clock() - self.started)

    def remaining_seconds(self, done: int, total: int | None) -> float | None:
        """The time for the remaining steps and the models after this one; None if it is not known yet."""
        now = self.clock()
        self._time_step(now, done)
        if self.first_step is None or done <= self.first_step[1]:
            self.first_step = now, done
            return None
        if total is None or self.started is None:
            return None
        first_time, first_done = self.first_step
        this_model = (now - first_time) / (done - first_done) * max(total - done, 0)
        model_times = [*self.finished, now - self.started + this_model]
        models_after = self.count - len(self.finished) - 1
        return this_model + models_after * sum(model_times) / len(model_times)

    def _time_step(self, now: float, done: int) -> None:
        before, self.last_step = self.last_step, (now, done)
        self.step_seconds = (now - before[0]) / (done - before[1]) if before and done > before[1] else None


class ProgressReporter:
    """Reports the progress of the models of a batch, one after the other."""

    def __init__(self, progress: Progress | None, pace: Pace | None = None) -> None:
        self._progress = progress
        self.pace = pace or Pace()

    def report(self, event: ProgressEvent) -> None:
        """Report an event of the current model."""
        if self._progress is None:
            return
        position = Position(len(self.pace.finished) + 1, self.pace.count)
        try:
            self._progress(replace(event, model=position))
        except BaseException as error:
            raise CallbackError(error) from error

    def report_step(self, name: str, done: int, total: int | None) -> None:
        """Report the end of a step, with its time and the remaining time."""
        remaining = self.pace.remaining_seconds(done, total)
        self.report(
            ProgressEvent(
                Activity.denoising, name, done, total, step_seconds=self.pace.step_seconds, remaining_seconds=remaining
            )
        )
