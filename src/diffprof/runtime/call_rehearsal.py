"""A dry run before a call is measured: it refuses calls that cannot work, and its count is used later."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from diffprof.counting.attempts import count
from diffprof.counting.boundary import signature
from diffprof.counting.dry_run import DryRunResult
from diffprof.errors import PipelineError, RefusedCallError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.progress import Progress
from diffprof.runtime.instrumentation.cache_lookups import has_caches
from diffprof.runtime.instrumentation.cache_replay import remove_caches
from diffprof.runtime.instrumentation.callbacks import Callbacks
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall
from diffprof.runtime.state_hash import state_hash

PROGRESS_BAR = "_progress_bar_config"


@dataclass(frozen=True)
class CallRehearsal:
    """A dry run of the call, without callbacks and without diffusers' caches."""

    stand_ins: dict[str, Any]
    """Required arguments that were not given."""
    result: DryRunResult | None
    """None if the call cannot be dry-run; it can still be measured."""
    arguments: Any
    """Signature of all arguments."""
    state: int
    attributes: Mapping[str, Any]
    """Attributes of the pipeline at that time, because some pipelines cache encodings."""
    has_caches: bool

    def count_without_caches(self, call: MonitoredCall, state: int) -> DryRunResult | None:
        """The count without caches of a measured call, if this is the rehearsed call."""
        is_same = (
            arguments_signature(call.arguments) == self.arguments
            and state == self.state
            and not call.callbacks.have_effects
            and _are_same_objects(call.attributes, self.attributes)
        )
        return self.result if is_same else None

    def count(self, call: MonitoredCall, state: int) -> DryRunResult | None:
        """The count of a measured call, if this is the rehearsed call and no cache was used."""
        return None if self.has_caches or call.iteration.caches else self.count_without_caches(call, state)


def rehearse_call(pipeline: Any, call: CallArguments, progress: Progress | None) -> CallRehearsal:
    """Dry-run a call that is about to be measured; `RefusedCallError` if the pipeline refuses its arguments."""
    # The output is not used, but postprocessing it is part of the measurement.
    stand_ins = {name: value for name, value in call.stand_ins.items() if name != "output_type"}
    callbacks = Callbacks(pipeline, lambda section: contextlib.nullcontext())
    dry_call = replace(call, given=callbacks.replay(call.given), stand_ins=stand_ins)
    attributes, state = dict(vars(pipeline)), state_hash(pipeline)
    result: DryRunResult | None = None
    try:
        with quiet_libraries():
            result, stand_ins = count(pipeline, dry_call, lambda: remove_caches(pipeline), progress)
    except RefusedCallError:
        raise
    except PipelineError:
        pass  # the call can still be measured
    arguments = arguments_signature({**call.given, **stand_ins})
    return CallRehearsal(stand_ins, result, arguments, state, attributes, has_caches(pipeline))


def arguments_signature(arguments: Mapping[str, Any]) -> Any:
    """A signature that is equal for calls with the same arguments in any order."""
    return signature(dict(sorted(arguments.items())))


def _are_same_objects(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    # Progress bars are disabled while a call is repeated, and do not affect counts.
    names = {*first, *second} - {PROGRESS_BAR}
    return all(name in first and name in second and first[name] is second[name] for name in names)
