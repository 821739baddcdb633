"""`diffprof.profile`: the exact compute profile of one generation, without running it."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from diffprof.breakdown.dtypes import macs_by_dtype
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.attempts import count
from diffprof.counting.counted_calls import CountedCalls
from diffprof.counting.dry_run import DryRunResult
from diffprof.counting.formulas.registry import call_on_change
from diffprof.counting.guidance_interval import combine, unguided_arguments
from diffprof.counting.operations.recorder import PIPELINE
from diffprof.counting.operations.tensors import dtype_text
from diffprof.counting.process_settings import process_settings
from diffprof.errors import RequestError
from diffprof.pipelines.arguments import CallArguments, call_arguments, json_value
from diffprof.pipelines.building.modular import is_blocks
from diffprof.pipelines.changes.step_caches import is_decided_by_values
from diffprof.pipelines.components import (
    NO_SIZE,
    ComponentSize,
    component_size,
    components_of,
    element_count,
    is_pipeline,
    role_of,
    unwrap_compiled,
)
from diffprof.pipelines.opening import OpenedPipeline, open_blocks, open_live, open_virtual
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.pipelines.switches import apply_switches
from diffprof.record.changes import Changes
from diffprof.record.profile import NO_WORK, Call, Component, Ledger, MacsRange, Placement, Profile, Steps
from diffprof.record.progress import Progress
from diffprof.record.recorded_request import Environment, RecordedRequest
from diffprof.record.request import Request
from diffprof.record.sizes import ResizedOutput
from diffprof.version import __version__


def profile_call(
    model: Any,
    arguments: Mapping[str, Any],
    progress: Progress | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    config: str | None = None,
    assume_defaults: bool = False,
    pipeline_defaults: bool = False,
    **changes: Any,
) -> Profile:
    """Profile the call with these arguments, of a live pipeline or of a model that is opened by name."""
    if isinstance(model, (str, Path)):
        request = Request.create(
            model, arguments, dtype=dtype, scheduler=scheduler, enable=enable, config=config,
            assume_defaults=assume_defaults, pipeline_defaults=pipeline_defaults, **changes,
        )  # fmt: skip
        return profile_model(request, progress)
    for name, value in changes.items():
        if value:
            raise RequestError(f"{name} is for models opened by name; change a live pipeline yourself")
    if is_blocks(model):
        request = Request.create(type(model).__name__, arguments, scheduler=scheduler, enable=enable)
        with DRY_RUN_LOCK, quiet_libraries():
            return _profile(open_blocks(model, dtype, config), request, progress)
    if dtype is not None:
        raise RequestError("dtype is for models opened by name; cast a live pipeline with pipe.to(dtype)")
    if config is not None:
        raise RequestError("config is for weight files; a live pipeline has its own")
    request = Request.create(type(model).__name__, arguments, scheduler=scheduler, enable=enable)
    return profile_pipeline(model, request, progress)


def profile_model(request: Request, progress: Progress | None = None) -> Profile:
    """Profile the requested call of a model that is opened by name."""
    request = add_recommended(request)
    with DRY_RUN_LOCK, quiet_libraries():  # because they change settings of the whole process
        cache = request.cache
        if cache is None or not is_decided_by_values(cache):
            return record_request(_profile(_open(request, request.changes, progress), request, progress), request)
        least = _profile(_open(request, request.changes, progress), request, progress).total.macs
        opened = _open(request, replace(request.changes, cache=None), progress)
        profile = _profile(opened, request, progress)
        made = replace(profile.request, changes=replace(profile.request.changes, cache=cache))
        return record_request(replace(profile, request=made, macs_range=MacsRange(least, profile.total.macs)), request)


def record_request(profile: Profile, request: Request) -> Profile:
    """Return the profile with the parts of the request that concern opening the model."""
    made = replace(
        profile.request,
        changes=replace(profile.request.changes, guidance_interval=request.changes.guidance_interval),
        config=request.config,
        component=request.component,
        method=request.method,
        inputs=dict(request.inputs),
        assume_defaults=request.assume_defaults,
    )
    return replace(profile, request=made)


def _open(request: Request, changes: Changes, progress: Progress | None) -> OpenedPipeline:
    changes = replace(changes, guidance_interval=())  # of the call, not of the pipeline
    return open_virtual(
        request.model, request.dtype, progress, request.config, request.assume_defaults, changes, request.arguments
    )


def profile_pipeline(pipeline: Any, request: Request, progress: Progress | None = None) -> Profile:
    """Profile the requested call of a live pipeline."""
    if not is_pipeline(pipeline):
        raise RequestError(
            f"cannot profile a {type(pipeline).__name__}; give a model name, a folder or a diffusers pipeline"
        )
    return _profile(open_live(pipeline), request, progress)


def _profile(opened: OpenedPipeline, request: Request, progress: Progress | None) -> Profile:
    call = call_arguments(opened.pipeline, request.arguments, opened.call)
    counted = _known_calls(opened, request)
    try:
        result, used = count_call(opened, request, call, progress, counted)
    finally:
        if counted is not None:
            counted.forget_unused()
    return compose_profile(opened, call, used, result, request.scheduler, request.enable, request.recommended)


def count_call(
    opened: OpenedPipeline,
    request: Request,
    call: CallArguments,
    progress: Progress | None,
    counted: CountedCalls | None,
) -> tuple[DryRunResult, dict[str, Any]]:
    """Count the call with the switches of the request; return the result and the stand-ins that it used."""
    pipeline = opened.pipeline

    def prepare() -> None:
        apply_switches(pipeline, request.scheduler, request.enable)

    result, used = count(pipeline, call, prepare, progress, counted)
    interval = request.changes.guidance_interval
    if interval:
        unguided = call_arguments(pipeline, unguided_arguments(pipeline, request.arguments), opened.call)
        result = combine(
            result, count(pipeline, unguided, prepare, progress, counted)[0], interval, type(pipeline).__name__
        )
    return result, used


_COUNTED: WeakKeyDictionary[OpenedPipeline, tuple[dict[str, str], dict[tuple[str, ...], CountedCalls]]] = (
    WeakKeyDictionary()
)
"""Component calls of the last counts of each pipeline that was opened by name, and the settings of these counts.

