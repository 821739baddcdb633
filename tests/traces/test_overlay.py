"""A trace written again with marks: all that was there stays, byte for byte."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, RequestError
from diffprof.traces.analysis.explanation import trace_report
from diffprof.traces.overlay import write_overlay
from diffprof.traces.reading import text
from diffprof.traces.views.marks import marks
from tests.traces.made_by_hand import HandMade, two_denoising_steps

MARK = {"ph": "i", "name": "mark", "ts": 1}


@pytest.mark.parametrize("chunk", [5, 1 << 20])
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_the_marks_are_added_at_the_end_of_the_events(
    chunk: int, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "CHUNK_BYTES", chunk)
    made = two_denoising_steps()
    made.op("a\u00e9]}", 1, 2)
    path = made.write(tmp_path / f"trace{ending}")
    target = write_overlay(path, [MARK, MARK], tmp_path / f"overlay{ending}")
    data = target.read_bytes()
    overlaid = json.loads(gzip.decompress(data) if ending.endswith("gz") else data)
    assert overlaid.pop("traceEvents") == [*made.events, MARK, MARK]
    assert overlaid == made.metadata


def test_bytes_that_are_no_utf_8_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    before, after = b'{"traceEvents": [{"ph": "M", "name": "\xff\xc3"}', b'], "x": "\xfe"}'
    path.write_bytes(before + after)
    written = write_overlay(path, [MARK], tmp_path / "o.json").read_bytes()
    assert written == before + b",\n" + json.dumps(MARK).encode() + after


def test_the_trace_itself_is_never_written_over(tmp_path: Path) -> None:
    path = two_denoising_steps().write(tmp_path / "t.json")
    before = path.read_bytes()
    with pytest.raises(RequestError, match="is the trace itself"):
        write_overlay(path, [MARK], path)
    assert path.read_bytes() == before


def test_a_damaged_trace_leaves_no_overlay(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(two_denoising_steps().text()[:-30], encoding="utf-8")
    with pytest.raises(FileFormatError, match="ends in the middle"):
        write_overlay(path, [MARK], tmp_path / "o.json")
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.suffix) == ["t.json"]


def test_each_gap_is_a_mark_at_its_place_with_its_cause(tmp_path: Path) -> None:
    made = HandMade()
    made.op("aten::mm", 1000, 1001)
    made.kernel("one", 1010, 1100, launched=1005)
    made.python("tokens.py(7): encode", 1100, 1195)
    made.kernel("two", 1200, 1210, launched=1196)
    found = marks(trace_report(made.write(tmp_path / "t.json")))
    (gap,) = (mark for mark in found if mark.get("args", {}).get("cause"))
    assert (gap["ts"], gap["dur"], gap["name"]) == (1100, 100, "host too slow: tokens.py(7): encode")
    assert (gap["args"]["cause"], gap["args"]["after"]) == ("host", "two")
    checks = [mark for mark in found if mark["ph"] == "X" and mark is not gap]
    assert any(mark["name"].startswith("bad: Is the GPU busy? 50.0 % of the time") for mark in checks)
    assert {(mark["ts"], mark["dur"]) for mark in checks} == {(1010, 200)}
