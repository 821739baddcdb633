"""Memory over time, with its peaks."""

from __future__ import annotations

from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder


def test_each_device_has_its_memory_with_its_peaks(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::empty", 0, 1000)
    for time, allocated, reserved in ((10, 100, 500), (20, 300, 600), (30, 200, 600)):
        builder.memory(time, allocated, reserved)
    builder.memory(15, 7, 0, device_type=0, device=-1)
    cuda, cpu = explain_built(builder).memory
    assert (cuda.device, cuda.peak_allocated_bytes, cuda.peak_reserved_bytes) == ("cuda:0", 300, 600)
    assert (cuda.first_allocated_bytes, cuda.last_allocated_bytes, cuda.changes) == (100, 200, 3)
    assert cuda.samples == ((10_000, 100, 500), (20_000, 300, 600), (30_000, 200, 600))
    assert (cpu.device, cpu.peak_allocated_bytes) == ("cpu", 7)


def test_one_curve_has_a_bounded_number_of_points_and_keeps_its_peak(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::empty", 0, 10_000)
    for time in range(5000):
        builder.memory(time, 999 if time == 2345 else time % 7)
    (use,) = explain_built(builder).memory
    assert len(use.samples) <= 200
    assert max(point[1] for point in use.samples) == 999
