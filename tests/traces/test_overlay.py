"""An overlay is the trace with events added: the rest is copied byte for byte, and nothing is parsed again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, RequestError
from diffprof.traces import TraceRequest, explain_request, read_trace, write_overlay
from diffprof.traces.reading import text, walk
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

ADDED = {"ph": "i", "name": "added", "ts": 1}


@pytest.mark.parametrize("chunk", [5, 1 << 20])
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_the_events_are_added_at_the_end_of_the_list(
    chunk: int, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "CHUNK_BYTES", chunk)
    builder = two_denoising_steps()
    builder.op("a\u00e9]}", 1, 2)
    path = builder.write(tmp_path / f"trace{ending}")
    target = write_overlay(read_trace(path), [ADDED, ADDED], tmp_path / f"overlay{ending}")
    data = target.read_bytes()
    overlaid = json.loads(gzip.decompress(data) if ending.endswith("gz") else data)
    assert overlaid.pop("traceEvents") == [*builder.events, ADDED, ADDED]
    assert overlaid == builder.metadata


@pytest.mark.parametrize("compressed", [False, True])
def test_invalid_utf_8_stays_as_it_is(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    event = b'{"ph": "X", "cat": "kernel", "name": "\xff\xc3", "ts": 1, "dur": 1}'
    before, after = b'{"y": "\xe9", "traceEvents": [' + event, b'], "x": "\xfe"}'
    path.write_bytes(gzip.compress(before + after) if compressed else before + after)
    written = write_overlay(read_trace(path), [ADDED], tmp_path / "o.json").read_bytes()
    assert written == before + b",\n" + json.dumps(ADDED).encode() + after


def test_the_trace_is_parsed_once_and_its_bytes_are_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TraceBuilder()
    for number in range(5_000):
        builder.op("aten::mm", number, number + 1)
    path = builder.write(tmp_path / "t.json.gz")
    size = len(builder.text())
    counts = {"walks": 0, "bytes": 0, "characters parsed": 0}
    slices, read_bytes, parse = walk.TraceWalk.slices, text.read_bytes, walk.orjson.loads

    def count_walk(walked: walk.TraceWalk) -> object:
        counts["walks"] += 1
        return slices(walked)

    def count_bytes(file: Path) -> object:
        for chunk in read_bytes(file):
            counts["bytes"] += len(chunk)
            yield chunk

    def count_parsed(characters: str) -> object:
        counts["characters parsed"] += len(characters)
        return parse(characters)

    monkeypatch.setattr(walk.TraceWalk, "slices", count_walk)
    monkeypatch.setattr(text, "read_bytes", count_bytes)
    monkeypatch.setattr("diffprof.traces.overlay.read_bytes", count_bytes)
    monkeypatch.setattr(walk, "orjson", type("orjson", (), {"loads": staticmethod(count_parsed)}))
    explain_request(TraceRequest((path,), overlay=tmp_path / "overlay.json"))
    assert counts["walks"] == 1
    assert counts["bytes"] == 2 * size
    assert 0 < counts["characters parsed"] <= size
    assert len(json.loads((tmp_path / "overlay.json").read_bytes())["traceEvents"]) > 5_000


def test_the_copy_is_written_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "CHUNK_BYTES", 100)
    trace = read_trace(two_denoising_steps().write(tmp_path / "t.json"))
    longest = 0

    def write(path: Path, data: object) -> Path:
        nonlocal longest
        longest = max(map(len, data))  # type: ignore[call-overload]
        return path

    monkeypatch.setattr("diffprof.traces.overlay.replace_file", write)
    write_overlay(trace, [ADDED], tmp_path / "o.json")
    assert longest == 100


def test_the_trace_itself_is_never_overwritten(tmp_path: Path) -> None:
    path = two_denoising_steps().write(tmp_path / "t.json")
    before = path.read_bytes()
    (tmp_path / "link.json").hardlink_to(path)
    for target in (path, tmp_path / "link.json"):
        with pytest.raises(RequestError, match="is the trace itself"):
            write_overlay(read_trace(path), [ADDED], target)
    assert path.read_bytes() == before


def test_a_damaged_trace_leaves_no_overlay(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(two_denoising_steps().text()[:-30], encoding="utf-8")
    with pytest.raises(FileFormatError, match="ends in the middle"):
        explain_request(TraceRequest((path,), overlay=tmp_path / "o.json"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize("content", ["", '{"schemaVersion": 1}', "x" * 100_000])
def test_a_trace_that_changed_in_the_meantime_leaves_no_overlay(content: str, tmp_path: Path) -> None:
    path = two_denoising_steps().write(tmp_path / "t.json")
    trace = read_trace(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match="changed while it was being read"):
        write_overlay(trace, [ADDED], tmp_path / "o.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]
