"""Traces: annotated, bounded, readable, and never in the way of the code that is traced."""

from __future__ import annotations

import gzip
import json
import os
import resource
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.errors import OutputError, RequestError
from diffprof.runtime.timing import sections
from diffprof.runtime.timing import trace_recorder as traces
from diffprof.runtime.timing.loop_timer import LoopTimer
from diffprof.runtime.timing.sections import SectionRecorder
from diffprof.runtime.timing.trace_recorder import TraceFile, TraceRecorder, TraceRecording, TraceWarning


@pytest.fixture
def recorder() -> SectionRecorder:
    return SectionRecorder()


@pytest.fixture(autouse=True)
def nothing_goes_on_running() -> Iterator[None]:
    yield
    assert traces._running is None
    assert sections._annotate is None


def spans(path: Path) -> list[str]:
    """The names that were annotated, in the order of time."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = [event for event in json.loads(text)["traceEvents"] if event.get("cat") == "user_annotation"]
    return [event["name"] for event in sorted(events, key=lambda event: event["ts"])]


def operations(path: Path) -> set[str]:
    return {event["name"] for event in json.loads(path.read_bytes())["traceEvents"] if event.get("cat") == "cpu_op"}


def record_trace(recorder: TraceRecorder, work: Callable[[], Any], name: str = "trace") -> TraceFile:
    """The trace of some work, which must be written without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with recorder.profile(name):
            work()
    assert recorder.problem is None
    return recorder.traces[-1]


def trace_error(recorder: TraceRecorder, work: Callable[[], Any], name: str = "trace") -> str:
    """The sentence that says why there is no trace; the work must have been done all the same."""
    done = []
    with pytest.warns(TraceWarning) as caught, recorder.profile(name):
        work()
        done.append(True)
    assert done == [True]
    assert recorder.traces == []
    assert [str(warning.message) for warning in caught] == [str(recorder.problem)]
    return str(recorder.problem)


def add() -> None:
    torch.ones(2) + torch.ones(2)


def test_a_trace_has_the_operations_and_the_names_of_sections(tmp_path: Path, recorder: SectionRecorder) -> None:
    def work() -> None:
        with recorder.section("denoise"), recorder.section("unet_forward"):
            add()

    trace = record_trace(TraceRecorder(tmp_path), work, "my_trace")
    assert trace.path == tmp_path / "my_trace.json"
    assert {"denoise", "unet_forward"} <= set(spans(trace.path))
    assert "aten::add" in operations(trace.path)
    assert (trace.steps, trace.complete, trace.is_compressed) == (1, True, False)
    assert trace.file_bytes == trace.json_bytes == trace.path.stat().st_size
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["my_trace.json"]


def test_sections_are_timed_as_usual_while_a_trace_is_recorded(tmp_path: Path, recorder: SectionRecorder) -> None:
    def work() -> None:
        for _ in range(3):
            with recorder.section("step"):
                add()

    record_trace(TraceRecorder(tmp_path), work)
    assert recorder.timings.get_stats("step")["count"] == 3


def test_only_the_first_steps_are_recorded(tmp_path: Path, recorder: SectionRecorder) -> None:
    tracer = TraceRecorder(tmp_path, active=3)

    def work() -> None:
        for number in range(6):
            with recorder.section(f"work {number}"):
                add()
            tracer.step()

    trace = record_trace(tracer, work)
    names = [name for name in spans(trace.path) if name.startswith("work")]
    assert names == ["work 0", "work 1", "work 2"]
    assert (trace.steps, trace.complete) == (3, False)


def test_steps_before_the_recording_are_left_out(tmp_path: Path, recorder: SectionRecorder) -> None:
    tracer = TraceRecorder(tmp_path, wait=1, warmup=1, active=2)

    def work() -> None:
        for number in range(6):
            with recorder.section(f"work {number}"):
                add()
            tracer.step()

    trace = record_trace(tracer, work)
    assert [name for name in spans(trace.path) if name.startswith("work")] == ["work 2", "work 3"]
    assert trace.steps == 2


