"""A trace that nobody recorded is refused, or its times are never negative and still add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import FileFormatError
from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.request import TraceRequest, explain_request
from diffprof.traces.views.data import result_json
from tests.traces.trace_builder import TraceBuilder


def built() -> TraceBuilder:
    trace = TraceBuilder()
    trace.op("aten::scaled_dot_product_attention", 0, 50, **{"Input Dims": [[1, 8, 64, 40]] * 3, "Input type": ["x"]})
    trace.kernel("flash_fwd_kernel", 10, 40, launched=2)
    return trace


def explain(trace: TraceBuilder, folder: Path) -> TraceExplanation:
    return explain_trace(trace.write(folder / "t.json"))


@pytest.mark.parametrize("category", [["kernel"], {"a": 1}, None, 7, ""])
def test_an_event_of_no_category_is_passed_over(category: Any, tmp_path: Path) -> None:
    trace = built()
    trace.events.append({**trace.events[-1], "cat": category})
    assert explain(trace, tmp_path).timelines[0].kernels == 1


@pytest.mark.parametrize("name", [["a"], {"a": 1}, None, 7])
def test_an_event_without_a_name_is_refused(name: Any, tmp_path: Path) -> None:
    trace = built()
    trace.events[0]["name"] = name
    with pytest.raises(FileFormatError, match="has no name"):
        explain(trace, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("Input Dims", [["a", "b", "c"]]), ("Input Dims", 7), ("Input type", [["x"]]), ("Input type", {})],
)
def test_shapes_that_are_none_are_not_used(key: str, value: Any, tmp_path: Path) -> None:
    trace = built()
    trace.events[0]["args"][key] = value
    assert explain(trace, tmp_path).timelines[0].kernels == 1


def test_decimals_in_a_trace_that_is_read_exactly_are_no_problem(tmp_path: Path) -> None:
    """Times since 1970 are read as decimals, and so are all other fractions of the file."""
    trace = built()
    for event in trace.events:
        event["ts"] += 1_751_410_836_123_456
    trace.events[0]["args"]["Input Dims"] = [[1.5, 2, 3]]
    trace.metadata["some_fraction"] = 0.25
    file = trace.write(tmp_path / "t.json")
    assert '"kernels"' in result_json(explain_request(TraceRequest((file,))))


@pytest.mark.parametrize("key", ["ts", "dur"])
@pytest.mark.parametrize("value", [1e18, 9.2e15, -9.2e18, [5], "soon", None, 10**30])
def test_an_absurd_time_is_refused_or_counts_as_nothing(key: str, value: Any, tmp_path: Path) -> None:
    trace = built()
    for event in trace.events:
        event[key] = value
    try:
        explanation = explain(trace, tmp_path)
    except FileFormatError as error:
        assert len(str(error)) < 400
    else:
        assert all(op.self_ns >= 0 for op in explanation.host_ops)


def test_a_trace_of_a_century_is_refused(tmp_path: Path) -> None:
    trace = built()
    trace.gpu("late", 3.2e15, 3.2e15 + 1)
    with pytest.raises(FileFormatError, match="37,037 days apart"):
        explain(trace, tmp_path)


def test_a_call_that_outlives_its_caller_leaves_it_no_negative_time(tmp_path: Path) -> None:
    trace = built()
    trace.op("outer", 100, 200)
    trace.op("inner", 150, 400)
    found = {op.name: op for op in explain(trace, tmp_path).host_ops}
    assert (found["outer"].self_ns, found["outer"].total_ns) == (50_000, 100_000)
    assert (found["inner"].self_ns, found["inner"].total_ns) == (250_000, 250_000)


def test_sizes_that_no_memory_has_are_not_known(tmp_path: Path) -> None:
    trace = built()
    trace.copy("Memcpy HtoD (Pinned -> Device)", 41, 42, launched=40, bytes=2**62)
    trace.copy("Memcpy HtoD (Pinned -> Device)", 43, 44, launched=42, bytes=-5)
    (copies,) = explain(trace, tmp_path).copies
    assert (copies.count, copies.size_bytes) == (2, None)
