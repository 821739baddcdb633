"""`diffprof.measure` and `diffprof.measuring`: measure time and memory of real runs, next to their exact counts.

run = diffprof.measure(pipe, prompt="a cat", num_inference_steps=20)

with diffprof.measuring(pipe) as run:
    image = pipe("a cat", num_inference_steps=20).images[0]

print(run)
run.profile.save("run.json")
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, InterruptedRun, PipelineError, RequestError
from diffprof.pipelines.components import components_of, is_pipeline
from diffprof.pipelines.opening import OpenedPipeline, open_live
from diffprof.record.display import Displayed
from diffprof.record.measured import Limitation
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.runtime.adaptive import ENOUGH, TIME_BUDGET_SECONDS
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.memory_history import label_allocations
from diffprof.runtime.rank_gathering import gather_ranks
from diffprof.runtime.repetition import RepeatedCall, check_repeats
from diffprof.runtime.timing.trace_recorder import TraceFile, TraceRecorder
from diffprof.settings.limits import SAMPLES_PER_SECOND

WHOLE_CALL = 1_000_000
"""More active steps than any call has, so that the whole call, with its few steps, is traced."""


class Run(Displayed):
    """A measured run. Calls are added while `measuring` is open."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self.trace: TraceFile | None = None
        """The trace that was written, if one was requested."""
        self._gathered: Profile | None = None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile for each different call, with all its iterations, in the order of their first iterations."""
        if self._gathered is not None:
            return (self._gathered,)
        return self._measurement.profiles()

    def gather_ranks(self, place: str) -> None:
        """Add the results of the other ranks of a distributed run; all ranks must call this."""
        profile = self.profile
        gathered = gather_ranks(profile, place)
        self._gathered = gathered if gathered is not profile else None

    @property
    def profile(self) -> Profile:
        """The profile of the call; if there were different calls, of the last one."""
        profiles = self.profiles
        if not profiles:
            raise RequestError("nothing was measured: the pipeline was not called")
        return profiles[-1]

    @property
    def limitations(self) -> tuple[Limitation, ...]:
        """What could not be measured, and why."""
        return tuple(self._measurement.limitations)

    def __repr__(self) -> str:
        calls = sum(len(profile.measured.iterations) for profile in self.profiles if profile.measured)
        return f"<Run of {calls} calls>"


def measure_opened(
    opened: OpenedPipeline,
    arguments: dict[str, Any],
    *,
    warmup: int,
    iterations: int | None,
    trace: bool | str | Path | TraceRecorder,
    sample_hz: float,
    progress: Progress | None,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    recommended: Sequence[str] = (),
    load_seconds: float | None = None,
    budget_seconds: float = TIME_BUDGET_SECONDS,
) -> Run:
    """Call the pipeline `warmup` + `iterations` times, and measure it; the other arguments are recorded.

    If `iterations` is None, there are as many as the statistics need or as fit into `budget_seconds`.
    """
    check_repeats(warmup, iterations)
    recorder = trace_recorder(trace)
    call = RepeatedCall(opened, arguments, progress)
    measurement = Measurement(
        opened, sample_hz=sample_hz, rehearsal=call.rehearsal, scheduler=scheduler, enable=enable, repeated=True,
        recommended=recommended, step_ended=call.step_ended if progress is not None else None,
    )  # fmt: skip
    measurement.load_seconds = load_seconds
    run = Run(measurement)
    requested = warmup + (iterations or ENOUGH)
    with _keep_what_was_measured(run, measurement, requested), label_allocations(opened.pipeline):
        call.run(measurement, warmup, iterations, recorder, budget_seconds)
    if recorder is not None:
        run.trace = recorder.traces[-1] if recorder.traces else None
        measurement.limitations += _trace_limitations(recorder, run.trace)
    return run


def _trace_limitations(recorder: TraceRecorder, trace: TraceFile | None) -> list[Limitation]:
    if recorder.problem is not None:
        return [Limitation("no_trace", str(recorder.problem))]
    if trace is not None and trace.warning is not None:
        return [Limitation("trace_problem", trace.warning)]
    return []


@contextlib.contextmanager
def _keep_what_was_measured(run: Run, measurement: Measurement, requested: int) -> Iterator[None]:
    """Measure the calls inside the block; an error that ends it early has the run so far as an attribute."""
    measurement.start()
    try:
        yield
    except PipelineError as error:
        _mark_incomplete(measurement, requested)
        raise error.with_run(run) from error.__cause__
    except KeyboardInterrupt:
        _mark_incomplete(measurement, requested)
        raise InterruptedRun(run) from None
    finally:
        measurement.stop()


def _mark_incomplete(measurement: Measurement, requested: int) -> None:
    measurement.limitations.append(Limitation("incomplete", done=measurement.completed_calls, requested=requested))


@contextlib.contextmanager
def measuring(pipeline: Any, *, sample_hz: float = SAMPLES_PER_SECOND) -> Iterator[Run]:
    """Measure every call of a live pipeline inside the block, without changing the calls."""
    check_pipeline(pipeline)
    measurement = Measurement(open_live(pipeline), sample_hz=sample_hz)
    measurement.start()
    try:
        yield Run(measurement)
    finally:
        measurement.stop()


def check_pipeline(pipeline: Any) -> None:
    """Refuse anything but a live pipeline."""
    if not is_pipeline(pipeline):
        name = f"the class {pipeline.__name__}" if isinstance(pipeline, type) else f"a {type(pipeline).__name__}"
        raise RequestError(
            f"cannot measure {name}; give a live diffusers pipeline, or use `diffprof run` for a "
            "model that has to be loaded first"
        )


def check_weights(pipeline: Any) -> None:
    """Refuse a pipeline without weights; weights that a hook loads on demand count."""
    for slot, component in components_of(pipeline).items():
        for path, module in component.named_modules():
            lacks_weights = any(weight.is_meta for weight in module.parameters(recurse=False))
            if lacks_weights and not hasattr(module, "_hf_hook") and not hasattr(component, "_hf_hook"):
                where = f" ({path})" if path else ""
                raise RequestError(
                    f"{slot}{where} has no weights, they are on the meta device; load them, or count the call with "
                    "diffprof.profile, which needs none"
                )


def trace_recorder(trace: bool | str | Path | TraceRecorder) -> TraceRecorder | None:
    """The recorder for the trace of one more call; None if no trace is requested."""
    if isinstance(trace, TraceRecorder):
        return trace
    if trace is False:
        return None
    if not isinstance(trace, (bool, str, Path)):
        raise RequestError(f"trace is True, False or the folder where the trace goes, not {trace!r}")
    return TraceRecorder("profiling_results" if trace is True else trace, record_shapes=True, active=WHOLE_CALL)


__all__ = ["DiffprofError", "Run", "measure_opened", "measuring"]
