"""A profile as nested slices of a timeline: measured ones in time, counted ones in MACs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof.breakdown.clocks import Clock
from diffprof.record.measured import Iteration, Sample
from diffprof.record.profile import Call, Cost, Profile
from diffprof.render.shapes import inputs_text


@dataclass(frozen=True)
class Slice:
    """A slice of the timeline; nested slices lie within it and do not overlap."""

    name: str
    start: int
    length: int
    about: Mapping[str, Any] = field(default_factory=dict)
    inside: tuple[Slice, ...] = ()

    @property
    def end(self) -> int:
        return self.start + self.length

    def shift(self, distance: int) -> Slice:
        """Move the slice and its nested slices along the timeline."""
        inside = tuple(nested.shift(distance) for nested in self.inside)
        return Slice(self.name, self.start + distance, self.length, self.about, inside)


def counted_slices(profile: Profile) -> Iterator[Slice]:
    """The calls in execution order with their modules nested; the length of a slice is its MACs."""
    trees: dict[int, tuple[Slice, ...]] = {}
    at = 0
    for call in profile.calls:
        if id(call.cost) not in trees:
            trees[id(call.cost)] = _modules(call.cost)
        about = {"method": call.method, "inputs": inputs_text(call.inputs), "macs": call.macs}
        if call.step is not None:
            about["step"] = call.step
        yield Slice(_call_name(call), 0, call.macs, about, trees[id(call.cost)]).shift(at)
        at += call.macs


def _call_name(call: Call) -> str:
    return f"{call.component}.{call.method}"


@dataclass
class _Node:
    name: str
    class_name: str = ""
    own_macs: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    @property
    def macs(self) -> int:
        return self.own_macs + sum(child.macs for child in self.children.values())


def _modules(cost: Cost) -> tuple[Slice, ...]:
    """The modules of one call, starting at 0; in each module, nested modules come before its own work."""
    root = _Node("")
    for module in cost.modules:
        node = root
        for part in module.path.split(".") if module.path else ():
            node = node.children.setdefault(part, _Node(part))
        node.class_name = module.class_name
        node.own_macs += module.work.macs
    return tuple(_lay_out(root, 0))


def _lay_out(node: _Node, start: int) -> Iterator[Slice]:
    for child in node.children.values():
        macs = child.macs
        if macs:
            about = {"class": child.class_name, "macs": macs}
            # With its class, because viewers sum up slices of the same name, and "0" is the name of many modules.
            name = f"{child.name}: {child.class_name}" if child.class_name else child.name
            yield Slice(name, start, macs, about, tuple(_lay_out(child, start)))
        start += macs


def measured_slices(iteration: Iteration, clock: Clock) -> tuple[Slice, ...]:
    """The nested sections of one iteration, in nanoseconds since it started."""
    children: dict[int | None, list[int]] = {}
    for number, sample in enumerate(iteration.samples):
        children.setdefault(sample.parent, []).append(number)

    def inside(parent: int | None, start: int, end: int) -> Iterator[Slice]:
        # With device clocks, neighbours can overlap slightly, which viewers do not accept.
        for number in sorted(children.get(parent, ()), key=lambda one: clock.start_ns(iteration.samples[one].span)):
            sample = iteration.samples[number]
            begins = min(max(start, clock.start_ns(sample.span)), end)
            ends = max(begins, min(end, clock.end_ns(sample.span)))
            yield Slice(sample.section, begins, ends - begins, _about(sample), tuple(inside(number, begins, ends)))
            start = ends

    wall = iteration.wall
    return tuple(inside(None, clock.start_ns(wall), clock.end_ns(wall)))


def _about(sample: Sample) -> dict[str, Any]:
    known = {"component": sample.component, "step": sample.step, "call": sample.call, "failed": sample.failed or None}
    return {name: value for name, value in known.items() if value is not None}
