"""Compose the `Profile` of a program for one request."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diffprof.laws.costs import CostValues
from diffprof.laws.folding import NegativeCount, is_loop
from diffprof.laws.programs import FilledProgram
from diffprof.laws.variation import Variation
from diffprof.record.profile import (
    LAW,
    NO_WORK,
    Call,
    Component,
    Cost,
    Ledger,
    Module,
    Placement,
    Profile,
    Stage,
    Steps,
    Work,
)
from diffprof.record.recorded_request import Environment, RecordedRequest
from diffprof.record.sizes import ComputedSize, ResizedOutput
from diffprof.record.tensors import TensorInput, TensorShape
from diffprof.record.texts import EncodedText
from diffprof.version import __version__


@dataclass(frozen=True)
class GivenCall:
    """The arguments of the call, under the pipeline's names."""

    arguments: Mapping[str, Any]
    recommended: tuple[str, ...]
    versions: Mapping[str, str]
    """The versions of torch, diffusers and transformers."""
    enable: tuple[str, ...] = ()
    """Switches in the requested order."""
    variation: Variation = field(default_factory=Variation)


def compose_profile(filled: FilledProgram, given: GivenCall) -> Profile:
    """Compose the profile of the call."""
    costs = filled.costs
    shared, numbers = _share_equal(costs)
    calls, times_called, stages = _calls(filled, shared, numbers)
    sizes = dict(filled.part("sizes"))
    return Profile(
        request=_request(filled, given, sizes),
        environment=Environment(__version__, platform.python_version(), **given.versions),
        components=_components(filled, shared, times_called),
        steps=Steps(stages),
        calls=calls,
        ledger=_ledger(costs, times_called, _assumptions(filled, given)),
        resized=_resized_outputs(given.arguments, sizes),
        computed_size=_computed_size(dict(filled.part("decoded")), sizes),
        placement=_placement(filled.part("placement")),
        texts=tuple(EncodedText(*text) for text in filled.part("texts")),
        counted_by=LAW,
    )


def _share_equal(costs: Sequence[CostValues]) -> tuple[list[Cost], list[int]]:
    """Return the costs with equal ones of a component merged, and for each cost the number of the merged one."""
    made: list[Cost] = []
    numbers: list[int] = []
    known: dict[tuple[Any, ...], list[int]] = {}
    for number, cost in enumerate(costs):
        made.append(cost.as_cost())
        # Compare sums first, because comparing tables would compute them.
        alike = known.setdefault((cost.call, cost.work, cost.peak_live_bytes), [])
        same = next((other for other in alike if made[other] == made[number]), number)
        if same == number:
            alike.append(number)
        numbers.append(same)
    return [made[number] for number in numbers], numbers


def _calls(
    filled: FilledProgram, costs: Sequence[Cost], numbers: Sequence[int]
) -> tuple[tuple[Call, ...], dict[tuple[str, int], int], tuple[Stage, ...]]:
    """Return all calls in order, the number of calls of each component at each cost, and the denoising loops."""
    schedulers = filled.part("stages")
    roles = {slot: role for slot, _, role, *_ in filled.part("components")}
    calls: list[Call] = []
    times_called: dict[tuple[str, int], int] = {}
    step_macs: list[list[int]] = [[] for _ in schedulers]
    denoisers: list[dict[str, None]] = [{} for _ in schedulers]
    inputs_of: dict[int, tuple[TensorInput, ...]] = {}
    for one, times in call_runs(filled.part("calls")):
        slot, method, inputs, stage, advance, number = one
        own_inputs = inputs_of.get(id(one))  # calls of a loop share one value
        if own_inputs is None:
            own_inputs = inputs_of[id(one)] = _tensor_inputs(inputs)
            if stage is not None and roles[slot] == "denoiser":
                denoisers[stage][slot] = None
        cost = costs[number]
        key = (slot, numbers[number])
        times_called[key] = times_called.get(key, 0) + times
        call = Call(slot, method, own_inputs, None, cost)
        if stage is None:
            calls += [call] * times
            continue
        steps, macs = step_macs[stage], cost.work.macs
        before = len(steps) - 1
        steps += [0] * (advance * times)
        own_steps = [before + advance * number for number in range(1, times + 1)]
        for step in own_steps:
            steps[step] += macs
        calls += _at_steps(call, own_steps)
    loops = zip(schedulers, denoisers, step_macs, strict=True)
    stages = [Stage(name, tuple(slots), tuple(macs)) for name, slots, macs in loops]
    return tuple(calls), times_called, tuple(stages)


def _at_steps(call: Call, steps: Iterable[int]) -> Iterator[Call]:
    """Yield the call for each of these steps; skips the checks of a frozen record, because there are many calls."""
    values, create = vars(call), object.__new__
    for step in steps:
        other = create(Call)
        own = other.__dict__
        own.update(values)
        own["step"] = step
        yield other


