"""Assign the calls of a dry run to denoising steps: a step has the calls since the scheduler's last step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from diffprof.pipelines.components import DENOISING_ROLES, SchedulerSlots
from diffprof.pipelines.patching import Patches
from diffprof.record.profile import Call, Stage


@dataclass(frozen=True)
class StagedCalls:
    """The calls of a dry run, with their steps."""

    calls: tuple[Call, ...]
    stages: tuple[Stage, ...]
    call_stages: tuple[int | None, ...]
    """The number of the stage of each call."""


class StepRecorder:
    """Observes the schedulers of a pipeline and notes the calls of denoisers."""

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = roles
        self._schedulers: dict[str, str] = {}
        """The class name of each scheduler, by slot."""
        self._steps: dict[str, list[list[int]]] = {}
        """For each slot of a scheduler, the numbers of the calls of each executed step."""
        self._pending: list[int] = []
        """Calls of denoisers since the scheduler's last step."""

    def catch_schedulers(self, patches: Patches, schedulers: dict[str, Any]) -> None:
        """Close a step whenever a scheduler executes one."""
        self._schedulers = {slot: type(scheduler).__name__ for slot, scheduler in schedulers.items()}
        slots = SchedulerSlots(schedulers)

        def wrap_step(original: Callable[..., Any]) -> Callable[..., Any]:
            def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
                if self._pending:
                    self._steps.setdefault(slots.slot_of(scheduler), []).append(self._pending)
                    self._pending = []
                return original(scheduler, *args, **kwargs)

            return step

        for owner in slots.classes:
            patches.function(owner, "step", wrap_step)

    def note_call(self, slot: str, method: str, number: int) -> None:
        """Note the number of a call, if it is part of a step."""
        if method == "forward" and self._roles[slot] in DENOISING_ROLES:
            self._pending.append(number)

    def arrange(self, calls: list[Call]) -> StagedCalls:
        """Give every call the number of its step, and every scheduler that executed steps a stage."""
        calls = list(calls)
        stages: list[Stage] = []
        call_stages: list[int | None] = [None] * len(calls)
        for slot, steps in self._steps.items():
            for number, members in enumerate(steps):
                for index in members:
                    calls[index] = replace(calls[index], step=number)
                    call_stages[index] = len(stages)
            slots = dict.fromkeys(calls[index].component for step in steps for index in step)
            denoisers = tuple(name for name in slots if self._roles[name] == "denoiser")
            macs = tuple(sum(calls[index].macs for index in step) for step in steps)
            stages.append(Stage(self._schedulers.get(slot, slot), denoisers, macs))
        return StagedCalls(tuple(calls), tuple(stages), tuple(call_stages))
