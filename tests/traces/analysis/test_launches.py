"""Each kernel is matched to the call that launched it, and the host may be ahead."""

from __future__ import annotations

from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder


def test_launches_have_latency_and_queue(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("a", 10, 50, launched=0)  # nothing in the queue
    builder.kernel("b", 50, 60, launched=20)  # a
    builder.kernel("c", 60, 70, launched=30)  # a and b
    builder.kernel("d", 105, 110, launched=100)  # nothing
    launches = explain_built(builder).launches
    assert launches is not None
    assert (launches.launched, launches.calls, launches.call_median_ns) == (4, 4, 2_000)
    assert (launches.latency_median_ns, launches.latency_longest_ns) == (20_000, 30_000)
    assert (launches.queue_longest, launches.on_empty_queue) == (2, 2)


def test_a_graph_launch_starts_many_kernels(explain_built: Explain) -> None:
    builder = TraceBuilder()
    call = builder.call("cudaGraphLaunch", 0, 5)
    for start in (10, 20, 30):
        builder.gpu("gemm", start, start + 5, call)
    launches = explain_built(builder).launches
    assert launches is not None
    assert (launches.calls, launches.launched) == (1, 3)
    assert (launches.graph_launches, launches.graph_kernels) == (1, 3)


def test_without_correlations_there_are_no_launches(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 5)
    explanation = explain_built(builder)
    assert explanation.launches is None
    assert not explanation.source.has_launches
