"""Count the calls of modules in a real run, to see what a cache of another library skipped.

Only components that run code of unknown libraries are observed, because code of known libraries does what the dry run
does. Compiled components are not observed, because they would be compiled again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from diffprof.counting.dry_run import DryRunResult
from diffprof.counting.foreign_code import runs_foreign_code
from diffprof.counting.isolation import is_dry_running
from diffprof.errors import UncountableError
from diffprof.pipelines.components import is_compiled, named_modules_of
from diffprof.record.profile import Call, Stage
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration


@dataclass(frozen=True)
class ObservedCall:
    """A real call of a component, with the number of calls of each module with weights, by path."""

    component: str
    module_calls: Mapping[str, int]
    is_observed: bool = True
    """False if the component is compiled."""


class ModuleCalls:
    """Counts the calls of modules with weights, in components whose calls may differ from a dry run."""

    def __init__(self, components: Mapping[str, torch.nn.Module]) -> None:
        foreign = {slot: part for slot, part in components.items() if runs_foreign_code(part.modules())}
        self._compiled = {slot: is_compiled(part) for slot, part in foreign.items()}
        self._modules = {
            slot: {path: module for path, module in named_modules_of(part) if _has_weights(module)}
            for slot, part in foreign.items()
        }

    def record(self) -> Callable[[], None]:
        """Count calls in the current iteration, until the returned function is called."""
        observed = [modules for slot, modules in self._modules.items() if not self._compiled[slot]]
        paths = {id(module): path for modules in observed for path, module in modules.items()}

        def handle(original: Callable[..., Any], module: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            path = paths.get(id(module))
            iteration = current_iteration() if path is not None else None
            if path is not None and iteration is not None and not is_dry_running():
                iteration.add_module_call(path)
            return original(module, *args, **kwargs)

        with contextlib.ExitStack() as undo:
            for owner in dict.fromkeys(type(module) for modules in observed for module in modules.values()):
                undo.callback(intercept(owner, "__call__", handle))
            return undo.pop_all().close

    def observed_calls(self, iteration: IterationRecorder) -> tuple[ObservedCall, ...]:
        """The calls of these components in an iteration, in order."""
        return tuple(
            ObservedCall(
                sample.component,
                dict.fromkeys(self._modules[sample.component], 0) | iteration.module_calls.get(sample.number, {}),
                not self._compiled[sample.component],
            )
            for sample in iteration.samples
            if sample.component in self._modules and sample.section == f"{sample.component}_forward"
        )


def _has_weights(module: torch.nn.Module) -> bool:
    return any(weight is not None for weight in module._parameters.values())


def executed_calls(
    result: DryRunResult, observed: Sequence[ObservedCall], count_otherwise: Callable[[], DryRunResult]
) -> DryRunResult:
    """Correct a dry run: each call is replaced by a counted call that ran the same modules as the real one.

    A cache of another library decides by values, which a dry run does not have. It mostly makes two kinds of calls:
    complete and shortened ones. The dry run, in which values do not change, has the shortened ones; `count_otherwise`
    makes another in which all values change, which has the complete ones. `UncountableError` if neither matches.
    """
    try:
        return _match_calls(result, observed, result.calls)
    except UncountableError:
        return _match_calls(result, observed, (*result.calls, *count_otherwise().calls))


def _match_calls(result: DryRunResult, observed: Sequence[ObservedCall], known: Sequence[Call]) -> DryRunResult:
    slots = {call.component for call in observed}
    numbers = [
        number for number, call in enumerate(result.calls) if call.component in slots and call.method == "forward"
    ]
    if len(numbers) != len(observed):
        raise UncountableError(
            f"{' and '.join(sorted(slots))} was called {len(observed)} times, and {len(numbers)} times when counted"
        )
    calls, stages = list(result.calls), list(result.stages)
    for number, real in zip(numbers, observed, strict=True):
        same = _call_like(calls[number], real, known)
        stages = [_with_macs(stage, calls[number], same.macs) for stage in stages]
        calls[number] = replace(calls[number], cost=same.cost)
    return replace(result, calls=tuple(calls), stages=tuple(stages))


def _call_like(counted: Call, real: ObservedCall, others: Sequence[Call]) -> Call:
    """The counted call, or another with the same inputs, that ran the same modules as the real one."""
    if not real.is_observed:
        raise UncountableError(
            f"{real.component} runs compiled code that is unknown to diffprof: the calls it skips cannot be seen"
        )
    for call in (counted, *others):
        is_alike = (call.component, call.method, call.inputs) == (counted.component, counted.method, counted.inputs)
        if is_alike and _module_calls(call, real.module_calls) == real.module_calls:
            return call
    raise UncountableError(
        f"{real.component} runs code that is unknown to diffprof, which called its modules "
        f"{sum(real.module_calls.values())} times where {sum(_module_calls(counted, real.module_calls).values())} "
        "calls were counted"
    )


def _module_calls(call: Call, paths: Mapping[str, int]) -> dict[str, int]:
    """The number of calls of each module of `paths` in a counted call."""
    calls = {module.path: module.calls for module in call.cost.modules}
    return {path: calls.get(path, 0) for path in paths}


def _with_macs(stage: Stage, call: Call, macs: int) -> Stage:
    """Replace the MACs of a call in its stage."""
    if call.component not in stage.denoisers or call.step is None or call.macs == macs:
        return stage
    steps = list(stage.step_macs)
    steps[call.step] += macs - call.macs
    return replace(stage, step_macs=tuple(steps))
