"""Check that the values of a profile are consistent: parts add up, references exist, times are nested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from diffprof.record.allocations import ALLOCATE, EVENT_KINDS, MAX_EVENTS, RELEASE, Allocations
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
    """Check the consistency between the parts of a profile."""
    _check_components(profile)
    if profile.measured is None:
        return
    for number, iteration in enumerate(profile.measured.iterations):
        with inside("measured", "iterations", number):
            _check_calls(iteration, profile.calls)
    for slot in profile.measured.nominal_macs:
        if slot not in profile.components:
            raise DecodingError(f"names the component {slot}, which does not exist", "measured.nominal_macs")


def _check_components(profile: Profile) -> None:
    """Check that the work of every component is the sum of its calls."""
    calls = dict.fromkeys(profile.components, 0)
    work = dict.fromkeys(profile.components, NO_WORK)
    for number, call in enumerate(profile.calls):
        if call.component not in calls:
            message = f"names the component {call.component}, which does not exist"
            raise DecodingError(message, f"calls[{number}].component")
        calls[call.component] += 1
        work[call.component] += call.work
    for slot, part in profile.components.items():
        if part.slot != slot:
            raise DecodingError("is not the key of its component", f"components.{slot}.slot")
        if calls[slot] != part.calls or work[slot] != part.work:
            raise DecodingError("is not the sum of its calls", f"components.{slot}")


def _check_component(component: Component) -> None:
    """Check that the bytes by dtype, if they are recorded, add up."""
    by_dtype = component.weight_bytes_by_dtype
    if by_dtype and sum(by_dtype.values()) != component.weight_bytes:
        raise DecodingError("is not the sum of its weight_bytes_by_dtype", "weight_bytes")


def _check_cost(cost: Cost) -> None:
    """Check that a cost is the sum of its tables, if it has tables."""
    for name, parts in (("operations", cost.operations), ("modules", cost.modules)):
        if parts and _sum_of([part.work for part in parts]) != cost.work:
            raise DecodingError(f"is not the sum of its {name}")


def _sum_of(works: Sequence[Work]) -> Work:
    """Add up by column, which is faster than adding a thousand `Work` objects."""
    return Work(
        sum(work.macs for work in works),
        sum(work.other_flops for work in works),
        sum(work.read_bytes for work in works),
        sum(work.written_bytes for work in works),
    )


def _check_allocations(allocations: Allocations) -> None:
    """Check that every event exists, every reference points back, and the sequence is not too long."""
    known, total, allocated = len(allocations.events), 0, 0
    for event in allocations.events:
        if event.kind not in EVENT_KINDS:
            raise DecodingError("has an event of an unknown kind", "events")
    places = iter(allocations.order)
    for number in places:
        length = next(places, None) if number >= known else 1
        if length is None or (number >= known and not 0 < number - known <= total):
            raise DecodingError("repeats events that do not exist", "order")
        total += length
        if total > MAX_EVENTS:
            raise DecodingError("expands to too many events", "order")
    for number in allocations.expand():
        event = allocations.events[number]
        allocated += event.kind == ALLOCATE
        if event.kind == RELEASE and not 0 < event.value <= allocated:
            raise DecodingError("releases memory that was not allocated", "order")


def _check_ledger(ledger: Ledger) -> None:
    if ledger.known_ops > ledger.executed_ops or ledger.known_bytes > ledger.moved_bytes:
        raise DecodingError("has more known than executed operations")


def _check_device(device: Device) -> None:
    if not all(device.peak_flops_per_second.values()):
        raise DecodingError("has a peak of 0", "peak_flops_per_second")


def _check_limitation(limitation: Limitation) -> None:
    if limitation.kind not in LIMITATIONS:
        raise DecodingError("is unknown", "kind")


def _check_span(span: Span) -> None:
    if (span.device_start_ns is None) != (span.device_ns is None):
        raise DecodingError("has only one of start and duration on the device")


def _check_iteration(iteration: Iteration) -> None:
    _check_references(iteration)
    _check_nesting(iteration)
    _check_steps(iteration)


def _check_references(iteration: Iteration) -> None:
    """Check that all steps and samples that are referred to exist."""
    for table in ("samples", "moves", "caches"):
        for number, row in enumerate(getattr(iteration, table)):
            if row.step is not None and row.step >= len(iteration.steps):
                raise DecodingError("refers to a step that does not exist", table, number)
    for number, point in enumerate(iteration.memory):
        if point.sample is not None and point.sample >= len(iteration.samples):
            raise DecodingError("refers to a sample that does not exist", "memory", number)
    for number, move in enumerate(iteration.moves):
        if move.direction not in (HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK):
            raise DecodingError("has an unknown direction", "moves", number)


def _check_calls(iteration: Iteration, calls: Sequence[Call]) -> None:
    """Check that a sample refers to a call of its own component, and no two samples to the same call."""
    taken: set[int] = set()
    for number, sample in enumerate(iteration.samples):
        if sample.call is None:
            continue
        if sample.call >= len(calls):
            raise DecodingError("refers to a call that does not exist", "samples", number)
        if calls[sample.call].component != sample.component:
            raise DecodingError("refers to a call of another component", "samples", number)
        if sample.call in taken:
            raise DecodingError("refers to the same call as another row", "samples", number)
        taken.add(sample.call)


def _check_nesting(iteration: Iteration) -> None:
    """Check that samples are within their parents and do not overlap, so that they add up to the wall time."""
    ends: dict[int | None, int] = {}
    latest = iteration.wall.start_ns
    for number, sample in enumerate(iteration.samples):
        if sample.parent is not None and sample.parent >= number:
            raise DecodingError("refers to a parent that does not come before it", "samples", number)
        around = iteration.wall if sample.parent is None else iteration.samples[sample.parent].span
        if not _is_within(sample.span, around):
            raise DecodingError("is not within the time around it", "samples", number)
        if sample.span.start_ns < ends.get(sample.parent, 0):
            raise DecodingError("overlaps with its neighbour", "samples", number)
        if sample.span.start_ns < latest:
            raise DecodingError("begins before the row above it", "samples", number)
        ends[sample.parent] = sample.span.end_ns
        latest = sample.span.start_ns


def _check_steps(iteration: Iteration) -> None:
    """Check that the steps of each scheduler are numbered from 0 and are within the iteration."""
    counts: dict[str, int] = {}
    for number, step in enumerate(iteration.steps):
        if not _is_within(step.span, iteration.wall):
            raise DecodingError("is not within the time around it", "steps", number)
        if step.number != counts.get(step.scheduler, 0):
            raise DecodingError("does not have the next number of its scheduler", "steps", number)
        counts[step.scheduler] = step.number + 1


def _is_within(span: Span, around: Span) -> bool:
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
"""Checks between the fields of a record, by its class."""
