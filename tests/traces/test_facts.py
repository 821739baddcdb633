"""What follows from the recorded facts of a trace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.traces.facts import Copies, Timeline, TraceSection
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

TIMELINE = Timeline(
    device=0, total_ns=1_000, computation_ns=500, communication_ns=200, exposed_communication_ns=150, copy_ns=100,
    exposed_copy_ns=40, busy_ns=690, kernels=3, streams=1, before_ns=0, before_what="", after_ns=0, after_what="",
)  # fmt: skip


def test_a_timeline_is_busy_idle_and_hidden_time() -> None:
    assert TIMELINE.idle_ns == 310
    assert (TIMELINE.hidden_communication_ns, TIMELINE.hidden_copy_ns) == (50, 60)
    assert TIMELINE.busy_share == 0.69
    assert replace(TIMELINE, total_ns=0, busy_ns=0).busy_share == 0


@pytest.mark.parametrize(
    ("size_bytes", "duration_ns", "rate"), [(4_000, 2_000, 2e9), (None, 2_000, None), (4_000, 0, None)]
)
def test_copies_have_a_rate_if_size_and_duration_are_known(
    size_bytes: int | None, duration_ns: int, rate: float | None
) -> None:
    assert Copies("H2D", "pinned", 1, size_bytes, duration_ns, 0).bytes_per_second == rate


def test_a_section_is_idle_for_its_span_without_the_busy_time() -> None:
    section = TraceSection("a", 1, 50, gpu_busy_ns=30, gpu_span_ns=40, kernels=2, fewest_kernels=2, most_kernels=2)
    assert section.idle_ns == 10
    # The work of several streams can overlap.
    assert replace(section, gpu_busy_ns=60).idle_ns == 0


def test_a_trace_has_the_sums_of_its_devices(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 10)
    builder.gpu("gemm", 5, 10, stream=8)
    builder.gpu("gemm", 0, 10, device=1)
    builder.gpu("gemm", 30, 40, device=1)
    explanation = explain_built(builder)
    assert (explanation.total_ns, explanation.idle_ns) == (50_000, 20_000)
    assert explanation.gpu_ns == 35_000, "streams that overlap count twice"


def test_the_causes_of_idle_time_add_up_to_it(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    assert explanation.idle_ns == sum(cause.idle_ns for cause in explanation.causes) == 410_000