By the switches, which change what components compute. Text and image encoders are usually called in the same way for
other sizes, and all components for other schedulers. The key is not the pipeline: `CountedCalls` refer to it, so that
it would never be freed.
"""

_SWITCHES_LIMIT = 2
"""The number of combinations of switches whose calls are kept for each pipeline."""

call_on_change(_COUNTED.clear)


def _known_calls(opened: OpenedPipeline, request: Request) -> CountedCalls | None:
    """Return calls that need not be counted again; None for a pipeline that is live, or changed for this count."""
    if opened.source == "object" or opened.changes != Changes():
        return None
    settings = process_settings()
    before = _COUNTED.get(opened)
    if before is None or before[0] != settings:
        before = _COUNTED[opened] = (settings, {})
    known = before[1]
    if request.enable not in known:
        while len(known) >= _SWITCHES_LIMIT:
            known.pop(next(iter(known)))
        known[request.enable] = CountedCalls()
    return known[request.enable]


def compose_profile(
    opened: OpenedPipeline,
    call: CallArguments,
    used: Mapping[str, Any],
    result: DryRunResult,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    recommended: Sequence[str] = (),
) -> Profile:
    """Make the profile of a counted call; `used` are the stand-ins of the call."""
    pipeline = opened.pipeline
    outside = Call(PIPELINE, "__call__", (), None, result.outside)
    calls = (*result.calls, outside)
    return Profile(
        request=RecordedRequest(
            model=opened.name,
            source=opened.source,
            pipeline=type(pipeline).__name__,
            arguments={name: json_value(value) for name, value in call.given.items()},
            defaults={name: json_value(value) for name, value in {**call.defaults, **result.sizes, **used}.items()},
            dtype=opened.dtype,
            scheduler=scheduler,
            enable=tuple(enable),
            changes=opened.changes,
            recommended=tuple(name for name in recommended if name in call.given),
        ),
        environment=_environment(),
        components=_components(opened, calls),
        steps=Steps(result.stages),
        calls=calls,
        ledger=_ledger(calls, (*_stand_in_notes(used), *opened.assumptions, *result.assumptions)),
        resized=_resized_outputs(call, result),
        computed_size=result.computed_size,
        placement=_placement(pipeline),
        texts=result.texts,
    )


def _stand_in_notes(used: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} was not given: {_describe_value(value)} stands in"
        for name, value in used.items()
        if name != "output_type"
    ]


def _resized_outputs(call: CallArguments, result: DryRunResult) -> tuple[ResizedOutput, ...]:
    return tuple(
        ResizedOutput(name, call.given[name], size)
        for name, size in result.sizes.items()
        if isinstance(call.given.get(name), int | float) and call.given[name] != size
    )


def _placement(pipeline: Any) -> Placement:
    order = getattr(pipeline, "model_cpu_offload_seq", None) or ""
    stay = getattr(pipeline, "_exclude_from_cpu_offload", None) or ()
    return Placement(tuple(slot for slot in order.split("->") if slot), tuple(stay))


def _describe_value(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(json_value(value))


def _components(opened: OpenedPipeline, calls: Sequence[Call]) -> dict[str, Component]:
    """Return the components in the order of their first calls; those that are not called come last."""
    pipeline, stored = opened.pipeline, opened.stored
    models = components_of(pipeline)
    size_of = component_size if opened.source == "object" else _cached_size
    order = dict.fromkeys([call.component for call in calls if call.component in models] + list(models))
    components = {}
    counted: set[int] = set()
    for slot in order:
        model = models[slot]
        size = NO_SIZE if id(unwrap_compiled(model)) in counted else size_of(unwrap_compiled(model))
        counted.add(id(unwrap_compiled(model)))
        by_dtype = size.bytes_by_dtype
        # A request that quantizes the weights, or stores them otherwise, overrides the files.
        if (
            slot in stored
            and size is not NO_SIZE
            and set(by_dtype) <= PLAIN_DTYPES | stored[slot].bytes_by_dtype.keys()
        ):
            by_dtype = stored[slot].bytes_by_dtype
        components[slot] = Component(
            slot=slot,
            class_name=type(unwrap_compiled(model)).__name__,
            role=role_of(slot, model),
            dtype=_computing_dtype(slot, model, calls),
            parameters=size.parameters,
            buffers=size.buffers,
            weight_bytes=sum(by_dtype.values()),
            weight_bytes_by_dtype=by_dtype,
            modules=size.modules,
            **_executed_work(slot, calls),
        )
    components[PIPELINE] = Component(
        slot=PIPELINE, class_name=type(pipeline).__name__, role="pipeline", dtype="", parameters=0, buffers=0,
        weight_bytes=0, **_executed_work(PIPELINE, calls),
    )  # fmt: skip
    return components


_SIZES: WeakKeyDictionary[torch.nn.Module, ComponentSize] = WeakKeyDictionary()
"""Cached sizes of models that were opened by name, which do not change."""


def _cached_size(model: torch.nn.Module) -> ComponentSize:
    size = _SIZES.get(model)
    if size is None:
        size = _SIZES[model] = component_size(model)
    return size


def _computing_dtype(slot: str, model: torch.nn.Module, calls: Sequence[Call]) -> str:
    """Return the dtype of most MACs of the component; if it has none, of most weights that layers compute with."""
    computed = macs_by_dtype(call for call in calls if call.component == slot)
    if computed:
        return next(iter(computed))
    held: Counter[str] = Counter()
    for weight in model.parameters():
        if weight.is_floating_point():
            held[dtype_text(weight)] += element_count(weight)
    return held.most_common(1)[0][0] if held else dtype_text(next(model.parameters(), None))


PLAIN_DTYPES = {"float32", "float16", "bfloat16", "float64", "int64", "int32", "bool"}
"""Dtypes of models without quantization."""


def _executed_work(slot: str, calls: Sequence[Call]) -> dict[str, Any]:
    own = [call for call in calls if call.component == slot]
    return {
        "calls": len(own),
        "work": sum((call.work for call in own), NO_WORK),
        "peak_live_bytes": max((call.cost.peak_live_bytes for call in own), default=0),
    }


def _ledger(calls: Sequence[Call], assumptions: Sequence[str]) -> Ledger:
    executed = known = moved = known_bytes = 0
    unknown: dict[str, int] = {}
    costs = {id(call.cost): call.cost for call in calls}
    for number, times in Counter(id(call.cost) for call in calls).items():
        for operation in costs[number].operations:
            count, moved_bytes = operation.count * times, operation.work.moved_bytes * times
            executed += count
            moved += moved_bytes
            if operation.known:
                known += count
                known_bytes += moved_bytes
            else:
                unknown[operation.name] = unknown.get(operation.name, 0) + count
    return Ledger(executed, known, moved, known_bytes, unknown, tuple(dict.fromkeys(assumptions)))


def _environment() -> Environment:
    return Environment(
        diffprof=__version__,
        python=platform.python_version(),
        torch=torch.__version__,
        diffusers=version("diffusers"),
        transformers=version("transformers"),
    )