def test_iterations_are_steps_with_their_numbers(tmp_path: Path) -> None:
    steps = LoopTimer("denoising_steps", warmup=1)

    def work() -> None:
        for _ in range(8):
            with steps.iteration():
                add()

    trace = record_trace(TraceRecorder(tmp_path, active=4), work)
    names = [name for name in spans(trace.path) if name.startswith("denoising")]
    assert names == [f"denoising_steps {number}" for number in range(4)]
    assert steps.statistics is not None and steps.statistics["count"] == 7


def test_steps_of_another_thread_do_not_disturb(tmp_path: Path) -> None:
    tracer = TraceRecorder(tmp_path, active=1)

    def work() -> None:
        thread = threading.Thread(target=tracer.step)
        thread.start()
        thread.join()
        add()

    assert "aten::add" in operations(record_trace(tracer, work).path)


def test_a_recording_that_never_began_is_reported(tmp_path: Path) -> None:
    sentence = trace_error(TraceRecorder(tmp_path, wait=3, warmup=1), add)
    assert "is empty: recording begins after 4 steps, and 0 were taken" in sentence
    assert list(tmp_path.glob("*.json")) == []


def test_shapes_and_stacks_are_recorded_on_request(tmp_path: Path) -> None:
    plain = record_trace(TraceRecorder(tmp_path), add, "plain")
    rich = record_trace(TraceRecorder(tmp_path, record_shapes=True, profile_memory=True, with_stack=True), add, "rich")
    assert b"Input Dims" not in plain.path.read_bytes()
    text = rich.path.read_bytes()
    assert b"Input Dims" in text and b"[memory]" in text and b"python_function" in text


def test_a_large_trace_is_compressed_and_replaces_a_small_one(tmp_path: Path, recorder: SectionRecorder) -> None:
    def work() -> None:
        with recorder.section("vae_decode"):
            add()

    small = record_trace(TraceRecorder(tmp_path), work)
    large = record_trace(TraceRecorder(tmp_path, gzip_above_bytes=100), work)
    assert (large.path, large.is_compressed) == (tmp_path / "trace.json.gz", True)
    assert large.file_bytes < large.json_bytes
    assert "vae_decode" in spans(large.path)
    assert not small.path.exists()
    again = record_trace(TraceRecorder(tmp_path), work)
    assert again.path.exists() and not large.path.exists()


def test_a_trace_above_the_limit_is_not_kept_and_says_what_to_do(tmp_path: Path) -> None:
    sentence = trace_error(TraceRecorder(tmp_path, max_bytes=1000), add)
    assert "above the limit of 1,000" in sentence and "trace fewer steps" in sentence
    assert list(tmp_path.iterdir()) == []


def test_what_the_code_raises_comes_through_and_the_trace_is_kept(tmp_path: Path, recorder: SectionRecorder) -> None:
    tracer = TraceRecorder(tmp_path)
    with pytest.raises(KeyboardInterrupt), tracer.profile("cut"), recorder.section("step"):
        add()
        raise KeyboardInterrupt
    assert "step" in spans(tracer.traces[0].path)


def test_a_trace_inside_a_trace_is_rejected_and_the_outer_one_written(
    tmp_path: Path, recorder: SectionRecorder
) -> None:
    outer = TraceRecorder(tmp_path / "outer")
    inner = TraceRecorder(tmp_path / "inner")

    def work() -> None:
        with recorder.section("inside"):
            inner.step()

    with outer.profile("outer"):
        assert "is being recorded already" in trace_error(inner, work, "inner")
        assert "is being recorded already" in trace_error(outer, work, "again")
    assert outer.problem is None
    assert "inside" in spans(outer.traces[0].path)


def test_a_profiler_of_torch_that_runs_already_is_left_alone(tmp_path: Path) -> None:
    with torch.profiler.profile() as theirs:
        assert "torch.profiler is running already" in trace_error(TraceRecorder(tmp_path), add)
    assert "aten::add" in {event.key for event in theirs.key_averages()}


def test_a_folder_that_is_a_file_is_reported_and_the_code_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert trace_error(TraceRecorder(tmp_path / "file"), add).endswith("file: it is not a folder.")
    assert "Not a directory" in trace_error(TraceRecorder(tmp_path / "file" / "deeper"), add)


def test_a_folder_that_is_protected_is_reported_and_the_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # who runs the tests may write everywhere
    assert "the folder is write-protected" in trace_error(TraceRecorder(tmp_path), add)


