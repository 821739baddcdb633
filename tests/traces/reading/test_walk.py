"""A walk yields all events of a trace in order, in slices of any size, and holds only a few of them at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.errors import FileFormatError
from diffprof.traces.reading import text, walk
from diffprof.traces.reading.walk import TraceWalk
from tests.traces.trace_builder import TraceBuilder


def events_of(path: Path) -> tuple[list[Any], TraceWalk]:
    walked = TraceWalk(path)
    return [event for events in walked.slices() for event in events], walked


def write(folder: Path, content: str) -> Path:
    path = folder / "trace.json"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every event or two a slice of its own, and every few letters a chunk of the file."""
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
    path = write(tmp_path, json.dumps(whole, indent=indent, ensure_ascii=as_ascii))
    events, walked = events_of(path)
    assert events == TRICKY
    assert walked.metadata == {"a": [1, 2], "z": [{"id": 0}, {"id": 1}]}
    content = path.read_bytes()
    assert walked.end_of_events is not None
    assert content[walked.end_of_events :].startswith(b"]")
    assert json.loads(content[: walked.end_of_events] + b"]}")["traceEvents"] == TRICKY


NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=30), st.dictionaries(st.text("abc"), JSON)
)
def test_any_list_of_events_is_what_json_reads(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], metadata: dict[str, Any]
) -> None:
    path = write(tmp_path_factory.mktemp("any"), json.dumps({**metadata, "traceEvents": events}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "SLICE_CHARACTERS", 64)
        patch.setattr(text, "CHUNK_BYTES", 16)
        found, walked = events_of(path)
    assert found == events
    assert walked.metadata == metadata


@pytest.mark.usefixtures("small_slices")
def test_the_end_of_the_events_is_an_offset_in_bytes_also_after_invalid_utf_8(tmp_path: Path) -> None:
    names = (b"\xc3\xa9", b"\xff\xfe", b"\xe2\x82", b"]}", b"plain") * 20
    events = b",\n".join(b'{"ph": "X", "name": "%s", "ts": 1}' % name for name in names)
    before = b'{"a": "\xe9\xa9", "traceEvents": [' + events
    path = tmp_path / "trace.json"
    path.write_bytes(before + b'\n], "b": "\xc0"}')
    found, walked = events_of(path)
    assert walked.end_of_events == len(before) + 1
    assert walked.invalid_bytes == 20 * 4 + 3
    assert [event["name"] for event in found[:5]] == ["\u00e9", "\\xff\\xfe", "\\xe2\\x82", "]}", "plain"]
    assert walked.metadata == {"a": "\\xe9\\xa9", "b": "\\xc0"}


def test_the_text_held_in_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TraceBuilder()
    for number in range(20_000):
        builder.op("aten::mm", number, number + 1, **{"Input Dims": [[number, 64], [64, 64]]})
    path = builder.write(tmp_path / "t.json")
    monkeypatch.setattr(walk, "SLICE_CHARACTERS", 1 << 13)
    monkeypatch.setattr(text, "CHUNK_BYTES", 1 << 13)
    walked = TraceWalk(path)
    held = [len(walked._text) for _ in walked.slices()]
    assert path.stat().st_size > 100 * (1 << 13)
    assert max(held) <= 10 * (1 << 13)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("ending", ["", ",", " ,\n", "\n]", "]"])
def test_a_list_of_events_may_end_without_its_bracket(ending: str, tmp_path: Path) -> None:
    whole = json.dumps(TRICKY)[:-1]
    events, walked = events_of(write(tmp_path, whole + ending))
    assert events == TRICKY
    assert walked.end_of_events is not None and walked.end_of_events >= len(whole.encode())


@pytest.mark.parametrize(
    "content", ["[", '[{"ph": "X"}, {"ph"', '{"traceEvents": [{"ph": "X"},', '[{"ph": "X"}] [', "[,"]
)
def test_what_ends_in_the_middle_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        events_of(write(tmp_path, content))


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert events_of(write(tmp_path, "\ufeff" + json.dumps({"traceEvents": TRICKY})))[0] == TRICKY
