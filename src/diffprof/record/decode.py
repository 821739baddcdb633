"""From plain values to a `Profile`; derived figures are not read but checked against the sums of their parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from diffprof.record.decode_measured import decode_measured
from diffprof.record.encode import (
    ATTENTION_COLUMNS,
    MODULE_COLUMNS,
    MODULE_WORK_COLUMNS,
    OPERATION_COLUMNS,
)
from diffprof.record.fields import Fields, damaged
from diffprof.record.profile import (
    NO_WORK,
    Attention,
    Call,
    Component,
    Cost,
    Environment,
    Ledger,
    Module,
    ModuleWork,
    Operation,
    Profile,
    RecordedRequest,
    Stage,
    Steps,
    Work,
)

_WORK_TYPES = (int, int, int, int)
_MODULE_TYPES = (str, str, int)
_OPERATION_TYPES = (str, str, str, str, int, bool, *_WORK_TYPES)
_MODULE_WORK_TYPES = (str, str, int, *_WORK_TYPES)
_ATTENTION_TYPES = (str, str, *[int] * 7, bool, bool, *[int] * 4)


def decode_profile(values: dict[str, Any]) -> Profile:
    """The profile that `encode_profile` wrote; a `FileFormatError` when the values do not fit together."""
    top = Fields(values, "")
    costs = [_cost(Fields(item, f"costs[{n}]")) for n, item in enumerate(top.list_of("costs", dict))]
    calls = tuple(_call(Fields(item, f"calls[{n}]"), costs) for n, item in enumerate(top.list_of("calls", dict)))
    parts = top.fields("components")
    profile = Profile(
        request=_request(top.fields("request")),
        environment=_environment(top.fields("environment")),
        components={slot: _component(slot, parts.fields(slot)) for slot in parts.values},
        steps=_steps(top.fields("steps")),
        calls=calls,
        ledger=_ledger(top.fields("ledger")),
    )
    _check_components(profile)
    _check_total(profile, top.fields("total"))
    # Only a profile of real runs has it.
    return (
        replace(profile, measured=decode_measured(top.fields("measured"), profile)) if "measured" in values else profile
    )


def _request(fields: Fields) -> RecordedRequest:
    return RecordedRequest(
        model=fields.text("model"),
        source=fields.text("source"),
        pipeline=fields.text("pipeline"),
        arguments=fields.fields("arguments").values,
        defaults=fields.fields("defaults").values,
        dtype=fields.text_or_none("dtype"),
        scheduler=fields.text_or_none("scheduler"),
        enable=tuple(fields.list_of("enable", str)),
    )


def _environment(fields: Fields) -> Environment:
    return Environment(
        diffprof=fields.text("diffprof"),
        python=fields.text("python"),
        torch=fields.text("torch"),
        diffusers=fields.text("diffusers"),
        transformers=fields.text("transformers"),
    )


def _work(fields: Fields) -> Work:
    work = Work(
        fields.count("macs"), fields.count("other_flops"), fields.count("read_bytes"), fields.count("written_bytes")
    )
    fields.expect("flops", work.flops)
    return work


def _component(slot: str, fields: Fields) -> Component:
    return Component(
        slot=slot,
        class_name=fields.text("class_name"),
        role=fields.text("role"),
        dtype=fields.text("dtype"),
        parameters=fields.count("parameters"),
        buffers=fields.count("buffers"),
        weight_bytes=fields.count("weight_bytes"),
        calls=fields.count("calls"),
        work=_work(fields),
        peak_live_bytes=fields.count("peak_live_bytes"),
        modules=tuple(Module(*row) for row in fields.table("modules", MODULE_COLUMNS, _MODULE_TYPES)),
    )


def _cost(fields: Fields) -> Cost:
    operations = fields.table("operations", OPERATION_COLUMNS, _OPERATION_TYPES)
    modules = fields.table("modules", MODULE_WORK_COLUMNS, _MODULE_WORK_TYPES)
    attention = fields.table("attention", ATTENTION_COLUMNS, _ATTENTION_TYPES)
    cost = Cost(
        work=_work(fields),
        peak_live_bytes=fields.count("peak_live_bytes"),
        operations=tuple(_operation(row) for row in operations),
        modules=tuple(_module_work(row) for row in modules),
        attention=tuple(Attention(*row) for row in attention),
    )
    for name, parts in (("operations", cost.operations), ("modules", cost.modules)):
        # A cost may be kept without its tables; one that has them must be their sum.
        if parts and _sum_of(parts) != cost.work:
            raise damaged(f"the {name} of {fields.where} do not add up to its work")
    return cost


def _operation(row: list[Any]) -> Operation:
    name, kind, shapes, dtype, count, known, *work = row
    return Operation(name, kind, shapes, dtype, count, Work(*work), known)


def _module_work(row: list[Any]) -> ModuleWork:
    path, class_name, calls, *work = row
    return ModuleWork(path, class_name, calls, Work(*work))


def _sum_of(parts: tuple[Any, ...]) -> Work:
    """The sum of the parts' work, column by column: quicker than adding `Work` to `Work` a thousand times."""
    works = [part.work for part in parts]
    return Work(
        sum(work.macs for work in works),
        sum(work.other_flops for work in works),
        sum(work.read_bytes for work in works),
        sum(work.written_bytes for work in works),
    )


