"""The functions of ``import diffprof`` that take a progress callback: words for the caller, events below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffprof.counting.profile import profile_call
from diffprof.pipelines.opening import open_live
from diffprof.record.profile import Profile
from diffprof.record.progress import ProgressCallback
from diffprof.render.progress import describe_to
from diffprof.runtime.interleaved import measure_interleaved
from diffprof.runtime.measure import SAMPLES_PER_SECOND, Run, check_pipeline, measure_opened
from diffprof.runtime.timing.trace_recorder import TraceRecorder
from diffprof.settings.limits import with_full_names

if TYPE_CHECKING:
    import torch


def profile(
    model: Any,
    *,
    dtype: str | torch.dtype | None = None,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    config: str | None = None,
    progress: ProgressCallback | None = None,
    **arguments: Any,
) -> Profile:
    """Profile one call of a pipeline: what every component costs, exactly, without weights and without computing.

    `model` is a catalogue name, a hub id, a folder in diffusers layout, a weight file (`config` is the model that it
    has its configuration from), or a live diffusers pipeline, which is left exactly as it was. `progress` is called
    with a message, how much is done and of how much. All other arguments are those of the pipeline's own call; what is
    not given has its default. ``steps``, ``guidance``, ``batch`` and ``frames`` mean what the options of the command
    line mean.
    """
    arguments = with_full_names(arguments)
    return profile_call(
        model, arguments, describe_to(progress), dtype=dtype, scheduler=scheduler, enable=enable, config=config
    )


def measure(
    pipeline: Any,
    *,
    warmup: int = 1,
    iterations: int = 3,
    trace: bool | str | Path | TraceRecorder = False,
    sample_hz: float = SAMPLES_PER_SECOND,
    progress: ProgressCallback | None = None,
    **arguments: Any,
) -> Run:
    """Run a live pipeline `warmup` + `iterations` times with these call arguments, and measure it.

    Every iteration starts from the same random state. With `trace`, one more call of a few steps is traced into
    ``trace.json`` in the folder that is given (``profiling_results`` for True). `sample_hz` is how often the machine
    is sampled meanwhile, 0 for not at all. An error in a call has what was measured so far in its attribute `run`.
    """
    check_pipeline(pipeline)
    arguments = with_full_names(arguments)
    return measure_opened(
        open_live(pipeline), arguments, warmup=warmup, iterations=iterations, trace=trace, sample_hz=sample_hz,
        progress=describe_to(progress),
    )  # fmt: skip


def measure_in_turns(
    *pipelines: Any, warmup: int = 1, iterations: int = 20, progress: ProgressCallback | None = None, **arguments: Any
) -> tuple[Profile, ...]:
    """Call live pipelines with the same arguments, one after the other, again and again; one profile for each.

    Profiles that were made together are compared pair by pair (`diffprof compare`, `diffprof gate`): on a machine that
    others use too, that shows differences which are far smaller than its noise. Each round has its own random order,
    so that no rhythm of the machine falls on one of them.
    """
    return measure_interleaved(pipelines, with_full_names(arguments), warmup, iterations, describe_to(progress))
