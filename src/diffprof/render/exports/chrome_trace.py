"""The timeline of a profile as a Chrome trace, for chrome://tracing and https://ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffprof.breakdown.clocks import DEVICE, HOST, Clock, clock_of
from diffprof.record.measured import Iteration, Measured
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.exports.slices import Slice, counted_slices, measured_slices
from diffprof.render.exports.speedscope import iteration_name
from diffprof.render.headline import headline
from diffprof.version import __version__

MICROSECOND = 1_000
MEASURED, COUNTED = 1, 2
"""The two processes of the trace."""
SECTIONS, ON_DEVICE, STEPS, MOVES, CACHES = 1, 2, 3, 4, 5
"""The threads of the measured process."""
MAX_MICROSECONDS = 10_000_000
"""The longest timeline of counts. MACs are drawn as microseconds, to a scale that the name of the track states."""


def chrome_trace_json(profile: Profile) -> str:
    """The profile as the text of a Chrome trace."""
    events = [*_measured_events(profile), *(_counted_events(profile) if profile.total.macs else ())]
    values = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"profile": headline(profile), "exporter": f"diffprof {__version__}"},
    }
    return json.dumps(values, separators=(",", ":"), allow_nan=False) + "\n"


def _measured_events(profile: Profile) -> Iterator[dict[str, Any]]:
    measured = profile.measured
    if measured is None:
        return
    yield _metadata("process_name", MEASURED, 0, f"measured on {measured.device.name}")
    threads = {
        SECTIONS: "sections",
        ON_DEVICE: "on the device",
        STEPS: "denoising steps",
        MOVES: "weights",
        CACHES: "caches",
    }
    for thread, name in threads.items():
        yield _metadata("thread_name", MEASURED, thread, name)
    for number, iteration in enumerate(measured.iterations):
        yield from _iteration(iteration_name(number, iteration), iteration)
    yield from _memory(measured)


def _iteration(name: str, iteration: Iteration) -> Iterator[dict[str, Any]]:
    clocks = [(SECTIONS, HOST)]
    if clock_of([iteration]) is DEVICE:
        clocks.append((ON_DEVICE, DEVICE))
    for thread, clock in clocks:
        slices = measured_slices(iteration, clock)
        yield from _sections(name, iteration, clock, thread, slices)
    for step in iteration.steps:
        at = iteration.began_ns + step.span.start_ns
        yield _span(f"step {step.number}", STEPS, at, step.span.host_ns, {"scheduler": step.scheduler})
    for move in iteration.moves:
        about = {"bytes": move.moved_bytes, "direction": move.direction, "hidden": move.hidden}
        yield _span(move.component, MOVES, iteration.began_ns + move.at_ns, move.host_ns, about)
    for event in iteration.caches:
        arguments = {"component": event.component, "module": event.module, "step": event.step}
        yield {
            "ph": "i", "s": "t", "name": f"{event.cache}: {'hit' if event.hit else 'miss'}", "cat": "cache",
            "pid": MEASURED, "tid": CACHES, "ts": (iteration.began_ns + event.at_ns) / MICROSECOND, "args": arguments,
        }  # fmt: skip


def _sections(
    name: str, iteration: Iteration, clock: Clock, thread: int, slices: Sequence[Slice]
) -> Iterator[dict[str, Any]]:
    start, length = clock.start_ns(iteration.wall), clock.length_ns(iteration.wall)
    about = {"entry": iteration.entry, **({"error": iteration.error} if iteration.error else {})}
    whole = Slice(name, start, length, about, tuple(slices)).shift(iteration.began_ns)
    yield from _slice_events(whole, MEASURED, thread, MICROSECOND)


def _memory(measured: Measured) -> Iterator[dict[str, Any]]:
    for iteration in measured.iterations:
        for point in iteration.memory:
            known = {"allocated": point.allocated_bytes, "reserved": point.reserved_bytes, "resident": point.rss_bytes}
            yield _counter("memory in bytes", iteration.began_ns + point.at_ns, known)
    for seen in measured.system:
        yield _counter("CPU in per cent of a core", seen.at_ns, {"CPU": seen.cpu_percent})
        yield _counter("GPU in per cent", seen.at_ns, {"GPU": seen.gpu_percent})


def _counter(name: str, at_ns: int, values: Mapping[str, float | None]) -> dict[str, Any]:
    known = {what: value for what, value in values.items() if value is not None}
    return {"ph": "C", "name": name, "pid": MEASURED, "tid": 0, "ts": at_ns / MICROSECOND, "args": known}


def _counted_events(profile: Profile) -> Iterator[dict[str, Any]]:
    scale = 1
    while profile.total.macs / scale > MAX_MICROSECONDS:
        scale *= 10
    yield _metadata("process_name", COUNTED, 0, f"counted: 1 us is {numbers.macs(scale)}")
    yield _metadata("thread_name", COUNTED, 1, "calls and modules")
    for slice_ in counted_slices(profile):
        yield from _slice_events(slice_, COUNTED, 1, scale)


def _slice_events(slice_: Slice, process: int, thread: int, scale: int) -> Iterator[dict[str, Any]]:
    yield {
        "ph": "X", "name": slice_.name, "cat": "measured" if process == MEASURED else "counted", "pid": process,
        "tid": thread, "ts": slice_.start / scale, "dur": slice_.length / scale, "args": dict(slice_.about),
    }  # fmt: skip
    for nested in slice_.inside:
        yield from _slice_events(nested, process, thread, scale)


def _span(name: str, thread: int, at_ns: int, length_ns: int, about: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X", "name": name, "cat": "measured", "pid": MEASURED, "tid": thread, "ts": at_ns / MICROSECOND,
        "dur": length_ns / MICROSECOND, "args": about,
    }  # fmt: skip


def _metadata(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}
