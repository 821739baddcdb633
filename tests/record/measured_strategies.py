"""Hypothesis strategies for what was measured: sections that begin and end one within the other, as they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from diffprof.record.measured import (
    DEVICE_TO_HOST,
    FROM_DISK,
    HOST_TO_DEVICE,
    LIMITATIONS,
    CacheEvent,
    CountMismatch,
    Device,
    DevicePoint,
    Iteration,
    Limitation,
    Measured,
    MemoryPoint,
    Move,
    Sample,
    Span,
    StepSpan,
    SystemPoint,
)
from diffprof.record.profile import Call

counts = st.integers(min_value=0, max_value=10**24)
# Lone surrogates come from file names and prompts that are not valid UTF-8.
texts = st.text(st.characters(codec=None), max_size=8)
fractions = st.floats(min_value=0, max_value=1e100) | counts
peaks = st.floats(min_value=1e-9, max_value=1e100)
device_times = st.just((None, None)) | st.tuples(counts, counts)

devices = st.builds(
    Device,
    texts,
    texts,
    st.none() | counts,
    st.none() | counts,
    st.dictionaries(texts, peaks, max_size=2),
    st.none() | texts,
    st.none() | fractions,
)
system_points = st.builds(
    SystemPoint,
    at_ns=counts,
    cpu_percent=fractions,
    rss_bytes=counts,
    read_bytes_per_second=st.none() | fractions,
    written_bytes_per_second=st.none() | fractions,
    gpu_percent=st.none() | fractions,
    gpu_memory_bytes=st.none() | counts,
    gpu_watts=st.none() | fractions,
    gpu_mhz=st.none() | fractions,
    gpu_celsius=st.none() | fractions,
    gpu_throttle=st.none() | texts,
)

limitations = st.builds(Limitation, st.sampled_from(LIMITATIONS), texts, st.none() | counts, st.none() | counts)
mismatches = st.builds(CountMismatch, counts, st.none() | texts, st.lists(texts, max_size=2).map(tuple))


@st.composite
def measured(draw: st.DrawFn, slots: Sequence[str], calls: Sequence[Call]) -> Measured:
    return Measured(
        device=draw(devices),
        iterations=tuple(draw(st.lists(iterations(calls), max_size=2))),
        system=tuple(draw(st.lists(system_points, max_size=2))),
        load_seconds=draw(st.none() | fractions),
        repeated=draw(st.booleans()),
        turns=draw(st.none() | texts),
        nominal_macs={slot: draw(counts) for slot in slots[:2]},
        cached_bytes=draw(st.dictionaries(texts, counts, max_size=2)),
        mismatches=tuple(draw(st.lists(mismatches, max_size=2))),
        limitations=tuple(draw(st.lists(limitations, max_size=2))),
        notes=tuple(draw(st.lists(texts, max_size=2))),
        other_devices=draw(st.dictionaries(texts, devices, max_size=1)),
    )


@st.composite
def iterations(draw: st.DrawFn, calls: Sequence[Call]) -> Iteration:
    samples, end = draw(sections())
    wall = Span(0, end, *draw(device_times))
    steps = draw(denoising_steps(wall))
    step = st.none() | st.sampled_from(range(len(steps))) if steps else st.none()
    sample = st.none() | st.sampled_from(range(len(samples))) if samples else st.none()
    moves = st.builds(
        Move,
        component=texts,
        direction=st.sampled_from([HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK]),
        moved_bytes=counts,
        at_ns=counts,
        host_ns=counts,
        step=step,
        hidden=st.none() | st.booleans(),
        device_ns=st.none() | counts,
    )
    return Iteration(
        began_ns=draw(counts),
        wall=wall,
        samples=tuple(with_calls(samples, calls, [draw(step) for _ in samples], draw(st.booleans()))),
        steps=tuple(steps),
        memory=tuple(draw(st.lists(memory_points(sample), max_size=2))),
        moves=tuple(draw(st.lists(moves, max_size=2))),
        caches=tuple(
            draw(
                st.lists(
                    st.builds(CacheEvent, texts, st.booleans(), counts, step, st.none() | texts, texts), max_size=2
                )
            )
        ),
        warmup=draw(st.booleans()),
        traced=draw(st.booleans()),
        cpu_ns=draw(st.none() | counts),
        entry=draw(texts),
        error=draw(st.none() | texts),
        device_memory=tuple(draw(st.lists(device_points(sample), max_size=2))),
    )


def device_points(sample: st.SearchStrategy[int | None]) -> st.SearchStrategy[DevicePoint]:
    memory = st.none() | counts
    return st.builds(DevicePoint, texts, texts, counts, memory, memory, memory, sample)


@st.composite
def sections(draw: st.DrawFn) -> tuple[list[Sample], int]:
    """Samples from a clock that goes on and sections that begin and end, and when it was over."""
    samples: list[Sample] = []
    under_way: list[int] = []
    now = 0
    for begins in draw(st.lists(st.booleans(), max_size=8)):
        now += draw(counts)
        if begins:
            parent = under_way[-1] if under_way else None
            under_way.append(len(samples))
            span, place = Span(now, 0, *draw(device_times)), draw(st.none() | texts)
            samples.append(Sample(draw(texts), span, draw(st.none() | texts), parent, device=place))
        elif under_way:
            end(samples, under_way.pop(), now)
    for number in reversed(under_way):
        now += draw(counts)
        end(samples, number, now)
    return samples, now + draw(counts)


def end(samples: list[Sample], number: int, now: int) -> None:
    span = samples[number].span
    samples[number] = replace(samples[number], span=replace(span, host_ns=now - span.start_ns))


def with_calls(
    samples: Iterable[Sample], calls: Sequence[Call], steps: Sequence[int | None], counted: bool
) -> Iterable[Sample]:
    """The samples with their steps, the first ones as those of the counted calls."""
    for number, (sample, step) in enumerate(zip(samples, steps, strict=True)):
        if counted and number < len(calls):
            call = {"component": calls[number].component, "call": number}
            yield replace(sample, step=step, **call)
        else:
            yield replace(sample, step=step, digest=sample.section, failed=counted)


@st.composite
def denoising_steps(draw: st.DrawFn, wall: Span) -> list[StepSpan]:
    numbers: dict[str, int] = {}
    steps = []
    for scheduler in draw(st.lists(st.sampled_from(["scheduler", "prior_scheduler"]), max_size=3)):
        start = draw(st.integers(0, wall.host_ns))
        host = draw(st.integers(0, wall.host_ns - start))
        steps.append(StepSpan(scheduler, numbers.get(scheduler, 0), Span(start, host, *draw(device_times))))
        numbers[scheduler] = numbers.get(scheduler, 0) + 1
    return steps


def memory_points(sample: st.SearchStrategy[int | None]) -> st.SearchStrategy[MemoryPoint]:
    optional = st.none() | counts
    return st.builds(MemoryPoint, texts, counts, counts, counts, optional, optional, optional, sample)
