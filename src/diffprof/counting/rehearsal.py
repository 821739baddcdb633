"""A call of a pipeline that is tried without weights before anything large is fetched or loaded for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.counting.profile import count
from diffprof.errors import PipelineError, RefusedCallError
from diffprof.pipelines.arguments import call_arguments
from diffprof.pipelines.switches import apply_switches
from diffprof.record.progress import Progress


def rehearse(
    virtual: Any,
    needed: Mapping[str, Any],
    requested: Mapping[str, Any],
    scheduler: str | None,
    enable: Sequence[str],
    progress: Progress | None,
) -> int:
    """Dry-run the call that is to be made: the most bytes that a component needs in it beside its weights.

    What is wrong with the request is told here; 0 where the call cannot be tried, which is no reason not to make it.
    """
    call = call_arguments(virtual, requested, needed)
    try:
        result, _ = count(virtual, call, lambda: apply_switches(virtual, scheduler, enable), progress)
    except RefusedCallError:
        raise
    except PipelineError:
        return 0
    return max((one.cost.peak_live_bytes for one in result.calls), default=0)