def _call(fields: Fields, costs: list[Cost]) -> Call:
    index = fields.count("cost")
    if index >= len(costs):
        raise damaged(f"{fields.place('cost')} points to a cost that is not there")
    cost = costs[index]
    if _work(fields) != cost.work:
        raise damaged(f"{fields.where} does not agree with the cost it points to")
    return Call(
        component=fields.text("component"),
        method=fields.text("method"),
        inputs=fields.text("inputs"),
        step=fields.count_or_none("step"),
        cost=cost,
    )


def _steps(fields: Fields) -> Steps:
    stages = fields.list_of("stages", dict)
    steps = Steps(tuple(_stage(Fields(item, f"steps.stages[{n}]")) for n, item in enumerate(stages)))
    fields.expect("count", steps.count)
    fields.expect("macs", steps.macs)
    return steps


def _stage(fields: Fields) -> Stage:
    stage = Stage(
        scheduler=fields.text("scheduler"),
        denoisers=tuple(fields.list_of("denoisers", str)),
        step_macs=tuple(fields.list_of("step_macs", int)),
    )
    fields.expect("count", stage.count)
    fields.expect("macs", stage.macs)
    return stage


def _ledger(fields: Fields) -> Ledger:
    ledger = Ledger(
        executed_ops=fields.count("executed_ops"),
        known_ops=fields.count("known_ops"),
        moved_bytes=fields.count("moved_bytes"),
        known_bytes=fields.count("known_bytes"),
        unknown=fields.counts("unknown"),
        assumptions=tuple(fields.list_of("assumptions", str)),
    )
    if ledger.known_ops > ledger.executed_ops or ledger.known_bytes > ledger.moved_bytes:
        raise damaged("the ledger knows more than was executed")
    return ledger


def _check_components(profile: Profile) -> None:
    """Every component did what its calls did, no more and no less."""
    calls = dict.fromkeys(profile.components, 0)
    work = dict.fromkeys(profile.components, NO_WORK)
    for call in profile.calls:
        if call.component not in calls:
            raise damaged(f"a call names the component {call.component}, which is not there")
        calls[call.component] += 1
        work[call.component] += call.work
    for slot, part in profile.components.items():
        if calls[slot] != part.calls or work[slot] != part.work:
            raise damaged(f"the calls of components.{slot} do not add up to its figures")


def _check_total(profile: Profile, fields: Fields) -> None:
    total = profile.total
    if _work(fields) != total.work:
        raise damaged("total is not the sum of the components")
    for name in ("parameters", "buffers", "weight_bytes", "calls"):
        fields.expect(name, getattr(total, name))
