"""Repeat a call of a pipeline from the same random state, in order to measure it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import torch

from diffprof.counting.pipeline_state import RandomState
from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.arguments import call_arguments
from diffprof.pipelines.components import components_of, pipelines_in, uses_cuda_graphs
from diffprof.pipelines.failures import pipeline_failure
from diffprof.pipelines.opening import OpenedPipeline
from diffprof.record.measured import Limitation
from diffprof.record.progress import Activity, Position, Progress, ProgressEvent
from diffprof.runtime.adaptive import ENOUGH, TIME_BUDGET_SECONDS, has_enough
from diffprof.runtime.call_rehearsal import PROGRESS_BAR, rehearse_call
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.timing.trace_recorder import TraceRecorder

STEPS = "num_inference_steps"
TRACED_STEPS = 4
"""Enough steps for a trace to show everything, and few enough to keep it small."""
_ABSENT = object()


def check_repeats(warmup: Any, iterations: Any) -> None:
    """Refuse invalid numbers of calls; None for iterations means as many as the statistics need."""
    if not all(isinstance(number, int) for number in (warmup, 1 if iterations is None else iterations)):
        raise RequestError(f"warmup and iterations must be whole numbers; got {warmup=}, {iterations=}")
    if warmup < 0 or (iterations is not None and iterations < 1):
        raise RequestError(f"a measurement needs at least one iteration; got {warmup=}, {iterations=}")


def warmups_for(pipeline: Any, warmup: int) -> int:
    """The number of warm-up calls: as requested, but enough for CUDA graphs to be captured."""
    if warmup and any(map(uses_cuda_graphs, components_of(pipeline).values())):
        return max(warmup, CUDA_GRAPH_WARMUPS)
    return warmup


CUDA_GRAPH_WARMUPS = 3
"""torch compiles in the first call, warms up its allocator in the second, and captures graphs in the third."""


class RepeatedCall:
    """A call to measure: rehearsed once, and completed with required arguments."""

    def __init__(self, opened: OpenedPipeline, arguments: Mapping[str, Any], progress: Progress | None) -> None:
        self._pipeline = opened.pipeline
        self._progress = progress
        call = call_arguments(self._pipeline, arguments, opened.call)
        self.rehearsal = rehearse_call(self._pipeline, call, progress)
        self._arguments = {**call.given, **self.rehearsal.stand_ins}
        self._event = ProgressEvent(Activity.measuring)
        self._steps = self._arguments.get(STEPS, call.defaults.get(STEPS))

    def run(
        self,
        measurement: Measurement,
        warmup: int,
        iterations: int | None,
        trace: TraceRecorder | None = None,
        budget_seconds: float = TIME_BUDGET_SECONDS,
    ) -> None:
        """Make the calls: warm-ups, iterations, and a traced one. Random states are restored afterwards.

        If `iterations` is None, calls are made until their median is known well, or until `budget_seconds` have passed.
        """
        if iterations is None and torch.distributed.is_available() and torch.distributed.is_initialized():
            iterations = ENOUGH  # all processes of a distributed run must make the same number of calls
        random_state = RandomState(self._arguments)
        requested, warmup = warmup, warmups_for(self._pipeline, warmup)
        if warmup > requested:
            measurement.limitations.append(Limitation("more_warmups", done=warmup, requested=requested))
        with silence_progress_bars(self._pipeline):
            try:
                for number in count(0):
                    measurement.warming_up = number < warmup
                    self._event = _event(number, warmup, iterations or ENOUGH)
                    random_state.restore()
                    self._call(self._arguments)
                    timed = number + 1 - warmup
                    if timed == iterations:
                        break
                    if iterations is None and timed > 0 and has_enough(measurement.timed_walls_ns, budget_seconds):
                        break
                _note_few_iterations(measurement, iterations)
                if trace is not None:
                    measurement.tracing = True
                    random_state.restore()
                    self._trace(measurement, trace)
            finally:
                random_state.restore()

    def step_ended(self, steps: int) -> None:
        """Report the progress inside a call."""
        if self._progress is not None:
            total = self._steps if isinstance(self._steps, int) else None
            self._progress(replace(self._event, done=steps, total=total))

    def _trace(self, measurement: Measurement, trace: TraceRecorder) -> None:
        self._event = ProgressEvent(Activity.tracing)
        fewer = {STEPS: TRACED_STEPS} if isinstance(self._steps, int) and self._steps > TRACED_STEPS else {}
        if fewer:
            measurement.limitations.append(Limitation("short_trace", done=TRACED_STEPS, requested=self._steps))
        with trace.profile("trace"):
            self._call({**self._arguments, **fewer})

    def _call(self, arguments: Mapping[str, Any]) -> None:
        if self._progress is not None:
            self._progress(replace(self._event, done=0))
        try:
            self._pipeline(**arguments)
        except DiffprofError:
            raise
        except Exception as error:
            raise pipeline_failure(self._pipeline, error, "while it was measured") from error


def _note_few_iterations(measurement: Measurement, requested: int | None) -> None:
    done = len(measurement.timed_walls_ns)
    if requested is None and done < ENOUGH:
        measurement.limitations.append(Limitation("time_budget", done=done, requested=ENOUGH))


def _event(number: int, warmup: int, iterations: int) -> ProgressEvent:
    if number < warmup:
        return ProgressEvent(Activity.warming_up, iteration=Position(number + 1, warmup))
    made = number - warmup + 1
    return ProgressEvent(Activity.measuring, iteration=Position(made, max(made, iterations)))


@contextlib.contextmanager
def silence_progress_bars(pipeline: Any) -> Iterator[None]:
    """Disable the pipeline's own progress bars, because the measurement has one."""
    holders = pipelines_in(pipeline)
    before = [vars(holder).get(PROGRESS_BAR, _ABSENT) for holder in holders]
    for holder, config in zip(holders, before, strict=True):
        setattr(holder, PROGRESS_BAR, {**(config if isinstance(config, dict) else {}), "disable": True})
    try:
        yield
    finally:
        for holder, config in zip(holders, before, strict=True):
            if config is _ABSENT:
                delattr(holder, PROGRESS_BAR)
            else:
                setattr(holder, PROGRESS_BAR, config)
