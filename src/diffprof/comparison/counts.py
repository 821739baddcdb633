"""Compare the counts of profiles, which are exact and do not depend on the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diffprof.breakdown.memory_peaks import counted_peak_bytes
from diffprof.record.profile import Component, Profile

ADDED, REMOVED, CHANGED, SAME = "added", "removed", "changed", "same"


@dataclass(frozen=True)
class CountChange:
    """One count before and after."""

    name: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        return self.after - self.before

    @property
    def ratio(self) -> float | None:
        """`after` divided by `before`; None if it was 0 before."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True)
class ComponentChange:
    """One component before and after."""

    component: str
    change: str
    """`ADDED`, `REMOVED`, `CHANGED` or `SAME`."""
    before_class: str | None
    after_class: str | None
    figures: tuple[CountChange, ...]


def peak_memory(profile: Profile) -> int:
    """All weights, plus the largest peak of live activations of any component call."""
    return counted_peak_bytes(profile)


# Under the names that limits of the gate use, in the order of display.
METRICS: Mapping[str, Callable[[Profile], int]] = {
    "macs": lambda profile: profile.total.macs,
    "flops": lambda profile: profile.total.flops,
    "other_flops": lambda profile: profile.total.other_flops,
    "parameters": lambda profile: profile.total.parameters,
    "buffers": lambda profile: profile.total.buffers,
    "weights": lambda profile: profile.total.weight_bytes,
    "peak_memory": peak_memory,
    "bytes": lambda profile: profile.total.work.moved_bytes,
    "read_bytes": lambda profile: profile.total.work.read_bytes,
    "written_bytes": lambda profile: profile.total.work.written_bytes,
    "calls": lambda profile: profile.total.calls,
    "operations": lambda profile: profile.ledger.executed_ops,
    "steps": lambda profile: sum(stage.count for stage in profile.steps.stages),
    "step_macs": lambda profile: profile.steps.macs,
}
COMPONENT_METRICS: Mapping[str, Callable[[Component], int]] = {
    "macs": lambda part: part.macs,
    "flops": lambda part: part.flops,
    "other_flops": lambda part: part.other_flops,
    "parameters": lambda part: part.parameters,
    "buffers": lambda part: part.buffers,
    "weights": lambda part: part.weight_bytes,
    "peak_memory": lambda part: part.weight_bytes + part.peak_live_bytes,
    "bytes": lambda part: part.work.moved_bytes,
    "read_bytes": lambda part: part.work.read_bytes,
    "written_bytes": lambda part: part.work.written_bytes,
    "calls": lambda part: part.calls,
}
BYTES = ("weights", "peak_memory", "bytes", "read_bytes", "written_bytes")
"""The metrics in bytes."""


def total_changes(before: Profile, after: Profile) -> tuple[CountChange, ...]:
    """Every metric of the whole generation, including unchanged ones."""
    return tuple(CountChange(name, metric(before), metric(after)) for name, metric in METRICS.items())


def component_changes(before: Profile, after: Profile) -> tuple[ComponentChange, ...]:
    """All components of both profiles, those of `before` first; a missing one counts as 0."""
    slots = dict.fromkeys([*before.components, *after.components])
    return tuple(_component(slot, before.components.get(slot), after.components.get(slot)) for slot in slots)


def _component(slot: str, before: Component | None, after: Component | None) -> ComponentChange:
    figures = tuple(
        CountChange(name, metric(before) if before else 0, metric(after) if after else 0)
        for name, metric in COMPONENT_METRICS.items()
    )
    if before is None or after is None:
        change = ADDED if before is None else REMOVED
    else:
        is_same_model = (before.class_name, before.role, before.dtype) == (after.class_name, after.role, after.dtype)
        change = SAME if is_same_model and not any(figure.difference for figure in figures) else CHANGED
    return ComponentChange(
        component=slot,
        change=change,
        before_class=before.class_name if before else None,
        after_class=after.class_name if after else None,
        figures=figures,
    )
