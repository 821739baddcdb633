"""``diffprof trace``: for people, for programs, of one trace, two, or the ranks of a run."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from diffprof.traces.views.tables import TraceBy
from tests.children import run_child
from tests.cli.conftest import Run
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

Golden = Callable[[str, str], None]


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a trace in the folder that the command runs in, so that what it prints is the same everywhere."""
    monkeypatch.chdir(tmp_path)
    return two_denoising_steps().write(Path("trace.json.gz")).name


@pytest.mark.parametrize("width", [60, 100])
def test_a_trace_reads_as_it_should(
    width: int, run: Run, trace: str, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ended = run("trace", trace)
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= width
    golden(f"trace_{width}.txt", ended.out)


def test_a_trace_of_the_host_alone_reads_as_it_should(run: Run, tmp_path: Path, golden: Golden) -> None:
    builder = TraceBuilder()
    builder.section("denoise", 0, 100)
    builder.op("aten::linear", 0, 90)
    builder.op("aten::addmm", 5, 85)
    trace = str(builder.write(tmp_path / "t.json"))
    golden("trace_of_the_host.txt", run("trace", trace).out)
    answers = csv.DictReader(io.StringIO(run("trace", trace, "--by", "check", "--csv").out))
    assert {answer["evidence"] for answer in answers} == {"the trace contains no GPU work"}


@pytest.mark.parametrize("by", TraceBy)
def test_every_table_can_be_had_alone_and_as_csv(by: TraceBy, run: Run, trace: str) -> None:
    shown = run("trace", trace, "--by", by.value)
    assert shown.code == 0, shown.err
    rows = list(csv.DictReader(io.StringIO(run("trace", trace, "--by", by.value, "--csv").out)))
    assert {row["trace"] for row in rows} == {trace}
    assert None not in rows[0].values()


def test_csv_has_the_time_line_in_whole_nanoseconds(run: Run, trace: str) -> None:
    (row,) = csv.DictReader(io.StringIO(run("trace", trace, "--csv").out))
    assert (row["total_ns"], row["busy_ns"], row["idle_ns"]) == ("810000", "400000", "410000")


def test_json_has_everything(run: Run, trace: str) -> None:
    made = json.loads(run("trace", trace, "--json").out)
    assert made["format"] == {"name": "diffprof-trace", "version": 1}
    (report,) = made["traces"]
    assert report["timelines"][0]["idle_ns"] == sum(row["idle_ns"] for row in report["causes"]) == 410_000
    busy = report["checks"][0]
    assert (busy["name"], busy["verdict"], busy["figures"]["busy_ns"]) == ("gpu_busy", "bad", 400_000)
    assert busy["evidence"] == "49.4 % of the time (400 us of 810 us)"
    assert {"kinds", "kernels", "attention", "sections", "steps", "launches", "memory", "gaps"} <= set(report)


def test_the_requested_number_of_rows_is_shown(run: Run, trace: str) -> None:
    shown = run("trace", trace, "--by", "kernel", "--top", "2").out
    assert shown.splitlines()[-1] == "and 3 more (--top)"


def test_the_threshold_for_gaps_can_be_chosen(run: Run, trace: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("trace", trace, "--by", "gap", "--csv", "--gap", "50").out)))
    assert [int(row["length_ns"]) >= 50_000 for row in rows] == [True] * 3


def test_two_traces_are_compared(run: Run, trace: str, golden: Golden) -> None:
    faster = two_denoising_steps()
    for event in faster.events:
        if "gemm" in event["name"]:
            event["dur"] = 60
    faster.write(Path("faster.json"))
    ended = run("trace", "faster.json", "--against", trace)
    golden("trace_against.txt", ended.out)
    assert "The GPU took 810 us before and 810 us after" in ended.out
    made = json.loads(run("trace", "faster.json", "--against", trace, "--json").out)["comparison"]
    assert (made["before"], made["after"]) == (trace, "faster.json")
    assert (made["kinds"][0]["name"], made["kinds"][0]["difference_ns"]) == ("gemm", -80_000)
    rows = list(csv.DictReader(io.StringIO(run("trace", "faster.json", "--against", trace, "--csv").out)))
    assert {row["table"] for row in rows} == {"timeline", "kinds", "causes", "attention", "kernels"}


