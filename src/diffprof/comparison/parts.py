"""What was added, removed or changed among the calls, the operations and the modules of two profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from diffprof.comparison.counts import ADDED, CHANGED, REMOVED
from diffprof.record.profile import NO_WORK, Profile, Work
from diffprof.render.shapes import inputs_text, shapes_text

CALL, OPERATION, MODULE = "call", "operation", "module"


@dataclass(frozen=True)
class Tally:
    """What one part amounts to in a whole generation."""

    class_name: str = ""
    """Of a module; other parts have none."""
    parameters: int = 0
    """That a module holds itself, its children not included."""
    count: int = 0
    """How often it ran."""
    work: Work = NO_WORK
    """Of all runs together; a module's is its own, without its children."""


@dataclass(frozen=True)
class PartChange:
    """A call, an operation or a module that is not the same before and after."""

    kind: str
    component: str
    name: str
    """Of a call its method and inputs, of an operation its name, shapes and dtype, of a module its path."""
    before: Tally | None
    """None: it was not there."""
    after: Tally | None

    @property
    def change(self) -> str:
        return ADDED if self.before is None else REMOVED if self.after is None else CHANGED

    @property
    def macs_difference(self) -> int:
        return (self.after.work.macs if self.after else 0) - (self.before.work.macs if self.before else 0)

    @property
    def factor(self) -> float | None:
        """How many times as often it ran; None where it is not the same work that ran more or less often."""
        if self.before is None or self.after is None or not self.before.count:
            return None
        described = (self.before.class_name, self.before.parameters) == (self.after.class_name, self.after.parameters)
        in_step = self.before.work * self.after.count == self.after.work * self.before.count
        return self.after.count / self.before.count if described and in_step else None


def compared_parts(before: Profile, after: Profile) -> tuple[PartChange, ...]:
    """Calls, then operations, then modules; of each those that differ, by component, the largest change first."""
    tallies = {CALL: _calls, OPERATION: _operations, MODULE: _modules}
    return tuple(change for kind, tally in tallies.items() for change in _changes(kind, tally(before), tally(after)))


def alike(changes: Iterable[PartChange]) -> dict[tuple[str, str], float]:
    """By kind and component, the factor by which every single changed part ran more or less often.

    Ten steps more are one change, not one of each operation of the denoiser.
    """
    factors: dict[tuple[str, str], set[float | None]] = {}
    for change in changes:
        factors.setdefault((change.kind, change.component), set()).add(change.factor)
    return {part: factor for part, (factor, *others) in factors.items() if factor is not None and not others}


_Tallies = Mapping[tuple[str, str], Tally]


def _changes(kind: str, before: _Tallies, after: _Tallies) -> list[PartChange]:
    keys = dict.fromkeys([*before, *after])
    slots = list(dict.fromkeys(component for component, _ in keys))
    found = [
        PartChange(kind, *key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)
    ]
    return sorted(found, key=lambda change: (slots.index(change.component), -abs(change.macs_difference)))


def _calls(profile: Profile) -> _Tallies:
    return _added_up(
        ((call.component, f"{call.method}({inputs_text(call.inputs)})"), Tally(count=1, work=call.work))
        for call in profile.calls
    )


def _operations(profile: Profile) -> _Tallies:
    return _added_up(
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
            for ran in call.cost.modules:
                yield (call.component, ran.path), Tally(ran.class_name, 0, ran.calls * times, ran.work * times)

    return _added_up(every())


def _added_up(parts: Iterable[tuple[tuple[str, str], Tally]]) -> _Tallies:
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
