"""The events of an overlay: each gap where it is, with its cause, and the checks that are not good."""

from __future__ import annotations

from pathlib import Path

from diffprof.traces import explain_trace
from diffprof.traces.views.overlay_events import overlay_events
from tests.traces.trace_builder import TraceBuilder


def test_each_gap_is_a_slice_where_it_is_with_its_cause(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 1000, 1001)
    builder.kernel("one", 1010, 1100, launched=1005)
    builder.python("tokens.py(7): encode", 1100, 1195)
    builder.kernel("two", 1200, 1210, launched=1196)
    events = overlay_events(explain_trace(builder.write(tmp_path / "t.json")))
    (gap,) = (event for event in events if event.get("args", {}).get("cause"))
    assert (gap["ts"], gap["dur"], gap["name"]) == (1100, 100, "host too slow: tokens.py(7): encode")
    assert (gap["args"]["cause"], gap["args"]["after"]) == ("host", "two")
    checks = [event for event in events if event["ph"] == "X" and event is not gap]
    assert any(event["name"].startswith("bad: Is the GPU busy? 50.0 % of the time") for event in checks)
    assert {(event["ts"], event["dur"]) for event in checks} == {(1010, 200)}
