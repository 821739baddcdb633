"""From plain values to `Measured`: what points somewhere points to something, and times lie within one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from diffprof.record.encode_measured import (
    CACHE_COLUMNS,
    MEMORY_COLUMNS,
    MOVE_COLUMNS,
    SAMPLE_COLUMNS,
    STEP_COLUMNS,
    SYSTEM_COLUMNS,
)
from diffprof.record.fields import Fields, damaged
from diffprof.record.measured import (
    DEVICE_TO_HOST,
    FROM_DISK,
    HOST_TO_DEVICE,
    CacheEvent,
    Device,
    Iteration,
    Measured,
    MemoryPoint,
    Move,
    Sample,
    Span,
    StepSpan,
    SystemPoint,
)
from diffprof.record.profile import Call, Profile

_TEXT, _COUNT, _FRACTION, _FLAG = str | None, int | None, float | None, bool | None
_SPAN_TYPES = (int, int, _COUNT, _COUNT)
_SAMPLE_TYPES = (str, _TEXT, _COUNT, _COUNT, _COUNT, _TEXT, bool, *_SPAN_TYPES)
_STEP_TYPES = (str, int, *_SPAN_TYPES)
_MEMORY_TYPES = (str, int, int, int, _COUNT, _COUNT, _COUNT, _COUNT)
_MOVE_TYPES = (str, str, int, int, int, _COUNT, _FLAG)
_CACHE_TYPES = (str, bool, int, _COUNT, _TEXT, str)
_SYSTEM_TYPES = (int, float, int, _FRACTION, _FRACTION, _FRACTION, _COUNT)


def decode_measured(fields: Fields, counted: Profile) -> Measured:
    """What `encode_measured` wrote of runs of the counted calls; a `FileFormatError` when it does not fit together."""
    places = enumerate(fields.list_of("iterations", dict))
    measured = Measured(
        device=_device(fields.fields("device")),
        iterations=tuple(
            _iteration(Fields(item, fields.place(f"iterations[{n}]")), counted.calls) for n, item in places
        ),
        system=tuple(SystemPoint(*row) for row in fields.table("system", SYSTEM_COLUMNS, _SYSTEM_TYPES)),
        load_seconds=fields.number_or_none("load_seconds"),
        repeated=fields.flag("repeated"),
        turns=fields.text_or_none("turns"),
        nominal_macs=fields.counts("nominal_macs"),
        cached_bytes=fields.counts("cached_bytes"),
        notes=tuple(fields.list_of("notes", str)),
    )
    for slot in measured.nominal_macs:
        if slot not in counted.components:
            raise damaged(f"{fields.place('nominal_macs')} names the component {slot}, which is not there")
    return measured


def _device(fields: Fields) -> Device:
    peaks = fields.fields("peak_flops_per_second")
    device = Device(
        name=fields.text("name"),
        kind=fields.text("kind"),
        memory_bytes=fields.count_or_none("memory_bytes"),
        threads=fields.count_or_none("threads"),
        peak_flops_per_second={dtype: peaks.number(dtype) for dtype in peaks.values},
        peak_source=fields.text_or_none("peak_source"),
    )
    if not all(device.peak_flops_per_second.values()):
        raise damaged(f"{peaks.where} holds a peak of 0")
    return device


def _iteration(fields: Fields, calls: Sequence[Call]) -> Iteration:
    moves = fields.table("moves", MOVE_COLUMNS, _MOVE_TYPES)
    caches = fields.table("caches", CACHE_COLUMNS, _CACHE_TYPES)
    memory = fields.table("memory", MEMORY_COLUMNS, _MEMORY_TYPES)
    iteration = Iteration(
        began_ns=fields.count("began_ns"),
        wall=_wall(fields.fields("wall")),
        samples=tuple(_samples(fields)),
        steps=tuple(_steps(fields)),
        memory=tuple(MemoryPoint(*row) for row in memory),
        moves=tuple(Move(*row) for row in moves),
        caches=tuple(CacheEvent(*row) for row in caches),
        warmup=fields.flag("warmup"),
        traced=fields.flag("traced"),
        cpu_ns=fields.count_or_none("cpu_ns"),
        entry=fields.text("entry"),
        error=fields.text_or_none("error"),
    )
    _check_references(iteration, fields)
    _check_calls(iteration, calls, fields.place("samples"))
    _check_nesting(iteration, fields.place("samples"))
    _check_steps(iteration, fields.place("steps"))
    return iteration


def _wall(fields: Fields) -> Span:
    return _span(
        (
            fields.count("start_ns"),
            fields.count("host_ns"),
            fields.count_or_none("device_start_ns"),
            fields.count_or_none("device_ns"),
        ),
        fields.where,
    )


def _samples(fields: Fields) -> Iterable[Sample]:
    for number, row in enumerate(fields.table("samples", SAMPLE_COLUMNS, _SAMPLE_TYPES)):
        section, component, parent, step, call, digest, failed, *span = row
        where = _row(number, fields.place("samples"))
        yield Sample(section, _span(span, where), component, parent, step, call, digest, failed)


def _steps(fields: Fields) -> Iterable[StepSpan]:
    for number, row in enumerate(fields.table("steps", STEP_COLUMNS, _STEP_TYPES)):
        scheduler, running, *span = row
        yield StepSpan(scheduler, running, _span(span, _row(number, fields.place("steps"))))


def _span(values: Sequence[Any], where: str) -> Span:
    span = Span(*values)
    if (span.device_start_ns is None) != (span.device_ns is None):
        raise damaged(f"{where} has half of a time on the device")
    return span


def _row(number: int, table: str) -> str:
    return f"row {number} of {table}"


def _check_references(iteration: Iteration, fields: Fields) -> None:
    """Numbers of steps and samples are those of steps and samples that are there."""
    for table in ("samples", "moves", "caches"):
        for number, row in enumerate(getattr(iteration, table)):
            if row.step is not None and row.step >= len(iteration.steps):
                raise damaged(f"{_row(number, fields.place(table))} points to a step that is not there")
    for number, point in enumerate(iteration.memory):
        if point.sample is not None and point.sample >= len(iteration.samples):
            raise damaged(f"{_row(number, fields.place('memory'))} points to a sample that is not there")
    for number, move in enumerate(iteration.moves):
        if move.direction not in (HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK):
            raise damaged(f"{_row(number, fields.place('moves'))} moves in a direction that is unknown")


def _check_calls(iteration: Iteration, calls: Sequence[Call], table: str) -> None:
    """Seconds stand beside the work that they bought: of the same component, and no work is bought twice."""
    taken: set[int] = set()
    for number, sample in enumerate(iteration.samples):
        if sample.call is None:
            continue
        if sample.call >= len(calls):
            raise damaged(f"{_row(number, table)} points to a call that is not there")
        if calls[sample.call].component != sample.component:
            raise damaged(f"{_row(number, table)} points to a call of another component")
        if sample.call in taken:
            raise damaged(f"{_row(number, table)} points to a call that another row has")
        taken.add(sample.call)


def _check_nesting(iteration: Iteration, table: str) -> None:
    """A sample lies within the one around it and beside its neighbours, so that all of them sum to the wall time."""
    ends: dict[int | None, int] = {}
    latest = iteration.wall.start_ns
    for number, sample in enumerate(iteration.samples):
        if sample.parent is not None and sample.parent >= number:
            raise damaged(f"{_row(number, table)} points to a parent that does not come before it")
        around = iteration.wall if sample.parent is None else iteration.samples[sample.parent].span
        if not around.start_ns <= sample.span.start_ns <= sample.span.end_ns <= around.end_ns:
            raise damaged(f"{_row(number, table)} does not lie within the time around it")
        if sample.span.start_ns < ends.get(sample.parent, 0):
            raise damaged(f"{_row(number, table)} overlaps with the one beside it")
        if sample.span.start_ns < latest:
            raise damaged(f"{_row(number, table)} begins before the row above it")
        ends[sample.parent] = sample.span.end_ns
        latest = sample.span.start_ns


def _check_steps(iteration: Iteration, table: str) -> None:
    """The steps of each scheduler are numbered from 0, and lie within the iteration."""
    counts: dict[str, int] = {}
    for number, step in enumerate(iteration.steps):
        wall = iteration.wall
        if not wall.start_ns <= step.span.start_ns <= step.span.end_ns <= wall.end_ns:
            raise damaged(f"{_row(number, table)} does not lie within the time around it")
        if step.number != counts.get(step.scheduler, 0):
            raise damaged(f"{_row(number, table)} does not have the next number of its scheduler")
        counts[step.scheduler] = step.number + 1
