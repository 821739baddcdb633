"""From a `Profile` to plain values that JSON can hold, derived figures included for machine readers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diffprof.record.encode_measured import encode_measured
from diffprof.record.plain import plain, table, table_of
from diffprof.record.profile import Call, Component, Cost, Ledger, Profile, RecordedRequest, Stage, Steps, Total, Work

# The columns of the long tables, in the order in which their rows hold them.
MODULE_COLUMNS = ("path", "class_name", "parameters")
WORK_COLUMNS = ("macs", "other_flops", "read_bytes", "written_bytes")
OPERATION_COLUMNS = ("name", "kind", "shapes", "dtype", "count", "known", *WORK_COLUMNS)
MODULE_WORK_COLUMNS = ("path", "class_name", "calls", *WORK_COLUMNS)
ATTENTION_COLUMNS = (
    "relation",
    "module",
    "batch",
    "query_tokens",
    "key_tokens",
    "heads",
    "key_heads",
    "head_size",
    "value_size",
    "causal",
    "masked",
    "count",
    "qk_macs",
    "softmax_flops",
    "av_macs",
)


def encode_profile(profile: Profile) -> dict[str, Any]:
    """Everything in the profile but the format's name and version."""
    costs, index = _distinct_costs(profile.calls)
    return {
        "request": _request(profile.request),
        "environment": dict(vars(profile.environment)),
        "total": _total(profile.total),
        "steps": _steps(profile.steps),
        "components": {slot: _component(part) for slot, part in profile.components.items()},
        "calls": [_call(call, index[id(call.cost)]) for call in profile.calls],
        "costs": [_cost(cost) for cost in costs],
        "ledger": _ledger(profile.ledger),
        **({} if profile.measured is None else {"measured": encode_measured(profile.measured)}),
    }


def _distinct_costs(calls: Iterable[Call]) -> tuple[list[Cost], dict[int, int]]:
    """Each different cost once, and for every cost object (by identity) where it stands."""
    costs: list[Cost] = []
    place: dict[Cost, int] = {}
    index: dict[int, int] = {}
    for call in calls:
        # Hashing a cost walks all its tables, so calls that share the object skip it.
        if id(call.cost) in index:
            continue
        if call.cost not in place:
            place[call.cost] = len(costs)
            costs.append(call.cost)
        index[id(call.cost)] = place[call.cost]
    return costs, index


def _request(request: RecordedRequest) -> dict[str, Any]:
    return {
        "model": request.model,
        "source": request.source,
        "pipeline": request.pipeline,
        "arguments": plain(request.arguments, "request.arguments"),
        "defaults": plain(request.defaults, "request.defaults"),
        "dtype": request.dtype,
        "scheduler": request.scheduler,
        "enable": list(request.enable),
    }


def _work(work: Work) -> dict[str, int]:
    return {
        "macs": work.macs,
        "flops": work.flops,
        "other_flops": work.other_flops,
        "read_bytes": work.read_bytes,
        "written_bytes": work.written_bytes,
    }


def _total(total: Total) -> dict[str, Any]:
    return {
        **_work(total.work),
        "parameters": total.parameters,
        "buffers": total.buffers,
        "weight_bytes": total.weight_bytes,
        "calls": total.calls,
    }


def _steps(steps: Steps) -> dict[str, Any]:
    return {"count": steps.count, "macs": steps.macs, "stages": [_stage(stage) for stage in steps.stages]}


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "scheduler": stage.scheduler,
        "denoisers": list(stage.denoisers),
        "count": stage.count,
        "macs": stage.macs,
        "step_macs": list(stage.step_macs),
    }


def _component(part: Component) -> dict[str, Any]:
    return {
        "class_name": part.class_name,
        "role": part.role,
        "dtype": part.dtype,
        "parameters": part.parameters,
        "buffers": part.buffers,
        "weight_bytes": part.weight_bytes,
        "calls": part.calls,
        **_work(part.work),
        "peak_live_bytes": part.peak_live_bytes,
        "modules": table_of(MODULE_COLUMNS, part.modules),
    }


def _call(call: Call, cost: int) -> dict[str, Any]:
    return {
        "component": call.component,
        "method": call.method,
        "inputs": call.inputs,
        "step": call.step,
        **_work(call.work),
        "cost": cost,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        **_work(cost.work),
        "peak_live_bytes": cost.peak_live_bytes,
        "operations": table(
            OPERATION_COLUMNS,
            ((o.name, o.kind, o.shapes, o.dtype, o.count, o.known, *_work_row(o.work)) for o in cost.operations),
        ),
        "modules": table(
            MODULE_WORK_COLUMNS, ((m.path, m.class_name, m.calls, *_work_row(m.work)) for m in cost.modules)
        ),
        "attention": table_of(ATTENTION_COLUMNS, cost.attention),
    }


def _work_row(work: Work) -> tuple[int, int, int, int]:
    return work.macs, work.other_flops, work.read_bytes, work.written_bytes


def _ledger(ledger: Ledger) -> dict[str, Any]:
    return {
        "executed_ops": ledger.executed_ops,
        "known_ops": ledger.known_ops,
        "moved_bytes": ledger.moved_bytes,
        "known_bytes": ledger.known_bytes,
        "unknown": dict(ledger.unknown),
        "assumptions": list(ledger.assumptions),
    }