def call_runs(calls: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Yield each call of a program with its number of consecutive repetitions."""
    for one in calls:
        if not is_loop(one):
            yield one, 1
        elif one[1] < 0:
            raise NegativeCount("something would be repeated less than 0 times")
        elif len(one[2]) == 1 and not is_loop(one[2][0]):
            yield one[2][0], one[1]
        else:
            for _ in range(one[1]):
                yield from call_runs(one[2])


def _tensor_inputs(values: Sequence[tuple[Any, ...]]) -> tuple[TensorInput, ...]:
    return tuple(TensorInput(name, tuple(TensorShape(*tensor) for tensor in tensors)) for name, tensors in values)


def _ledger(
    costs: Sequence[CostValues], times_called: Mapping[tuple[str, int], int], assumptions: Sequence[str]
) -> Ledger:
    executed = known = moved = known_bytes = 0
    unknown: dict[str, int] = {}
    for (_, number), times in times_called.items():
        cost = costs[number]
        executed += cost.executed_ops * times
        known += cost.known_ops * times
        moved += cost.work.moved_bytes * times
        known_bytes += cost.known_bytes * times
        for name, count in cost.unknown.items():
            unknown[name] = unknown.get(name, 0) + count * times
    return Ledger(executed, known, moved, known_bytes, unknown, tuple(dict.fromkeys(assumptions)))


def _components(
    filled: FilledProgram, costs: Sequence[Cost], times_called: Mapping[tuple[str, int], int]
) -> dict[str, Component]:
    number_of_calls: Counter[str] = Counter()
    works: dict[str, Work] = {}
    peaks: dict[str, int] = {}
    for (slot, number), times in times_called.items():
        cost = costs[number]
        number_of_calls[slot] += times
        works[slot] = works.get(slot, NO_WORK) + cost.work * times
        peaks[slot] = max(peaks.get(slot, 0), cost.peak_live_bytes)
    components = {}
    for values in filled.part("components"):
        slot, class_name, role, dtype, parameters, buffers, weight_bytes, by_dtype, modules = values
        components[slot] = Component(
            slot, class_name, role, dtype, parameters, buffers, weight_bytes, number_of_calls[slot],
            works.get(slot, NO_WORK), peaks.get(slot, 0), filled.once(modules, _modules), dict(by_dtype),
        )  # fmt: skip
    return components


def _modules(values: Sequence[tuple[Any, ...]]) -> tuple[Module, ...]:
    return tuple(Module(*value) for value in values)


def _request(filled: FilledProgram, given: GivenCall, sizes: Mapping[str, int]) -> RecordedRequest:
    model, source, pipeline, dtype = filled.part("request")
    stand_ins = {name: value for name, value, _ in filled.part("stand_ins") if name not in given.arguments}
    defaults = {
        name: value
        for name, value in filled.part("parameters")
        if name not in given.arguments and name not in stand_ins
    }
    return RecordedRequest(
        model=model,
        source=source,
        pipeline=pipeline,
        arguments=dict(given.arguments),
        defaults={name: _thaw(value) for name, value in {**defaults, **sizes, **stand_ins}.items()},
        dtype=dtype,
        scheduler=given.variation.scheduler,
        enable=given.enable,
        changes=given.variation.changes,
        recommended=tuple(name for name in given.recommended if name in given.arguments),
    )


def _assumptions(filled: FilledProgram, given: GivenCall) -> list[str]:
    stand_ins = [
        f"{name} was not given: {value!r} stands in" if is_text else f"{name} was not given: {_thaw(value)} stands in"
        for name, value, is_text in filled.part("stand_ins")
        if name != "output_type" and name not in given.arguments
    ]
    return [*stand_ins, *filled.part("assumptions")]


def _resized_outputs(arguments: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[ResizedOutput, ...]:
    return tuple(
        ResizedOutput(name, arguments[name], size)
        for name, size in sizes.items()
        if isinstance(arguments.get(name), int | float) and arguments[name] != size
    )


def _computed_size(decoded: Mapping[str, int], sizes: Mapping[str, int]) -> ComputedSize | None:
    sides = [found.get(side) for found in (decoded, sizes) for side in ("width", "height")]
    known = [side for side in sides if side is not None]
    return ComputedSize(*known) if len(known) == 4 and known[:2] != known[2:] else None


def _placement(values: Any) -> Placement | None:
    return None if values is None else Placement(*values)


def _thaw(value: Any) -> Any:
    """Convert the tuples of a value to lists."""
    if isinstance(value, tuple):
        return [_thaw(part) for part in value]
    return {name: _thaw(part) for name, part in value.items()} if isinstance(value, dict) else value
