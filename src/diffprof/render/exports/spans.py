"""A measured run as OpenTelemetry spans, for services that collect traces.

diffprof.record_spans(run.profile)                     # into the tracer provider of the program
diffprof.record_spans(run.profile, tracer=my_tracer)

Needs ``pip install 'diffprof[opentelemetry]'``.
"""

from __future__ import annotations

import time
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.measured import Iteration
from diffprof.record.profile import Profile
from diffprof.version import __version__


def record_spans(profile: Profile, tracer: Any = None, end_ns: int | None = None) -> int:
    """Record a span for each iteration, with nested spans for its sections; returns the number of spans.

    A profile has no absolute times, so the last iteration is made to end at `end_ns` (nanoseconds since the epoch), by
    default now. Counts and settings are attributes of the iteration's span.
    """
    trace = _api()
    tracer = tracer or trace.get_tracer("diffprof", __version__)
    iterations = profile.measured.iterations if profile.measured else ()
    if not iterations:
        raise RequestError("This profile was counted, not measured, so there are no spans; measure a run first.")
    last = max(iteration.began_ns + iteration.wall.host_ns for iteration in iterations)
    offset_ns = (time.time_ns() if end_ns is None else end_ns) - last
    return sum(_record_iteration(trace, tracer, profile, iteration, offset_ns) for iteration in iterations)


def _record_iteration(trace: Any, tracer: Any, profile: Profile, iteration: Iteration, offset_ns: int) -> int:
    begin = offset_ns + iteration.began_ns
    attributes = {
        "diffprof.model": profile.request.model,
        "diffprof.pipeline": profile.request.pipeline,
        "diffprof.warmup": iteration.warmup,
        "diffprof.macs": profile.total.macs,
        "diffprof.steps": len(iteration.steps),
    }
    whole = tracer.start_span(f"diffusion {iteration.entry}", start_time=begin, attributes=attributes)
    spans = [whole]
    inside: list[Any] = []
    for sample in iteration.samples:
        parent = whole if sample.parent is None else inside[sample.parent]
        start = begin + sample.span.start_ns
        span = tracer.start_span(
            sample.section,
            context=trace.set_span_in_context(parent),
            start_time=start,
            attributes={"diffprof.component": sample.component} if sample.component else None,
        )
        span.end(start + sample.span.host_ns)
        inside.append(span)
    whole.end(begin + iteration.wall.host_ns)
    return len(spans) + len(inside)


def _api() -> Any:
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise RequestError(
            "Spans need OpenTelemetry; install it with `pip install 'diffprof[opentelemetry]'`."
        ) from error
    return trace
