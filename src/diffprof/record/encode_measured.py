"""From `Measured` to plain values that JSON can hold."""

from __future__ import annotations

from typing import Any

from diffprof.record.measured import Device, Iteration, Measured, Span
from diffprof.record.plain import plain, table, table_of

# The columns of the tables, in the order in which their rows hold them.
SPAN_COLUMNS = ("start_ns", "host_ns", "device_start_ns", "device_ns")
SAMPLE_COLUMNS = ("section", "component", "parent", "step", "call", "digest", "failed", *SPAN_COLUMNS)
STEP_COLUMNS = ("scheduler", "number", *SPAN_COLUMNS)
MEMORY_COLUMNS = (
    "label",
    "at_ns",
    "rss_bytes",
    "peak_rss_bytes",
    "allocated_bytes",
    "reserved_bytes",
    "peak_allocated_bytes",
    "sample",
)
MOVE_COLUMNS = ("component", "direction", "moved_bytes", "at_ns", "host_ns", "step", "hidden")
CACHE_COLUMNS = ("cache", "hit", "at_ns", "step", "component", "module")
SYSTEM_COLUMNS = (
    "at_ns",
    "cpu_percent",
    "rss_bytes",
    "read_bytes_per_second",
    "written_bytes_per_second",
    "gpu_percent",
    "gpu_memory_bytes",
)


def encode_measured(measured: Measured) -> dict[str, Any]:
    """Everything that was measured, raw: nothing here is derived."""
    values = {
        "device": _device(measured.device),
        "repeated": measured.repeated,
        "turns": measured.turns,
        "load_seconds": measured.load_seconds,
        "nominal_macs": measured.nominal_macs,
        "cached_bytes": measured.cached_bytes,
        "notes": measured.notes,
        "system": table_of(SYSTEM_COLUMNS, measured.system),
        "iterations": [_iteration(iteration) for iteration in measured.iterations],
    }
    # A rate that was divided by zero somewhere is refused here, by the name of its place.
    return dict(plain(values, "measured"))


def _device(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "kind": device.kind,
        "memory_bytes": device.memory_bytes,
        "threads": device.threads,
        "peak_flops_per_second": device.peak_flops_per_second,
        "peak_source": device.peak_source,
    }


def _iteration(iteration: Iteration) -> dict[str, Any]:
    return {
        "entry": iteration.entry,
        "warmup": iteration.warmup,
        "traced": iteration.traced,
        "error": iteration.error,
        "began_ns": iteration.began_ns,
        "cpu_ns": iteration.cpu_ns,
        "wall": dict(zip(SPAN_COLUMNS, _span(iteration.wall), strict=True)),
        "samples": table(
            SAMPLE_COLUMNS,
            (
                (s.section, s.component, s.parent, s.step, s.call, s.digest, s.failed, *_span(s.span))
                for s in iteration.samples
            ),
        ),
        "steps": table(STEP_COLUMNS, ((s.scheduler, s.number, *_span(s.span)) for s in iteration.steps)),
        "memory": table_of(MEMORY_COLUMNS, iteration.memory),
        "moves": table_of(MOVE_COLUMNS, iteration.moves),
        "caches": table_of(CACHE_COLUMNS, iteration.caches),
    }


def _span(span: Span) -> tuple[int, int, int | None, int | None]:
    return span.start_ns, span.host_ns, span.device_start_ns, span.device_ns
