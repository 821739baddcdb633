"""A trace is read whole and exactly, whatever its layout and size, and in pieces of any length."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.traces.reading import text, walk
from diffprof.traces.reading.columns import KERNEL, MEMCPY, MEMSET, UNKNOWN
from diffprof.traces.reading.reader import read_trace
from diffprof.traces.reading.walk import TraceWalk
from tests.traces.made_by_hand import HandMade


def events_of(path: Path) -> tuple[list[Any], TraceWalk]:
    walked = TraceWalk(path)
    return [event for events in walked.slices() for event in events], walked


def written(folder: Path, content: str) -> Path:
    path = folder / "trace.json"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event or two is a slice of its own, and every few letters are a piece of the file."""
    monkeypatch.setattr(walk, "SLICE_CHARACTERS", 100)
    monkeypatch.setattr(text, "CHUNK_BYTES", 7)


TRICKY = [
    {"ph": "X", "name": "a}, {", "x": [{"a": 1}, {"b": 2}, {"c": {"d": "}, {"}}]},
    {"ph": "X", "name": '}, {"ph": "X"}', "args": {"list": [{"n": number} for number in range(60)]}},
    {"ph": "M", "name": "é\u2028\\", "ts": -1.5e3},
    {},
] * 5


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("as_ascii", [True, False])
def test_slices_together_are_all_events_in_order(indent: int | None, as_ascii: bool, tmp_path: Path) -> None:
    whole = {"a": [1, 2], "traceEvents": TRICKY, "z": [{"id": 0}, {"id": 1}]}
    path = written(tmp_path, json.dumps(whole, indent=indent, ensure_ascii=as_ascii))
    events, walked = events_of(path)
    assert events == TRICKY
    assert walked.metadata == {"a": [1, 2], "z": [{"id": 0}, {"id": 1}]}
    content = path.read_text(encoding="utf-8")
    assert walked.end_of_events is not None
    assert content[walked.end_of_events] == "]"
    assert json.loads(content[: walked.end_of_events] + "]}")["traceEvents"] == TRICKY


NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=30), st.dictionaries(st.text("abc"), JSON)
)
@settings(max_examples=60, deadline=None)
def test_any_list_of_events_is_what_json_reads(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], metadata: dict[str, Any]
) -> None:
    path = written(tmp_path_factory.mktemp("any"), json.dumps({**metadata, "traceEvents": events}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "SLICE_CHARACTERS", 64)
        patch.setattr(text, "CHUNK_BYTES", 16)
        found, walked = events_of(path)
    assert found == events
    assert walked.metadata == metadata


def test_a_list_of_events_alone_is_a_trace(tmp_path: Path) -> None:
    made = HandMade()
    made.op("aten::mm", 1, 2)
    path = written(tmp_path, json.dumps(made.events))
    assert len(read_trace(path).host) == 1


@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_trace_is_known_by_its_content(members: int, tmp_path: Path) -> None:
    made = HandMade()
    made.op("aten::mm", 1, 2)
    data = made.text().encode()
    size = -(-len(data) // members)
    parts = [gzip.compress(data[at : at + size]) for at in range(0, len(data), size)]
    path = tmp_path / "trace.json"
    path.write_bytes(b"".join(parts) + b"\0" * 512)
    assert len(read_trace(path).host) == 1


def test_times_are_whole_nanoseconds(tmp_path: Path) -> None:
    made = HandMade()
    made.gpu("k", 2915995397672.546, 2915995397672.546 + 1)
    made.events[0]["dur"] = 0.001
    gpu = read_trace(made.write(tmp_path / "t.json")).gpu
    assert (gpu.start.tolist(), gpu.end.tolist()) == ([2915995397672546], [2915995397672547])


def test_times_since_1970_keep_their_nanoseconds_which_a_float_could_not(tmp_path: Path) -> None:
    content = '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1751410836123456.789, "dur": 2.001}]}'
    assert round(1751410836123456.789 * 1000) != 1751410836123456789
    gpu = read_trace(written(tmp_path, content)).gpu
    assert (gpu.start.tolist(), gpu.end.tolist()) == ([1751410836123456789], [1751410836123458790])


def test_whole_microseconds_since_1970_are_exact_too(tmp_path: Path) -> None:
    content = '{"traceEvents": [{"ph": "X", "cat": "Kernel", "name": "k", "ts": 1751410836123457, "dur": 3}]}'
    assert read_trace(written(tmp_path, content)).gpu.start.tolist() == [1751410836123457000]


def test_categories_of_old_versions_are_known(tmp_path: Path) -> None:
    made = HandMade()
    for number, category in enumerate(("Kernel", "Memcpy", "Memset")):
        made.gpu("x", number, number + 1, category=category)
    assert read_trace(made.write(tmp_path / "t.json")).gpu.kind.tolist() == [KERNEL, MEMCPY, MEMSET]


def test_device_and_stream_are_those_of_the_arguments_else_of_the_row(tmp_path: Path) -> None:
    made = HandMade()
    made.gpu("a", 0, 1, device=3, stream=20)
    made.events.append({"ph": "X", "cat": "kernel", "name": "b", "pid": 2, "tid": 9, "ts": 1, "dur": 1})
    made.events.append({"ph": "X", "cat": "kernel", "name": "c", "pid": "GPU", "tid": "stream", "ts": 2, "dur": 1})
    gpu = read_trace(made.write(tmp_path / "t.json")).gpu
    assert gpu.device.tolist() == [3, 2, UNKNOWN]
    assert gpu.stream.tolist() == [20, 9, UNKNOWN]


def test_a_name_that_is_no_utf_8_stops_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k\xff", "ts": 1, "dur": 1}]}')
    assert read_trace(path).names == ["k\udcff"]


def test_what_the_fast_reader_refuses_is_read_all_the_same(tmp_path: Path) -> None:
    made = HandMade(pad="x" * walk.SLICE_CHARACTERS)
    for number in range(2000):
        made.op("aten::mm", number, number + 1, **{"Concrete Inputs": ["\ud800"]})
    assert len(read_trace(made.write(tmp_path / "t.json")).host) == 2000


def test_negative_durations_are_taken_for_nothing_and_counted(tmp_path: Path) -> None:
    made = HandMade()
    made.op("aten::mm", 5, 5)
    made.events[0]["dur"] = -3
    trace = read_trace(made.write(tmp_path / "t.json"))
    assert (trace.host.start - trace.host.end).tolist() == [0]
    assert trace.negative_durations == 1


def test_what_is_read_at_a_time_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = HandMade()
    for number in range(20_000):
        made.op("aten::mm", number, number + 1, **{"Input Dims": [[number, 64], [64, 64]]})
    path = made.write(tmp_path / "t.json")
    monkeypatch.setattr(walk, "SLICE_CHARACTERS", 1 << 13)
    monkeypatch.setattr(text, "CHUNK_BYTES", 1 << 13)
    walked = TraceWalk(path)
    held = [len(walked._text) for _ in walked.slices()]
    assert path.stat().st_size > 100 * (1 << 13)
    assert max(held) <= 10 * (1 << 13)
