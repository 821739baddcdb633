"""Each cause of idle time, in a trace made for it: 100 microseconds of idle time between two kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.traces.analysis import idle
from diffprof.traces.facts import (
    HOST,
    LAUNCH,
    QUEUE,
    SHORT,
    STREAM,
    SYNCHRONISATION,
    UNEXPLAINED,
    IdleCause,
    TraceExplanation,
)
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder


def the_cause(explanation: TraceExplanation) -> IdleCause:
    (cause,) = explanation.causes
    assert cause.idle_ns == explanation.idle_ns
    (gap,) = explanation.gaps
    assert (gap.cause, gap.what, gap.where, gap.length_ns) == (cause.cause, cause.what, cause.where, cause.idle_ns)
    return cause


def test_the_host_was_too_slow_in_the_function_that_ran_for_most_of_the_gap(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.python("pipe.py(1): __call__", 0, 300)
    builder.kernel("one", 10, 100, launched=5)
    builder.python("tokens.py(7): encode", 95, 190)
    builder.python("<built-in method split of str object at 0x7f12ab>", 100, 180)
    builder.kernel("two", 200, 210, launched=195)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what, cause.where) == (HOST, "str.split", "tokens.py(7): encode")
    assert (cause.gaps, cause.idle_ns, cause.longest_ns) == (1, 100_000, 100_000)


def test_the_host_was_too_slow_in_an_operator(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("one", 10, 100, launched=5)
    builder.op("aten::conv2d", 100, 198)
    builder.op("aten::_convolution", 101, 140)
    builder.kernel("two", 200, 210, launched=195)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what, cause.where) == (HOST, "aten::conv2d", "")
    # 39 of the 95 microseconds before the launch.
    assert (cause.mostly, cause.mostly_share) == ("aten::_convolution", pytest.approx(39 / 95))


def test_the_host_waited_in_a_call_from_python(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.python("pipe.py(1): __call__", 0, 300)
    builder.kernel("one", 10, 100, launched=5)
    builder.python("steps.py(40): guidance", 20, 190)
    builder.op("aten::item", 25, 106)
    builder.op("aten::_local_scalar_dense", 26, 105)
    builder.call("cudaStreamSynchronize", 30, 104)
    builder.kernel("two", 200, 210, launched=195)
    cause = the_cause(explain_built(builder))
    assert cause.cause == SYNCHRONISATION
    assert (cause.what, cause.where) == ("cudaStreamSynchronize in aten::item", "steps.py(40): guidance")


@pytest.mark.parametrize(
    "call",
    ["hipStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "urQueueFinish", "urEventWait"],
)
def test_every_call_that_waits_counts(call: str, explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("one", 10, 100, launched=5)
    builder.call(call, 30, 104)
    builder.kernel("two", 200, 210, launched=195)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what) == (SYNCHRONISATION, call)


@pytest.mark.parametrize(
    ("call", "copy", "waits"),
    [
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", True),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)", False),
        ("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)", True),
        ("hipMemcpyAsync", "Memcpy DtoH (Device -> Host)", False),
        ("cudaMemcpy", "Memcpy DtoH (Device -> Pinned)", True),
    ],
)
def test_a_copy_waits_where_it_has_to(call: str, copy: str, waits: bool, explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu(copy, 80, 100, builder.call(call, 30, 104), category="gpu_memcpy", bytes=4)
    builder.kernel("two", 200, 210, launched=195)
    assert the_cause(explain_built(builder)).cause == (SYNCHRONISATION if waits else HOST)


def test_a_wait_does_not_count_once_something_was_launched_after_it(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.call("cudaStreamSynchronize", 0, 8)
    builder.kernel("one", 12, 100, launched=9)
    builder.kernel("two", 200, 210, launched=195)
    assert the_cause(explain_built(builder)).cause == HOST


def test_a_wait_of_another_thread_does_not_count(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("one", 10, 100, launched=5)
    builder.call("cudaStreamSynchronize", 30, 104, thread=7)
    builder.kernel("two", 200, 210, launched=195)
    assert the_cause(explain_built(builder)).cause == HOST


def test_the_launch_was_in_progress(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("one", 10, 100, launched=5)
    builder.python("pipe.py(1): __call__", 80, 300)
    builder.kernel("two", 200, 210, launched=90, took=105)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what, cause.where) == (LAUNCH, "cudaLaunchKernel", "pipe.py(1): __call__")


def test_the_work_waited_for_another_stream(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("producer", 10, 100, launched=1, stream=20)
    builder.kernel("consumer", 200, 210, launched=5)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what) == (STREAM, "producer")


def test_the_work_waited_for_a_copy(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.copy("Memcpy HtoD (Pinned -> Device)", 10, 100, launched=1, bytes=10)
    builder.kernel("consumer", 200, 210, launched=5)
    cause = the_cause(explain_built(builder))
    assert (cause.cause, cause.what) == (STREAM, "Memcpy HtoD (Pinned -> Device)")


def test_the_work_was_queued_behind_the_work_before(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("one", 10, 100, launched=1)
    builder.kernel("two", 200, 210, launched=5)
    assert the_cause(explain_built(builder)).cause == QUEUE


def test_kernels_of_a_graph_are_queued(explain_built: Explain) -> None:
    builder = TraceBuilder()
    graph = builder.call("cudaGraphLaunch", 0, 8)
    builder.gpu("one", 10, 100, graph)
    builder.gpu("two", 200, 210, graph)
    explanation = explain_built(builder)
    assert the_cause(explanation).cause == QUEUE
    assert explanation.launches is not None
    assert (explanation.launches.graph_launches, explanation.launches.graph_kernels) == (1, 2)


def test_what_was_not_recorded_is_not_explained(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("one", 10, 100)
    builder.gpu("two", 200, 210)
    assert the_cause(explain_built(builder)).cause == UNEXPLAINED


def test_short_gaps_are_summed_up_and_all_gaps_add_up_to_the_idle_time(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("a", 10, 20, launched=1)
    for number, start in enumerate((25, 39.999, 60)):
        builder.kernel("b", start, start + 10, launched=start - 4 + number)
    explanation = explain_built(builder)
    assert explanation.idle_ns == 5_000 + 4_999 + 10_001
    (short,) = (row for row in explanation.causes if row.cause == SHORT)
    assert (short.gaps, short.idle_ns, short.longest_ns) == (2, 9_999, 5_000)
    assert sum(row.idle_ns for row in explanation.causes) == explanation.idle_ns
    assert [gap.length_ns for gap in explanation.gaps] == [10_001]
    every = explain_built(builder, threshold_ns=0)
    assert [gap.length_ns for gap in every.gaps] == [5_000, 4_999, 10_001]


def test_gaps_of_one_cause_are_ranked_together_by_lost_time(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 10, launched=-5)
    for start, function in ((110, "a.py(1): f"), (200, "b.py(1): g"), (300, "a.py(1): f")):
        before = {110: 10, 200: 120, 300: 210}[start]
        builder.python(function, before + 0.5, start - 1)
        builder.kernel("k", start, start + 10, launched=start - 3)
    rows = explain_built(builder).causes
    assert [(row.what, row.gaps, row.idle_ns) for row in rows] == [
        ("a.py(1): f", 2, 190_000),
        ("b.py(1): g", 1, 80_000),
    ]


def test_names_that_differ_by_an_address_are_one_cause(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 10, launched=-5)
    for start, address in ((100, "0x1f"), (200, "0x2e")):
        builder.python(f"<built-in method item of Tensor object at {address}>", start - 85, start - 4)
        builder.kernel("k", start, start + 10, launched=start - 3)
    (row,) = explain_built(builder).causes
    assert (row.what, row.gaps) == ("Tensor.item", 2)


def test_very_many_causes_are_summed_up_and_still_add_up(
    explain_built: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "MAX_CAUSES", 3)
    monkeypatch.setattr(idle, "MAX_SEARCHED", 2)
    monkeypatch.setattr(idle, "MAX_GAPS", 4)
    builder = TraceBuilder()
    builder.kernel("k", 0, 10, launched=-5)
    for number in range(6):
        start = 110 + 110 * number
        builder.python(f"file.py({number}): f", start - 99, start - 4)
        builder.kernel("k", start, start + 10 - number, launched=start - 3)
    explanation = explain_built(builder)
    assert [row.what for row in explanation.causes[:1]] == ["others"]
    assert (explanation.causes[0].gaps, len(explanation.causes), len(explanation.gaps)) == (3, 4, 4)
    assert sum(row.idle_ns for row in explanation.causes) == explanation.idle_ns


def test_each_device_has_causes_of_its_own(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for device in (0, 1):
        builder.kernel("one", 10, 100, launched=5, device=device)
        builder.kernel("two", 200 + device, 210, launched=195, device=device)
    rows = explain_built(builder).causes
    assert [(row.device, row.idle_ns) for row in rows] == [(1, 101_000), (0, 100_000)]
    assert replace(rows[0], device=0, idle_ns=0, longest_ns=0) == replace(rows[1], idle_ns=0, longest_ns=0)
