"""Makes the same call of a pipeline again and again, from the same random state, in order to measure it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from diffprof.counting.pipeline_state import RandomState
from diffprof.counting.profile import count
from diffprof.errors import DiffprofError, PipelineError, RefusedCallError, RequestError
from diffprof.pipelines.arguments import CallArguments, call_arguments
from diffprof.pipelines.failures import pipeline_failure
from diffprof.pipelines.opening import OpenedPipeline
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.progress import Activity, Position, Progress, ProgressEvent
from diffprof.runtime.instrumentation.callbacks import Callbacks
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.timing.trace_recorder import TraceRecorder

TRACED_STEPS = 4
"""A trace of these many steps has all that there is to see, and can still be opened."""


class Repetition:
    """A call that will be measured: checked, and completed by what the pipeline needs besides."""

    def __init__(
        self,
        opened: OpenedPipeline,
        arguments: Mapping[str, Any],
        warmup: int,
        iterations: int,
        progress: Progress | None,
    ) -> None:
        if not all(isinstance(number, int) for number in (warmup, iterations)):
            raise RequestError(f"warmup and iterations are whole numbers; asked for: {warmup=}, {iterations=}")
        if warmup < 0 or iterations < 1:
            raise RequestError(f"a measurement needs one iteration or more; asked for: {warmup=}, {iterations=}")
        self._pipeline = opened.pipeline
        self._warmup, self._iterations, self._progress = warmup, iterations, progress
        call = call_arguments(self._pipeline, arguments, opened.call)
        self.stand_ins = self._needed(call)
        self._arguments = {**call.given, **self.stand_ins}
        self._event = ProgressEvent(Activity.measuring)
        self._steps = self._arguments.get("num_inference_steps", call.defaults.get(STEPS))

    def _needed(self, call: CallArguments) -> dict[str, Any]:
        """The stand-ins that a dry run needs: what it refuses would be refused after the first minutes of a run too."""
        # What comes out is looked at by nobody, but making pictures of it is part of what is measured.
        stand_ins = {name: value for name, value in call.stand_ins.items() if name != "output_type"}
        callbacks = Callbacks(self._pipeline, lambda section: contextlib.nullcontext())
        dry = replace(call, given=callbacks.played_back(call.given), stand_ins=stand_ins)
        try:
            with quiet_libraries():
                return count(self._pipeline, dry, None, self._progress)[1]
        except RefusedCallError:
            raise
        except PipelineError:
            return stand_ins  # what only a dry run cannot do is no reason not to measure

    def run(self, measuring: Measurement, trace: TraceRecorder | None = None) -> None:
        """Make the calls: warm-ups, iterations, and one more that is traced. Random states are as before afterwards."""
        randomness = RandomState(self._arguments)
        with silent_progress_bars(self._pipeline):
            try:
                for number in range(self._warmup + self._iterations):
                    measuring.warming_up = number < self._warmup
                    self._event = self._event_of(number)
                    randomness.restore()
                    self._call(self._arguments)
                if trace is not None:
                    measuring.tracing = True
                    randomness.restore()
                    self._traced(measuring, trace)
            finally:
                randomness.restore()

    def _traced(self, measuring: Measurement, trace: TraceRecorder) -> None:
        self._event = ProgressEvent(Activity.tracing)
        fewer = {STEPS: TRACED_STEPS} if isinstance(self._steps, int) and self._steps > TRACED_STEPS else {}
        if fewer:
            measuring.notes.append(f"the trace is of one more call with {TRACED_STEPS} steps instead of {self._steps}")
        with trace.profile("trace"):
            self._call({**self._arguments, **fewer})

    def _event_of(self, number: int) -> ProgressEvent:
        if number < self._warmup:
            return ProgressEvent(Activity.warming_up, iteration=Position(number + 1, self._warmup))
        return ProgressEvent(Activity.measuring, iteration=Position(number - self._warmup + 1, self._iterations))

    def step_ended(self, steps: int) -> None:
        """Report the progress inside a call."""
        if self._progress is not None:
            total = self._steps if isinstance(self._steps, int) else None
            self._progress(replace(self._event, done=steps, total=total))

    def _call(self, arguments: Mapping[str, Any]) -> None:
        if self._progress is not None:
            self._progress(replace(self._event, done=0))
        try:
            self._pipeline(**arguments)
        except DiffprofError:
            raise
        except Exception as error:
            raise pipeline_failure(self._pipeline, error, "while it was measured") from error


STEPS = "num_inference_steps"


@contextlib.contextmanager
def silent_progress_bars(pipeline: Any) -> Iterator[None]:
    """A bar for each call of each part would say nothing that the measurement's own does not."""
    holders = [pipeline, *(part for part in vars(pipeline).values() if hasattr(part, "register_modules"))]
    before = [vars(holder).get("_progress_bar_config", _ABSENT) for holder in holders]
    for holder, config in zip(holders, before, strict=True):
        holder._progress_bar_config = {**(config if isinstance(config, dict) else {}), "disable": True}
    try:
        yield
    finally:
        for holder, config in zip(holders, before, strict=True):
            if config is _ABSENT:
                del holder._progress_bar_config
            else:
                holder._progress_bar_config = config


_ABSENT = object()
