"""A file that is no trace, or a damaged one, is one sentence and exit code 2."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from diffprof.traces.reading import walk
from tests.cli.conftest import Run
from tests.traces.trace_builder import TraceBuilder

OP = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'


def with_event(**changes: object) -> str:
    event = {**json.loads(OP), **changes}
    return json.dumps({"traceEvents": [{key: value for key, value in event.items() if value is not ...}]})


REFUSED = {
    "empty": ("", "the file is empty"),
    "white space": (" \n\t ", "the file is empty"),
    "text": ("hello", "it is not JSON, and so not a trace"),
    "a number": ("12", "it is not JSON, and so not a trace"),
    "an empty object": ("{}", "it is JSON, but not a trace: it has no list of traceEvents"),
    "foreign JSON": ('{"weights": [1, 2]}', "it is JSON, but not a trace: it has no list of traceEvents"),
    "a profile": (
        '{"format": {"name": "diffprof-profile"}}',
        "a saved profile, not a trace; `diffprof show` prints it",
    ),
    "events of the wrong type": ('{"traceEvents": {"a": 1}}', "it has no list of traceEvents"),
    "no events": ('{"traceEvents": []}', "it has no event that is one that torch.profiler writes"),
    "events of a browser": (
        '{"traceEvents": [{"ph": "B", "cat": "blink", "name": "x", "ts": 1}]}',
        "none of its 1 events is one that torch.profiler writes",
    ),
    "a list of numbers": ("[1, 2]", "its list of events contains something that is not an event"),
    "cut in a name": (f'{{"traceEvents": [{OP}, {{"ph": "X", "na', "the file ends in the middle of its JSON"),
    "cut after an event": (f'{{"traceEvents": [{OP}', "the file ends in the middle of its JSON"),
    "cut after a comma": (f'{{"traceEvents": [{OP}, ', "the file ends in the middle of its JSON"),
    "cut in a word": (f'{{"traceEvents": [{OP}], "a": tru', "the file ends in the middle of its JSON"),
    "cut before the end": (f'{{"traceEvents": [{OP}]', "the file ends in the middle of its JSON"),
    "a missing comma": (
        f'{{"traceEvents": [{OP} {OP}]}}',
        "its JSON is damaged at character 105 (a comma or ] is missing)",
    ),
    "a wrong quote": ("{'traceEvents': []}", "its JSON is damaged at character 1"),
    "a field without a name": ('{1: 2, "traceEvents": []}', "its JSON is damaged"),
    "two lists": (f'{{"traceEvents": [{OP}], "traceEvents": [{OP}]}}', "there are two lists of traceEvents"),
    "more behind the end": (f'{{"traceEvents": [{OP}]}} {{}}', "it goes on after the end of its JSON"),
    "too deep": (f'{{"a": {"[" * 100_000}', "nested too deeply"),
    "no duration": (with_event(dur=...), "the event 'aten::mm' of category cpu_op has no duration (dur)"),
    "no time": (with_event(ts=...), "the event 'aten::mm' of category cpu_op has no time (ts)"),
    "a time in words": (with_event(ts="soon"), "has soon as its time (ts)"),
    "a time that is none": (with_event(ts=float("nan")), "has nan as its time (ts)"),
    "a time without end": (with_event(dur=1e300), "has 1e+300 as its duration (dur)"),
    "a time with too many digits": (with_event(dur=10**400), "as its duration (dur)"),
    "no name": (with_event(name=...), "an event of category cpu_op has no name"),
    "a name that is a number": (with_event(name=7), "an event of category cpu_op has no name"),
    "a thread that is a list": (with_event(tid=[1]), "has no process and thread"),
    "arguments that are none": (
        with_event(cat="kernel", args=[1]),
        "the args of the event 'aten::mm' are not an object",
    ),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_that_is_not_a_trace_is_rejected_with_the_reason(
    content: str, words: str, compressed: bool, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    assert_refused(run, path, words)


def assert_refused(run: Run, path: Path, words: str) -> None:
    ended = run("trace", str(path))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"diffprof: error: Cannot read {path}: ")
    assert words in ended.err
    assert ended.err.count("\n") == 1


def test_a_compressed_file_that_ends_too_early_is_not_called_damaged(run: Run, tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number in range(1000):
        builder.op(f"aten::op{number}", number, number + 1)
    path = builder.write(tmp_path / "trace.json.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert_refused(run, path, "the compressed file ends too early; copy or record it again")
    path.write_bytes(whole[:1000] + bytes(200) + whole[1200:])
    assert_refused(run, path, "the compressed file is damaged")


def test_a_file_that_is_not_there_or_is_a_folder_is_named(run: Run, tmp_path: Path) -> None:
    assert_refused(run, tmp_path / "none.json", "No such file or directory")
    empty = run("trace", str(tmp_path))
    assert (empty.code, empty.out) == (2, "")
    assert empty.err.startswith(f"diffprof: error: {tmp_path} has no traces in it")


def test_a_single_value_without_end_is_rejected_before_memory_is_full(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "LONGEST_VALUE", 1 << 20)
    path = tmp_path / "trace.json"
    path.write_text(f'{{"traceEvents": [{{"name": "{"x" * (1 << 23)}', encoding="utf-8")
    assert_refused(run, path, "one of its values is longer than 1,048,576 characters")


def test_a_damaged_place_deep_inside_is_found(run: Run, tmp_path: Path) -> None:
    content = f'{{"traceEvents": [{", ".join([OP] * 5000)}, {{"ph": X}}, {", ".join([OP] * 100_000)}]}}'
    path = tmp_path / "trace.json"
    path.write_text(content, encoding="utf-8")
    assert_refused(run, path, f"its JSON is damaged at character {content.index('X}'):,}")