def test_a_disk_that_is_full_is_reported_and_the_code_has_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TraceRecording, "export", no_space)
    tracer = TraceRecorder(tmp_path / "traces")
    assert trace_error(tracer, add, "my_trace") == "Cannot write the trace 'my_trace': No space left on device."
    assert isinstance(tracer.problem, OutputError)
    assert list((tmp_path / "traces").iterdir()) == []


def record_on_a_full_disk(folder: Path, file_bytes: int) -> str:
    """Why there is no trace where the files of this process may have so many bytes and no more."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder = TraceRecorder(folder)
    try:
        with pytest.warns(TraceWarning), recorder.profile("my_trace"):
            for _ in range(100):
                add()
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, limits[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    return str(recorder.problem)


@pytest.mark.parametrize("file_bytes", [1000, 9000])
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be listed here")
def test_a_trace_that_torch_could_not_finish_is_noticed_and_does_not_fill_the_disk(
    file_bytes: int, tmp_path: Path
) -> None:
    problem = record_on_a_full_disk(tmp_path, file_bytes)
    assert problem == "The trace 'my_trace' could not be written completely: is the disk full?"
    assert list(tmp_path.iterdir()) == []
    # torch keeps the file open that it could not write to its end: deleted, it would still take its space
    ours = [file for file in Path("/proc/self/fd").iterdir() if file_behind(file).startswith(str(tmp_path))]
    assert sum(file.stat().st_size for file in ours) == 0


def file_behind(descriptor: Path) -> str:
    """Nothing if it was closed in the meantime."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""


def undecodable(*_: object) -> None:
    """What torch.profiler raises now and then for an event recorded with its stack."""
    b"torch/nn/modules/\xff\xfe".decode()


@pytest.mark.parametrize("method", ["stop", "step"])
def test_an_event_name_that_torch_cannot_decode_does_not_cost_the_trace(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a profiler that fails once recording has ended, as torch does while it builds its Python events
    original = getattr(torch.profiler.profile, method)
    monkeypatch.setattr(torch.profiler.profile, method, lambda self: (original(self), undecodable()))
    recorder = TraceRecorder(tmp_path, with_stack=True, active=1)

    def work() -> None:
        add()
        recorder.step()

    assert "aten::add" in operations(record_trace(recorder, work).path)


def test_a_trace_with_names_that_are_not_utf8_is_repaired_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = torch.profiler.profile.export_chrome_trace

    def export(self: Any, path: str) -> None:
        original(self, path)
        file = Path(path)
        file.write_bytes(file.read_bytes().replace(b'"aten::add"', b'"aten::\xff\xfeadd"'))

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", export)
    recorder = TraceRecorder(tmp_path)
    with pytest.warns(TraceWarning) as caught, recorder.profile():
        add()
    (trace,) = recorder.traces
    assert (trace.repaired, recorder.problem) == (True, None)
    assert [str(warning.message) for warning in caught] == [trace.warning]
    assert "not valid UTF-8; the unreadable bytes were replaced in trace.json" in str(trace.warning)
    assert "aten::\ufffd\ufffdadd" in operations(trace.path)
    assert trace.file_bytes == trace.path.stat().st_size


def test_a_trace_that_was_cut_off_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(_: object, path: str) -> None:
        Path(path).write_text('{"traceEvents": [{"name": ')

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", cut)
    assert "could not be written completely" in trace_error(TraceRecorder(tmp_path), add)


def test_a_profiler_that_fails_in_a_step_does_not_break_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise RuntimeError("Can't disable Kineto profiler\nlong explanation")

    tracer = TraceRecorder(tmp_path)
    monkeypatch.setattr(torch.profiler.profile, "step", fails)
    assert trace_error(tracer, tracer.step) == "The trace 'trace' was lost: Can't disable Kineto profiler"


@pytest.mark.parametrize(
    ("name", "file"), [("../../etc/x", "_.._etc_x.json"), ("a:b|c", "a_b_c.json"), ("..", "trace.json")]
)
def test_no_name_leads_out_of_the_folder(name: str, file: str, tmp_path: Path) -> None:
    assert record_trace(TraceRecorder(tmp_path), add, name).path == tmp_path / file


def test_a_schedule_without_an_active_step_is_rejected() -> None:
    with pytest.raises(RequestError, match="one active step or more"):
        TraceRecorder("traces", active=0)
