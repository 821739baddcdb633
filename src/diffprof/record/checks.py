"""What must hold between the values of a profile: parts add up, references lead somewhere, times lie within others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from diffprof.record.allocations import ALLOCATE, EVENT_KINDS, MOST_EVENTS, RELEASE, Allocations
from diffprof.record.decoding_error import DecodingError, inside
from diffprof.record.measured import (
    DEVICE_TO_HOST,
    FROM_DISK,
    HOST_TO_DEVICE,
    LIMITATIONS,
    Device,
    Iteration,
    Limitation,
    Span,
)
from diffprof.record.profile import NO_WORK, Call, Component, Cost, Ledger, Profile, Work


def check_profile(profile: Profile) -> None:
    """Check what no part of the profile can check by itself."""
    _check_components(profile)
    if profile.measured is None:
        return
    for number, iteration in enumerate(profile.measured.iterations):
        with inside("measured", "iterations", number):
            _check_calls(iteration, profile.calls)
    for slot in profile.measured.nominal_macs:
        if slot not in profile.components:
            raise DecodingError(f"names the component {slot}, which is not there", "measured.nominal_macs")


def _check_components(profile: Profile) -> None:
    """Every component did what its calls did, no more and no less."""
    calls = dict.fromkeys(profile.components, 0)
    work = dict.fromkeys(profile.components, NO_WORK)
    for number, call in enumerate(profile.calls):
        if call.component not in calls:
            message = f"names the component {call.component}, which is not there"
            raise DecodingError(message, f"calls[{number}].component")
        calls[call.component] += 1
        work[call.component] += call.work
    for slot, part in profile.components.items():
        if part.slot != slot:
            raise DecodingError("is not the name it stands under", f"components.{slot}.slot")
        if calls[slot] != part.calls or work[slot] != part.work:
            raise DecodingError("is not the sum of its calls", f"components.{slot}")


def _check_component(component: Component) -> None:
    """Bytes by dtype may not be recorded; where they are, they are all bytes."""
    by_dtype = component.weight_bytes_by_dtype
    if by_dtype and sum(by_dtype.values()) != component.weight_bytes:
        raise DecodingError("is not the sum of its weight_bytes_by_dtype", "weight_bytes")


def _check_cost(cost: Cost) -> None:
    """A cost may be kept without its tables; one that has them must be their sum."""
    for name, parts in (("operations", cost.operations), ("modules", cost.modules)):
        if parts and _sum_of([part.work for part in parts]) != cost.work:
            raise DecodingError(f"is not the sum of its {name}")


def _sum_of(works: Sequence[Work]) -> Work:
    """The sum, column by column: quicker than adding `Work` to `Work` a thousand times."""
    return Work(
        sum(work.macs for work in works),
        sum(work.other_flops for work in works),
        sum(work.read_bytes for work in works),
        sum(work.written_bytes for work in works),
    )


def _check_allocations(allocations: Allocations) -> None:
    """Every event is there, every reference leads to events before it, and what it stands for can be gone through."""
    known, total, allocated = len(allocations.events), 0, 0
    for event in allocations.events:
        if event.kind not in EVENT_KINDS:
            raise DecodingError("holds an event of a kind that is unknown", "events")
    places = iter(allocations.order)
    for number in places:
        length = next(places, None) if number >= known else 1
        if length is None or (number >= known and not 0 < number - known <= total):
            raise DecodingError("repeats events that are not there", "order")
        total += length
        if total > MOST_EVENTS:
            raise DecodingError("stands for too many events", "order")
    for number in allocations.expand():
        event = allocations.events[number]
        allocated += event.kind == ALLOCATE
        if event.kind == RELEASE and not 0 < event.value <= allocated:
            raise DecodingError("releases memory that was not allocated", "order")


def _check_ledger(ledger: Ledger) -> None:
    if ledger.known_ops > ledger.executed_ops or ledger.known_bytes > ledger.moved_bytes:
        raise DecodingError("knows more than was executed")


def _check_device(device: Device) -> None:
    if not all(device.peak_flops_per_second.values()):
        raise DecodingError("holds a peak of 0", "peak_flops_per_second")


def _check_limitation(limitation: Limitation) -> None:
    if limitation.kind not in LIMITATIONS:
        raise DecodingError("is unknown", "kind")


def _check_span(span: Span) -> None:
    if (span.device_start_ns is None) != (span.device_ns is None):
        raise DecodingError("has half of a time on the device")


def _check_iteration(iteration: Iteration) -> None:
    _check_references(iteration)
    _check_nesting(iteration)
    _check_steps(iteration)


def _check_references(iteration: Iteration) -> None:
    """Numbers of steps and samples are those of steps and samples that are there."""
    for table in ("samples", "moves", "caches"):
        for number, row in enumerate(getattr(iteration, table)):
            if row.step is not None and row.step >= len(iteration.steps):
                raise DecodingError("points to a step that is not there", table, number)
    for number, point in enumerate(iteration.memory):
        if point.sample is not None and point.sample >= len(iteration.samples):
            raise DecodingError("points to a sample that is not there", "memory", number)
    for number, move in enumerate(iteration.moves):
        if move.direction not in (HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK):
            raise DecodingError("moves in a direction that is unknown", "moves", number)


def _check_calls(iteration: Iteration, calls: Sequence[Call]) -> None:
    """A sample stands for a call of its own component, and no call belongs to two samples."""
    taken: set[int] = set()
    for number, sample in enumerate(iteration.samples):
        if sample.call is None:
            continue
        if sample.call >= len(calls):
            raise DecodingError("points to a call that is not there", "samples", number)
        if calls[sample.call].component != sample.component:
            raise DecodingError("points to a call of another component", "samples", number)
        if sample.call in taken:
            raise DecodingError("points to a call that another row has", "samples", number)
        taken.add(sample.call)


def _check_nesting(iteration: Iteration) -> None:
    """A sample lies within its parent and overlaps with no neighbour, so that all of them sum to the wall time."""
    ends: dict[int | None, int] = {}
    latest = iteration.wall.start_ns
    for number, sample in enumerate(iteration.samples):
        if sample.parent is not None and sample.parent >= number:
            raise DecodingError("points to a parent that does not come before it", "samples", number)
        around = iteration.wall if sample.parent is None else iteration.samples[sample.parent].span
        if not _lies_within(sample.span, around):
            raise DecodingError("is not within the time around it", "samples", number)
        if sample.span.start_ns < ends.get(sample.parent, 0):
            raise DecodingError("overlaps with the one next to it", "samples", number)
        if sample.span.start_ns < latest:
            raise DecodingError("begins before the row above it", "samples", number)
        ends[sample.parent] = sample.span.end_ns
        latest = sample.span.start_ns


def _check_steps(iteration: Iteration) -> None:
    """The steps of each scheduler are numbered from 0, and lie within the iteration."""
    counts: dict[str, int] = {}
    for number, step in enumerate(iteration.steps):
        if not _lies_within(step.span, iteration.wall):
            raise DecodingError("is not within the time around it", "steps", number)
        if step.number != counts.get(step.scheduler, 0):
            raise DecodingError("does not have the next number of its scheduler", "steps", number)
        counts[step.scheduler] = step.number + 1


def _lies_within(span: Span, around: Span) -> bool:
    return around.start_ns <= span.start_ns <= span.end_ns <= around.end_ns


CHECKS: dict[type, Callable[[Any], None]] = {
    Component: _check_component,
    Allocations: _check_allocations,
    Cost: _check_cost,
    Ledger: _check_ledger,
    Device: _check_device,
    Limitation: _check_limitation,
    Span: _check_span,
    Iteration: _check_iteration,
}
"""By the class of a record: what must hold between its fields."""
