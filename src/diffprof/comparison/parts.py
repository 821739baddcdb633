"""Calls, operations and modules that were added, removed or changed between two profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from diffprof.comparison.counts import ADDED, CHANGED, REMOVED
from diffprof.record.profile import NO_WORK, Profile, Work
from diffprof.render.shapes import inputs_text, shapes_text

CALL, OPERATION, MODULE = "call", "operation", "module"


@dataclass(frozen=True)
class Tally:
    """The work of a call, an operation or a module in a whole generation."""

    class_name: str = ""
    """The class of a module; empty for other parts."""
    parameters: int = 0
    """Parameters of a module without its children."""
    count: int = 0
    """How often it ran."""
    work: Work = NO_WORK
    """Total work of all executions; of a module without its children."""


@dataclass(frozen=True)
class PartChange:
    """A call, an operation or a module that changed."""

    kind: str
    component: str
    name: str
    """Identifies it: method and inputs of a call; name, shapes and dtype of an operation; path of a module."""
    before: Tally | None
    """None if it did not exist."""
    after: Tally | None

    @property
    def change(self) -> str:
        return ADDED if self.before is None else REMOVED if self.after is None else CHANGED

    @property
    def macs_difference(self) -> int:
        return (self.after.work.macs if self.after else 0) - (self.before.work.macs if self.before else 0)

    @property
    def factor(self) -> float | None:
        """The factor by which it ran more often; None if anything else changed."""
        if self.before is None or self.after is None or not self.before.count:
            return None
        is_same = (self.before.class_name, self.before.parameters) == (self.after.class_name, self.after.parameters)
        in_proportion = self.before.work * self.after.count == self.after.work * self.before.count
        return self.after.count / self.before.count if is_same and in_proportion else None


def part_changes(before: Profile, after: Profile) -> tuple[PartChange, ...]:
    """Changed calls, operations and modules, by component, the largest change first."""
    tallies = {CALL: _calls, OPERATION: _operations, MODULE: _modules}
    return tuple(change for kind, tally in tallies.items() for change in _changes(kind, tally(before), tally(after)))


def common_factors(changes: Iterable[PartChange]) -> dict[tuple[str, str], float]:
    """The factor by which all changed parts ran more or less often, by kind and component.

    Ten more steps are reported as one change, not as one for each operation of the denoiser.
    """
    factors: dict[tuple[str, str], set[float | None]] = {}
    for change in changes:
        factors.setdefault((change.kind, change.component), set()).add(change.factor)
    return {part: factor for part, (factor, *others) in factors.items() if factor is not None and not others}


_Tallies = Mapping[tuple[str, str], Tally]


def _changes(kind: str, before: _Tallies, after: _Tallies) -> list[PartChange]:
    keys = dict.fromkeys([*before, *after])
    slots = list(dict.fromkeys(component for component, _ in keys))
    changes = [
        PartChange(kind, *key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)
    ]
    return sorted(changes, key=lambda change: (slots.index(change.component), -abs(change.macs_difference)))


def _calls(profile: Profile) -> _Tallies:
    return _sum_tallies(
        ((call.component, f"{call.method}({inputs_text(call.inputs)})"), Tally(count=1, work=call.work))
        for call in profile.calls
    )


def _operations(profile: Profile) -> _Tallies:
    return _sum_tallies(
        (
            (call.component, f"{operation.name} {shapes_text(operation.shapes)} {operation.dtype}"),
            Tally(count=operation.count * times, work=operation.work * times),
        )
        for call, times in profile.costs()
        for operation in call.cost.operations
    )


def _modules(profile: Profile) -> _Tallies:
    def every() -> Iterator[tuple[tuple[str, str], Tally]]:
        for slot, component in profile.components.items():
            for module in component.modules:
                yield (slot, module.path), Tally(module.class_name, module.parameters)
        for call, times in profile.costs():
            for module_cost in call.cost.modules:
                yield (
                    (call.component, module_cost.path),
                    Tally(module_cost.class_name, 0, module_cost.calls * times, module_cost.work * times),
                )

    return _sum_tallies(every())


def _sum_tallies(parts: Iterable[tuple[tuple[str, str], Tally]]) -> _Tallies:
    sums: dict[tuple[str, str], Tally] = {}
    for key, tally in parts:
        known = sums.get(key)
        sums[key] = (
            tally
            if known is None
            else replace(
                known,
                parameters=known.parameters + tally.parameters,
                count=known.count + tally.count,
                work=known.work + tally.work,
            )
        )
    return sums
