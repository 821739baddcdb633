"""What can be asked of traces is checked before any is read, and has one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, RequestError
from diffprof.traces import TraceRequest, explain_request
from diffprof.traces.request import trace_files
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

MISSING = Path("missing.json")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"files": (MISSING, MISSING)}, "The same trace is given twice"),
        ({"files": (MISSING, Path("b.json")), "against": Path("c.json")}, "--against takes one trace, not 2"),
        ({"files": (MISSING, Path("b.json")), "overlay": Path("c.json")}, "--overlay takes one trace, not 2"),
        ({"files": (MISSING,), "gap_microseconds": -1}, "--gap must be a number of microseconds"),
        ({"files": (MISSING,), "gap_microseconds": float("nan")}, "--gap must be a number of microseconds"),
        ({"files": (MISSING,), "overlay": MISSING}, "is the trace itself; name another file for --overlay"),
        ({"files": (MISSING,), "html": MISSING}, "is the trace itself; name another file for --html"),
        ({"files": (MISSING,), "against": Path("a"), "html": Path("a")}, "is the trace itself"),
        ({"files": (MISSING,), "html": Path("a"), "overlay": Path("./a")}, "name the same file"),
    ],
)
def test_a_contradiction_is_found_before_any_trace_is_read(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        TraceRequest(**arguments)  # type: ignore[arg-type]


def test_one_trace_is_explained_with_the_requested_threshold(tmp_path: Path) -> None:
    path = two_denoising_steps().write(tmp_path / "t.json")
    result = explain_request(TraceRequest((path,), gap_microseconds=50))
    (explanation,) = result.explanations
    assert explanation.threshold_ns == 50_000
    assert (result.comparison, result.ranks) == (None, None)


def test_two_traces_are_compared_in_the_order_of_time(tmp_path: Path) -> None:
    new = two_denoising_steps().write(tmp_path / "new.json")
    old = two_denoising_steps().write(tmp_path / "old.json")
    comparison = explain_request(TraceRequest((new,), against=old)).comparison
    assert comparison is not None
    assert (comparison.before.source.path, comparison.after.source.path) == (str(old), str(new))


def test_several_traces_are_ranks(tmp_path: Path) -> None:
    files = []
    for number in range(3):
        builder = TraceBuilder()
        builder.gpu("gemm", 0, 10)
        files.append(builder.write(tmp_path / f"rank{number}.json"))
    result = explain_request(TraceRequest(tuple(files)))
    assert result.ranks is not None
    assert [row.rank for row in result.ranks.rows] == [0, 1, 2]
    assert len(result.explanations) == 3


def test_a_folder_stands_for_the_traces_in_it(tmp_path: Path) -> None:
    for name in ("memory_log.json", "notes.txt", "host_1.12.pt.trace.json.gz", "host_0.11.pt.trace.json"):
        (tmp_path / name).write_text("{}")
    names = [file.name for file in trace_files([tmp_path, MISSING])]
    assert names == ["host_0.11.pt.trace.json", "host_1.12.pt.trace.json.gz", "missing.json"]


def test_in_a_folder_without_traces_by_name_every_json_file_is_one(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has no traces in it"):
        trace_files([tmp_path])
    (tmp_path / "rank0.json").write_text("{}")
    assert [file.name for file in trace_files([tmp_path])] == ["rank0.json"]


def test_a_link_that_leads_in_circles_is_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.json").symlink_to("t.json")
    request = TraceRequest((tmp_path / "t.json",))
    with pytest.raises(FileFormatError, match="Cannot read"):
        explain_request(request)
