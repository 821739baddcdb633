"""The clock that the times of a measured run are read from: the device clock if every span has it, else the host's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from diffprof.record.measured import Iteration, Measured, Span


@dataclass(frozen=True)
class Clock:
    """Reads spans in whole nanoseconds. A table uses one clock throughout, so that its rows can be added."""

    name: Literal["device", "host"]

    def start_ns(self, span: Span) -> int:
        return span.start_ns if self.name == "host" else _require_device_time(span.device_start_ns)

    def length_ns(self, span: Span) -> int:
        return span.host_ns if self.name == "host" else _require_device_time(span.device_ns)

    def end_ns(self, span: Span) -> int:
        return self.start_ns(span) + self.length_ns(span)


HOST, DEVICE = Clock("host"), Clock("device")


def clock_of(iterations: Sequence[Iteration]) -> Clock:
    """The device clock if every span of the iterations has it, because a launch returns before its work is done."""
    spans = [span for iteration in iterations for span in _spans(iteration)]
    known = [span.device_ns is not None and span.device_start_ns is not None for span in spans]
    return DEVICE if known and all(known) else HOST


def shows_rates(measured: Measured | None, clock: Clock) -> bool:
    """Whether this clock measures the work itself: on an accelerator, the host clock only measures launches."""
    if clock.name == "device":
        return True
    return measured is not None and all(device.kind == "cpu" for device in measured.devices)


def _spans(iteration: Iteration) -> Iterable[Span]:
    yield iteration.wall
    yield from (sample.span for sample in iteration.samples)
    yield from (step.span for step in iteration.steps)


def _require_device_time(nanoseconds: int | None) -> int:
    if nanoseconds is None:
        raise ValueError("This span has no device time; use clock_of to find a clock that all spans have.")
    return nanoseconds
