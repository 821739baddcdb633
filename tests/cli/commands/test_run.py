"""``diffprof run``: a model is loaded, run and measured; four files say what it took, also when it did not end well."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from diffusers import DiTTransformer2DModel

import diffprof
from diffprof.counting.isolation import is_dry_running
from diffprof.pipelines.loading import weights
from diffprof.record.files import from_json
from diffprof.record.history import History
from diffprof.record.measured import Limitation
from diffprof.runtime import model_run
from diffprof.runtime.timing import trace_recorder as traces
from tests.cli.conftest import Ended, Run, run_alone
from tests.pipelines.loadable import saved_with_weights
from tests.runtime.allocators import with_allocator

STEPS = 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest that there is: most of these tests are about what becomes of a run, whatever ran."""
    return saved_with_weights("dit", tmp_path_factory.mktemp("run") / "model")


@pytest.fixture(scope="module")
def model_with_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("run") / "model")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results" / "of-today"


@pytest.fixture
def short(run: Run, model: Path, out: Path) -> Callable[..., Ended]:
    """A short run on the CPU into `out`, with more options."""
    return lambda *options: run("run", str(model), *usual_options(out), *options)


def usual_options(folder: Path) -> tuple[str, ...]:
    return "--steps", str(STEPS), "--device", "cpu", "--sample-hz", "0", "-o", str(folder)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def finished(model_with_texts: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    """A warm-up and two iterations, which several tests look at: how it ended, and its folder."""
    folder = tmp_path_factory.mktemp("finished") / "of-today"
    options = ("--iterations", "2", "--warmup", "1", "--prompt", "a cat", "--guidance", "1", "--scheduler", "heun")
    return run_alone("run", str(model_with_texts), *usual_options(folder), *options, "--seed", "1"), folder


def test_a_run_leaves_its_files_and_prints_its_tables(finished: tuple[Ended, Path]) -> None:
    ended, folder = finished
    assert ended.code == 0, ended.err
    assert ended.err == f"Wrote profiling_report.json, memory_log.json, timing_summary.txt into {folder}\n"
    assert names_in(folder) == {"profiling_report.json", "memory_log.json", "timing_summary.txt"}
    assert "unet_forward" in ended.out
    assert ended.out.rfind("Findings") > ended.out.find("unet_forward")


def test_a_run_can_be_kept(
    short: Callable[..., Ended], out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_HISTORY", str(tmp_path / "history.sqlite"))
    assert short("--iterations", "1", "--warmup", "0", "--keep").code == 0
    (kept,) = History(tmp_path / "history.sqlite").find()
    assert (kept.kind, kept.iterations) == ("run", 1)
    assert History(tmp_path / "history.sqlite").get(kept.id) == diffprof.load(out / "profiling_report.json")


def test_the_report_is_a_profile_with_every_iteration(finished: tuple[Ended, Path]) -> None:
    saved = diffprof.load(finished[1] / "profiling_report.json")
    measured = saved.measured
    assert measured is not None
    assert measured.complete
    assert [iteration.warmup for iteration in measured.iterations] == [True, False, False]
    assert measured.load_seconds is not None
    assert saved.request.arguments["prompt"] == "a cat"
    assert (saved.request.source, saved.request.scheduler, saved.request.dtype) == ("folder", "heun", "float32")
    assert saved.components["unet"].macs > 0


def test_the_memory_log_has_every_moment_as_a_memory_tracker_would(finished: tuple[Ended, Path]) -> None:
    log = json.loads((finished[1] / "memory_log.json").read_text())
    assert log["unit"] == "bytes"
    assert isinstance(log["findings"], list)
    starts = [moment for moment in log["snapshots"] if moment["label"] == "start"]
    assert [moment["iteration"] for moment in starts] == [0, 1, 2]
    times = [moment["seconds"] for moment in log["snapshots"]]
    assert times == sorted(times)
    assert all(moment["rss_bytes"] > 0 for moment in log["snapshots"])


def test_the_times_are_laid_out_as_in_the_guide(finished: tuple[Ended, Path]) -> None:
    text = (finished[1] / "timing_summary.txt").read_text(encoding="utf-8")
    assert "PROFILING SUMMARY - Top Operations by Total Time" in text
    assert "vae_decode" in text


def test_a_trace_is_one_more_file_with_the_sections_in_it(short: Callable[..., Ended], out: Path) -> None:
    ended = short("--iterations", "1", "--warmup", "0", "--trace")
    assert ended.code == 0, ended.err
    assert "trace.json into" in ended.err
    names = {event.get("name") for event in json.loads((out / "trace.json").read_text())["traceEvents"]}
    assert {"transformer_forward", "vae_decode"} <= names


def test_json_is_what_was_saved_and_nothing_else(short: Callable[..., Ended], out: Path) -> None:
    ended = short("--iterations", "1", "--warmup", "0", "--json", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert from_json(json.loads(ended.out)) == diffprof.load(out / "profiling_report.json")


def test_one_table_can_be_requested_also_as_csv(short: Callable[..., Ended]) -> None:
    ended = short("--iterations", "1", "--warmup", "0", "--csv", "--by", "section", "-q")
    assert ended.out.splitlines()[0].startswith("section,")
    assert any(line.startswith("transformer_forward,") for line in ended.out.splitlines())


def test_random_weights_need_no_weight_files(run: Run, model: Path, out: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    for file in model.rglob("*"):
        if file.is_file() and file.suffix != ".safetensors":
            (bare / file.relative_to(model)).parent.mkdir(parents=True, exist_ok=True)
            (bare / file.relative_to(model)).write_bytes(file.read_bytes())
    options = ("--steps", "1", "--iterations", "1", "--warmup", "0", "-q", "-o", str(out))
    assert run("run", str(bare), *options).code == 2
    assert not out.exists()
    ended = run("run", str(bare), *options, "--random-weights", "--dtype", "bfloat16")
    assert ended.code == 0, ended.err
    saved = diffprof.load(out / "profiling_report.json")
    assert weights.RANDOM in saved.ledger.assumptions
    assert saved.request.dtype == "bfloat16"


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was loaded, although it should not have been."""
    seen: list[str] = []
    monkeypatch.setattr(model_run, "plan_loading", lambda request, *_: seen.append(request.model))
    return seen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--iterations", "0"], "--iterations must be a whole number from 1 to 10,000, not 0"),
        (["--iterations", "many"], "--iterations must be a whole number"),
        (["--warmup", "-1"], "--warmup must be a whole number from 0"),
        (["--seed", "-1"], "--seed must be a whole number from 0"),
        (["--sample-hz", "-1"], "--sample-hz must be a number from 0"),
        (["--sample-hz", "nan"], "--sample-hz"),
        (["--dtype", "float3"], "Unknown dtype"),
        (["--prompt", "a", "--set", "prompt=b"], "prompt is given twice"),
        (["--json", "--csv"], "exclude each other"),
        (["--height", "0"], "--height"),
    ],
)
def test_a_wrong_request_is_rejected_before_anything_is_loaded(
    options: list[str], words: str, short: Callable[..., Ended], loads: list[str], out: Path
) -> None:
    ended = short(*options)
    assert (ended.code, ended.out, loads) == (2, "", [])
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert not out.exists()


def test_an_unknown_model_is_rejected(run: Run, loads: list[str]) -> None:
    ended = run("run", "sdlx")
    assert (ended.code, loads) == (2, [])
    assert "did you mean sdxl" in ended.err


def test_a_folder_that_cannot_be_written_is_rejected_before_anything_is_loaded(
    run: Run, model: Path, tmp_path: Path, loads: list[str]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "trace.json").mkdir(parents=True)
    places = {"file": "is not a folder", "file/within": "is not a folder", "taken": "trace.json: it is a folder"}
    for place, reason in {**places, "/proc/nowhere": "Cannot write into /proc/nowhere"}.items():
        ended = run("run", str(model), "-o", str(tmp_path / place))
        assert (ended.code, ended.out, loads) == (1, "", [])
        assert reason in ended.err
        assert ended.err.count("\n") == 1


def test_an_error_of_the_pipeline_is_reported_before_it_runs(run: Run, model_with_texts: Path, out: Path) -> None:
    ended = run("run", str(model_with_texts), *usual_options(out), "--height", "33", "--width", "33")
    assert ended.code == 1
    assert "StableDiffusionPipeline refused the call" in ended.err
    assert not out.exists()


def interrupt_at(call: int, failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the denoiser fail in its real call of that number; what is only counted does not count."""
    original, calls = DiTTransformer2DModel.forward, []

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dry_running():
            calls.append(call)
            if len(calls) == call:
                raise failure
        return original(self, *args, **kwargs)

    monkeypatch.setattr(DiTTransformer2DModel, "forward", forward)


def test_an_interruption_in_a_step_keeps_what_was_measured(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The warm-up and one iteration are whole; of the next, one step is.
    interrupt_at(2 * STEPS + 2, KeyboardInterrupt(), monkeypatch)
    ended = short("--iterations", "3")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.endswith("diffprof: interrupted.\n")
    saved = diffprof.load(out / "profiling_report.json")
    assert saved.measured is not None
    assert not saved.measured.complete
    assert [iteration.error is None for iteration in saved.measured.iterations] == [True, True, False]
    assert saved.measured.limitations == (Limitation("incomplete", done=2, requested=4),)
    assert json.loads((out / "memory_log.json").read_text())["snapshots"]
    assert "transformer_forward" in (out / "timing_summary.txt").read_text(encoding="utf-8")


@pytest.mark.extensive
def test_an_interruption_of_the_first_call_is_saved_too(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(2, KeyboardInterrupt(), monkeypatch)
    assert short().code == 130
    saved = diffprof.load(out / "profiling_report.json")
    assert saved.measured is not None
    assert not saved.measured.complete


def test_an_interruption_while_loading_leaves_nothing(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "load_model", interrupt)
    ended = short()
    assert (ended.code, ended.out, ended.err) == (130, "", "diffprof: interrupted.\n")
    assert not out.exists()


def test_where_the_memory_of_a_gpu_runs_out_its_snapshot_and_what_was_measured_are_written(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_allocator(monkeypatch)
    interrupt_at(STEPS + 1, torch.OutOfMemoryError("Tried to allocate 20 GiB"), monkeypatch)
    ended = short("--iterations", "1")
    assert ended.code == 1
    assert "memory_snapshot.pickle, memory_snapshot.txt into" in ended.err
    assert "ran out of memory" in ended.err.splitlines()[-1]
    assert "400.00 MB allocated when it was taken" in (out / "memory_snapshot.txt").read_text(encoding="utf-8")
    saved = diffprof.load(out / "profiling_report.json")
    assert saved.measured is not None
    assert not saved.measured.complete


def test_a_disk_that_is_full_for_the_trace_keeps_the_rest(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Any, path: Path) -> None:
        path.write_text('{"traceEvents": [')
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(traces.TraceRecording, "export", full)
    ended = short("--iterations", "1", "--warmup", "0", "--trace")
    assert ended.code == 1
    assert "transformer_forward" in ended.out
    assert ended.err.splitlines()[-1] == "diffprof: error: Cannot write the trace 'trace': No space left on device."
    assert names_in(out) == {"profiling_report.json", "memory_log.json", "timing_summary.txt"}
    saved = diffprof.load(out / "profiling_report.json")
    assert saved.measured is not None
    assert "no_trace" in {limitation.kind for limitation in saved.measured.limitations}


def test_one_file_that_cannot_be_written_does_not_keep_the_others_away(
    short: Callable[..., Ended], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffprof.errors import OutputError
    from diffprof.render.guides import run_folder

    write = run_folder._write

    def refuse_the_report(file: Path, content: Callable[[], str]) -> None:
        if file.name == "profiling_report.json":
            raise OutputError(f"Cannot write {file}: No space left on device.")
        write(file, content)

    monkeypatch.setattr(run_folder, "_write", refuse_the_report)
    ended = short("--iterations", "1", "--warmup", "0")
    assert ended.code == 1
    assert "No space left on device" in ended.err
    assert "transformer_forward" in ended.out
    assert names_in(out) == {"memory_log.json", "timing_summary.txt"}
