"""Try a call on virtual weights before anything large is downloaded or loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffprof.counting.attempts import count
from diffprof.errors import PipelineError, RefusedCallError
from diffprof.pipelines.arguments import call_arguments
from diffprof.pipelines.loading.weights import LoadPlan
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.pipelines.switches import apply_switches
from diffprof.record.progress import Progress


def rehearse(plan: LoadPlan, arguments: Mapping[str, Any], progress: Progress | None) -> int:
    """Dry-run a call before it is made; return the most bytes that a component needs besides its weights.

    Requests that cannot work are refused here. The result is 0 if the call cannot be dry-run; it can still be made.
    """
    pipeline, request = plan.virtual.pipeline, plan.request

    def prepare() -> None:
        apply_switches(pipeline, request.scheduler, request.enable)

    call = call_arguments(pipeline, arguments, plan.virtual.call)
    try:
        with quiet_libraries():
            result, _ = count(pipeline, call, prepare, progress)
    except RefusedCallError:
        raise
    except PipelineError:
        return 0
    return max((executed.cost.peak_live_bytes for executed in result.calls), default=0)
