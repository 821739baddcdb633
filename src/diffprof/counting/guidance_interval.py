"""Apply guidance in part of the steps: combine the steps of a guided and an unguided dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from diffprof.counting.dry_run import DryRunResult
from diffprof.errors import RequestError
from diffprof.pipelines.arguments import call_parameters
from diffprof.record.executed_calls import ExecutedCall
from diffprof.record.profile import Call

SCALES = ("true_cfg_scale", "guidance_scale")
"""Arguments that guidance depends on; if a pipeline has both, the second is an input of its model."""


def unguided_arguments(pipeline: Any, requested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the same call without guidance."""
    parameters = call_parameters(pipeline)
    name = next((scale for scale in SCALES if scale in parameters), None)
    if name is None:
        raise RequestError(f"{type(pipeline).__name__} has no guidance scale, so guidance has no interval")
    return {**requested, name: 1.0}


def combine(guided: DryRunResult, unguided: DryRunResult, interval: Sequence[float], pipeline: str) -> DryRunResult:
    """Take the guided steps inside the interval and the unguided ones outside; everything else is as guided.

    Of n steps those from ``int(START * n)`` to before ``int(END * n)`` are guided, as in diffusers' guiders.
    """
    if len(guided.stages) != 1 or len(unguided.stages) != 1:
        raise RequestError(f"{pipeline} has {len(guided.stages)} denoising loops; a guidance interval works with one")
    stage, other = guided.stages[0], unguided.stages[0]
    if stage.count != other.count or stage.step_macs == other.step_macs:
        raise RequestError(
            f"guidance costs {pipeline} nothing in this call: no step is cheaper without it; leave out the interval"
        )
    first, end = int(interval[0] * stage.count), int(interval[1] * stage.count)
    chosen = [stage.step_macs[step] if first <= step < end else other.step_macs[step] for step in range(stage.count)]
    replaced = [not first <= step < end for step in range(stage.count)]
    calls = _replace_steps(guided.calls, unguided.calls, replaced)
    executed = _without_calls(
        guided.executed[id(guided.outside)], _missing_calls(guided.calls, unguided.calls, replaced)
    )
    outside = executed.cost(peak_live_bytes=0)
    sentence = (
        f"guidance is applied in {max(end - first, 0)} of {stage.count} steps, from step {first + 1}; in the others "
    )
    return replace(
        guided,
        calls=calls,
        outside=outside,
        executed={**unguided.executed, **guided.executed, id(outside): executed},
        call_stages=tuple(None if call.step is None else 0 for call in calls),
        stages=(replace(stage, step_macs=tuple(chosen)),),
        assumptions=(*guided.assumptions, sentence + "the denoiser is called as without guidance"),
    )


def _replace_steps(guided: Sequence[Call], unguided: Sequence[Call], replaced: Sequence[bool]) -> tuple[Call, ...]:
    calls: list[Call] = []
    done: set[int] = set()
    for call in guided:
        if call.step is None or not replaced[call.step]:
            calls.append(call)
        elif call.step not in done:
            done.add(call.step)
            calls += [other for other in unguided if other.step == call.step]
    return tuple(calls)


def _missing_calls(guided: Sequence[Call], unguided: Sequence[Call], replaced: Sequence[bool]) -> set[int]:
    """Return the numbers of the guided calls without a counterpart: of a step with more calls, the last ones."""
    left = Counter(call.step for call in unguided if call.step is not None)
    missing = set()
    for number, call in enumerate(guided):
        if call.step is None or not replaced[call.step]:
            continue
        left[call.step] -= 1
        if left[call.step] < 0:
            missing.add(number)
    return missing


def _without_calls(executed: ExecutedCall, missing: Container[int]) -> ExecutedCall:
    """Leave these calls out of the pipeline's own allocations, in which None stands for each component call."""
    log: list[Any] = []
    number = 0
    for entry in executed.log:
        if entry is None:
            number += 1
            if number - 1 in missing:
                continue
        log.append(entry)
    return replace(executed, log=log)
