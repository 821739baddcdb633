"""Load a model by its name and measure it, as ``diffprof run`` does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.rehearsal import rehearse
from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.loading.ranks import join_ranks
from diffprof.pipelines.loading.weights import LoadPlan, plan_loading
from diffprof.record.progress import Progress
from diffprof.record.request import Request
from diffprof.runtime.adaptive import TIME_BUDGET_SECONDS
from diffprof.runtime.measure import Run, measure_opened, trace_recorder
from diffprof.runtime.timing.trace_recorder import TraceRecorder, TraceWarning
from diffprof.settings.limits import SAMPLES_PER_SECOND


@dataclass(frozen=True)
class ModelRun:
    """A request, and how it is measured."""

    request: Request
    warmup: int = 1
    iterations: int | None = None
    """None for as many as the statistics need."""
    trace: bool | str | Path | TraceRecorder = False
    """The folder for a trace of one more call; False for no trace."""
    sample_hz: float = SAMPLES_PER_SECOND
    budget_seconds: float = TIME_BUDGET_SECONDS
    """Time limit for all timed calls, if their number is not given."""

    def measure(self, progress: Progress | None = None) -> tuple[Run, DiffprofError | None]:
        """Load the model and measure it; the second value is why a requested trace is missing."""
        request = add_recommended(self.request)
        arguments = _call_arguments(request)
        plan = plan_loading(request, arguments, progress)
        with join_ranks(plan.device):
            return self._measure(plan, request, arguments, progress)

    def _measure(
        self, plan: LoadPlan, request: Request, arguments: dict[str, Any], progress: Progress | None
    ) -> tuple[Run, DiffprofError | None]:
        loaded = plan.load(rehearse(plan, arguments, progress), progress)
        recorder = trace_recorder(self.trace)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TraceWarning)  # the problem is returned to the caller
            run = measure_opened(
                loaded.opened, arguments, warmup=self.warmup, iterations=self.iterations, trace=recorder or False,
                sample_hz=self.sample_hz, progress=progress, scheduler=request.scheduler, enable=request.enable,
                recommended=request.recommended, load_seconds=loaded.seconds,
                budget_seconds=self.budget_seconds,
            )  # fmt: skip
        run.gather_ranks(str(plan.device))
        return run, recorder.problem if recorder else None


def _call_arguments(request: Request) -> dict[str, Any]:
    if request.seed is None:
        return dict(request.arguments)
    if "generator" in request.arguments:
        raise RequestError("The noise is given twice, by --seed and by --set generator; leave one out.")
    # On the CPU, so that the noise is the same on every machine.
    return {**request.arguments, "generator": torch.Generator("cpu").manual_seed(request.seed)}