def test_ranks_are_set_beside_each_other(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, computes in enumerate((60, 100)):
        builder = TraceBuilder(distributedInfo={"rank": number, "world_size": 2})
        builder.gpu("gemm", 0, computes)
        builder.gpu("ncclDevKernel_AllReduce", computes, 120)
        builder.write(Path(f"rank{number}.json"))
    ended = run("trace", "rank0.json", "rank1.json")
    golden("trace_ranks.txt", ended.out)
    assert "Rank 1 arrived last in 1 of 1 collective call: the others waited 40.0 us in total." in ended.out
    made_json = json.loads(run("trace", "rank0.json", "rank1.json", "--json").out)
    assert (made_json["ranks"]["straggler"], len(made_json["traces"])) == (1, 2)
    by_kind = run("trace", "rank0.json", "rank1.json", "--by", "kind").out
    assert by_kind.count("communication") == 2


def test_an_overlay_is_the_trace_with_marks(run: Run, trace: str, tmp_path: Path) -> None:
    assert run("trace", trace, "--overlay", "marked.json").code == 0
    events = json.loads((tmp_path / "marked.json").read_text(encoding="utf-8"))["traceEvents"]
    assert events[: len(two_denoising_steps().events)] == two_denoising_steps().events
    assert any(event.get("cat") == "diffprof" for event in events)


def test_a_page_is_written_beside_what_is_printed(run: Run, trace: str, tmp_path: Path) -> None:
    plain = run("trace", trace)
    ended = run("trace", trace, "--html", "page.html")
    assert (ended.code, ended.out, ended.err) == (0, plain.out, "Wrote page.html\n")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>trace.json.gz</h1>" in page
    two_denoising_steps().write(Path("other.json"))
    assert run("trace", trace, "--against", "other.json", "--html", "page.html", "--json").code == 0
    assert "<h1>trace.json.gz compared with other.json</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert run("trace", trace, "other.json", "--html", "page.html").code == 0
    assert "<h1>2 ranks, 0 collective calls compared</h1>" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_that_cannot_be_written_is_rejected_before_anything_is_read(run: Run, trace: str) -> None:
    ended = run("trace", "missing.json", "--html", "no/such/page.html")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "diffprof: error: Cannot write no/such/page.html: there is no folder no/such.\n"


def test_without_plotly_a_page_is_rejected_with_one_message(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    ended = run("trace", trace, "--html", "page.html")
    assert (ended.code, ended.out) == (2, "")
    assert "pip install 'diffprof[report]'" in ended.err
    assert not Path("page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--html", "trace.json.gz"], "is the trace itself"),
        (["--html", "a", "--overlay", "./a"], "--html and --overlay name the same file"),
        (["--json", "--csv"], "--json and --csv exclude each other"),
        (["--top", "0"], "--top must be 1 or more, not 0"),
        (["--gap", "-1"], "--gap must be a number of microseconds of 0 or more"),
        (["--gap", "nan"], "--gap must be a number of microseconds of 0 or more"),
        (["--by", "colour"], "--by"),
        (["trace.json.gz"], "The same trace is given twice"),
        (["other.json", "--against", "x.json"], "--against takes one trace, not 2"),
        (["other.json", "--overlay", "x.json"], "--overlay takes one trace, not 2"),
        (["--against", "x.json", "--by", "kind"], "--by cannot be used with --against"),
        (["--overlay", "trace.json.gz"], "is the trace itself"),
    ],
)
def test_a_wrong_request_is_rejected_with_one_message_and_changes_nothing(
    arguments: list[str], words: str, run: Run, trace: str, tmp_path: Path
) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    ended = run("trace", trace, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_an_overlay_that_cannot_be_written_is_one_message(run: Run, trace: str) -> None:
    ended = run("trace", trace, "--overlay", "no/such/folder.json")
    assert (ended.code, ended.out) == (1, "")
    assert "Cannot write no/such/folder.json" in ended.err


def test_names_out_of_a_trace_do_not_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.python("\x1b[31mred.py(1): f", 100, 190)
    builder.kernel("\x1b]0;title\x07[bold]kernel", 10, 100, launched=5)
    builder.kernel("two", 200, 210, launched=195)
    shown = run("trace", str(builder.write(tmp_path / "t.json")), "--by", "kernel").out
    shown += run("trace", str(tmp_path / "t.json")).out
    assert "\x1b" not in shown
    assert "[bold]kernel" in shown


def test_a_trace_is_read_without_torch(trace: str) -> None:
    code = (
        "import sys; sys.argv = ['diffprof', 'trace', sys.argv[1]]; from diffprof.cli import main; assert main() == 0; "
        "heavy = {'torch', 'diffusers', 'transformers', 'accelerate'} & set(sys.modules); assert not heavy, heavy"
    )
    run_child("-c", code, trace)


SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "trace.schema.json").read_text(encoding="utf-8"))


def test_json_of_one_trace_of_two_and_of_ranks_follows_the_schema(run: Run, trace: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 10)
    builder.gpu("ncclDevKernel_AllReduce", 1, 5)
    builder.write(Path("other.json"))
    for arguments in ((), ("--against", "other.json"), ("other.json",)):
        validator.validate(json.loads(run("trace", trace, *arguments, "--json").out))
