"""A trace becomes columns of integer nanoseconds, whatever its layout, its version and its bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.traces import read_trace
from diffprof.traces.reading import walk
from diffprof.traces.reading.columns import KERNEL, MEMCPY, MEMSET, UNKNOWN
from tests.traces.trace_builder import TraceBuilder


def write(folder: Path, content: str) -> Path:
    path = folder / "trace.json"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_list_of_events_alone_is_a_trace(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 1, 2)
    path = write(tmp_path, json.dumps(builder.events))
    assert len(read_trace(path).host) == 1


def test_times_are_integer_nanoseconds(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.gpu("k", 2915995397672.546, 2915995397672.546 + 1)
    builder.events[0]["dur"] = 0.001
    gpu = read_trace(builder.write(tmp_path / "t.json")).gpu
    assert (gpu.start.tolist(), gpu.end.tolist()) == ([2915995397672546], [2915995397672547])


def test_times_since_1970_keep_their_nanoseconds_which_a_float_could_not(tmp_path: Path) -> None:
    content = '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1751410836123456.789, "dur": 2.001}]}'
    assert round(1751410836123456.789 * 1000) != 1751410836123456789
    gpu = read_trace(write(tmp_path, content)).gpu
    assert (gpu.start.tolist(), gpu.end.tolist()) == ([1751410836123456789], [1751410836123458790])


def test_whole_microseconds_since_1970_are_exact_too(tmp_path: Path) -> None:
    content = '{"traceEvents": [{"ph": "X", "cat": "Kernel", "name": "k", "ts": 1751410836123457, "dur": 3}]}'
    assert read_trace(write(tmp_path, content)).gpu.start.tolist() == [1751410836123457000]


def test_categories_of_old_versions_are_known(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number, category in enumerate(("Kernel", "Memcpy", "Memset")):
        builder.gpu("x", number, number + 1, category=category)
    assert read_trace(builder.write(tmp_path / "t.json")).gpu.kind.tolist() == [KERNEL, MEMCPY, MEMSET]


def test_device_and_stream_are_those_of_the_arguments_else_of_the_row(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.gpu("a", 0, 1, device=3, stream=20)
    builder.events.append({"ph": "X", "cat": "kernel", "name": "b", "pid": 2, "tid": 9, "ts": 1, "dur": 1})
    builder.events.append({"ph": "X", "cat": "kernel", "name": "c", "pid": "GPU", "tid": "stream", "ts": 2, "dur": 1})
    gpu = read_trace(builder.write(tmp_path / "t.json")).gpu
    assert gpu.device.tolist() == [3, 2, UNKNOWN]
    assert gpu.stream.tolist() == [20, 9, UNKNOWN]


def test_invalid_utf_8_in_a_name_is_spelled_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    event = b'{"ph": "X", "cat": "kernel", "name": "%s", "ts": 1, "dur": 1}'
    path.write_bytes(
        b'{"traceEvents": [' + b", ".join(event % name for name in (b"k\xff", b"k\xfe", b"k\xc3(")) + b"]}"
    )
    trace = read_trace(path)
    assert trace.names == ["k\\xff", "k\\xfe", "k\\xc3("]
    assert trace.invalid_bytes == 3


def test_invalid_utf_8_does_not_take_the_slow_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "SLICE_CHARACTERS", 1000)
    builder = TraceBuilder()
    for number in range(200):
        builder.op("aten::mm", number, number + 1)
    path = tmp_path / "t.json"
    path.write_bytes(builder.text().encode().replace(b"aten::mm", b"aten::\xfe\xff"))
    one_by_one = 0
    parse = walk.TraceWalk._parse_one_by_one

    def count(walked: walk.TraceWalk) -> list[walk.Event]:
        nonlocal one_by_one
        events = parse(walked)
        one_by_one += len(events)
        return events

    monkeypatch.setattr(walk.TraceWalk, "_parse_one_by_one", count)
    trace = read_trace(path)
    assert (len(trace.host), trace.names, trace.invalid_bytes) == (200, ["aten::\\xfe\\xff"], 400)
    assert one_by_one < 20


def test_half_a_surrogate_pair_in_a_name_is_spelled_out(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::\ud800", 0, 1)
    assert read_trace(builder.write(tmp_path / "t.json")).names == ["aten::\\ud800"]


def test_what_orjson_rejects_is_read_by_the_standard_library(tmp_path: Path) -> None:
    builder = TraceBuilder(pad="x" * walk.SLICE_CHARACTERS)
    for number in range(2000):
        builder.op("aten::mm", number, number + 1, **{"Concrete Inputs": ["\ud800"]})
    assert len(read_trace(builder.write(tmp_path / "t.json")).host) == 2000


def test_negative_durations_count_as_0_and_are_counted(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 5, 5)
    builder.events[0]["dur"] = -3
    trace = read_trace(builder.write(tmp_path / "t.json"))
    assert (trace.host.start - trace.host.end).tolist() == [0]
    assert trace.negative_durations == 1
