"""Convert a counted call to plain values, with every operation of every module, for the fit of laws."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any

from diffprof.counting.dry_run import DryRunResult
from diffprof.laws.events import with_differences
from diffprof.laws.folding import LOOP, fold
from diffprof.pipelines.arguments import CallArguments, call_parameters, json_value
from diffprof.record.executed_calls import ExecutedCall, ExecutedOp
from diffprof.record.profile import Call, Component, Cost, Profile


def program_values(
    pipeline: Any,
    call: CallArguments,
    used: Mapping[str, Any],
    result: DryRunResult,
    profile: Profile,
    known: dict[int, Any],
) -> dict[str, Any]:
    """Return the values of `laws.programs`: nested dictionaries and tuples of strings, numbers and None.

    Values of costs that are `known`, by `id`, are reused.
    """
    costs: dict[int, Cost] = {}
    for one in profile.calls:
        costs.setdefault(id(one.cost), one.cost)
    numbers = {number: place for place, number in enumerate(costs)}
    parameters = call_parameters(pipeline)
    return {
        "request": (profile.request.model, profile.request.source, profile.request.pipeline, profile.request.dtype),
        "parameters": tuple(
            (name, _freeze(None if one.default is inspect.Parameter.empty else json_value(one.default)))
            for name, one in parameters.items()
        ),
        "stand_ins": tuple((name, _freeze(json_value(value)), isinstance(value, str)) for name, value in used.items()),
        "sizes": tuple(result.sizes.items()),
        "decoded": tuple(result.decoded.items()),
        "assumptions": _own_assumptions(profile, used),
        "components": tuple(map(_component_values, profile.components.values())),
        "stages": tuple(stage.scheduler for stage in profile.steps.stages),
        "calls": fold(_call_values(profile.calls, result.call_stages, numbers)),
        "costs": tuple(_known_cost(known, profile, cost, result.executed[number]) for number, cost in costs.items()),
        "texts": tuple((t.encoder, t.tokenizer, t.tokens, t.length, t.is_stand_in) for t in profile.texts),
        "placement": None if profile.placement is None else astuple(profile.placement),
    }


def _own_assumptions(profile: Profile, used: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the assumptions without those about stand-ins, which depend on the given arguments."""
    return tuple(
        sentence
        for sentence in profile.ledger.assumptions
        if not any(sentence.startswith(f"{name} was not given: ") for name in used)
    )


def _component_values(component: Component) -> tuple[Any, ...]:
    return (
        component.slot, component.class_name, component.role, component.dtype, component.parameters,
        component.buffers, component.weight_bytes, tuple(component.weight_bytes_by_dtype.items()),
        tuple((module.path, module.class_name, module.parameters) for module in component.modules),
    )  # fmt: skip


def _call_values(calls: tuple[Call, ...], stages: tuple[int | None, ...], numbers: Mapping[int, int]) -> list[Any]:
    values = []
    latest: dict[int, int] = {}
    for place, call in enumerate(calls):
        stage = stages[place] if place < len(stages) else None
        advance = 0
        if stage is not None and call.step is not None:
            advance = call.step - latest.get(stage, -1)
            latest[stage] = call.step
        inputs = tuple((one.name, tuple((t.shape, t.dtype) for t in one.tensors)) for one in call.inputs)
        values.append((call.component, call.method, inputs, stage, advance, numbers[id(call.cost)]))
    return values


def _known_cost(known: dict[int, Any], profile: Profile, cost: Cost, executed: ExecutedCall) -> Any:
    number = id(cost)
    if number not in known:
        # The cost is kept alive, so that its `id` is not reused.
        known[number] = (cost, _cost_values(profile, number, cost, executed))
    return known[number][1]


def _cost_values(profile: Profile, number: int, cost: Cost, executed: ExecutedCall) -> dict[str, Any]:
    ops: dict[ExecutedOp, tuple[Any, ...]] = {}

    def values_of(op: ExecutedOp) -> tuple[Any, ...]:
        if op not in ops:
            row = (op.name, op.kind, _inputs(op), op.shapes.outputs, op.dtype)
            ops[op] = (row, op.macs, op.other_flops, op.read_bytes, op.written_bytes, op.strided_bytes)
        return ops[op]

    rows = {op.row: values_of(op)[0] for module in executed.modules for op, _ in module.operations}
    first = next(call for call in profile.calls if id(call.cost) == number)
    return {
        "call": (first.component, first.method),
        "has_peak": first is not profile.calls[-1],
        "modules": tuple(
            (module.path, module.class_name, module.calls, _add_up((values_of(op), n) for op, n in module.operations))
            for module in executed.modules
        ),
        "attention": tuple((*astuple(record), scaled) for record, scaled in executed.attention),
        "events": fold([(k, rows.get(value, value), step) for k, value, step in with_differences(executed.events())]),
    }


def _inputs(op: ExecutedOp) -> tuple[Any, ...]:
    """Return the inputs; a stack of images has one input for each image."""
    inputs = op.shapes.inputs
    is_repeated = op.name in LISTS and len(inputs) > 1 and len(set(inputs)) == 1
    return ((LOOP, len(inputs), inputs[:1]),) if is_repeated else inputs


LISTS = ("stack", "cat")
"""Operations on lists of tensors."""


def _add_up(operations: Iterable[tuple[Any, int]]) -> tuple[tuple[Any, int], ...]:
    """Add up equal operations: the engine distinguishes some that are recorded alike."""
    counts: dict[Any, int] = {}
    for op, count in operations:
        counts[op] = counts.get(op, 0) + count
    return tuple(counts.items())


def _freeze(value: Any) -> Any:
    """Convert the lists of a JSON value to tuples."""
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return {name: _freeze(part) for name, part in value.items()} if isinstance(value, dict) else value
