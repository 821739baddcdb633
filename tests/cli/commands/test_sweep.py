"""``diffprof sweep``: what is typed, what is printed, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.workers import WorkerProcesses
from tests.cli.conftest import Run
from tests.sample_profiles import stable_diffusion


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(stable_diffusion().save(tmp_path / "saved.json"))


def test_a_sweep_prints_a_table(run: Run, saved: str) -> None:
    ended = run("sweep", f"models={saved}", "gpus=l4,h100-sxm")
    assert ended.code == 0
    assert "Sweep: 2 points" in ended.out
    assert "1 request answered by an earlier sweep" in run("sweep", f"models={saved}", "gpus=l4,h100-sxm").out


def test_it_is_written_where_it_is_wanted(run: Run, saved: str, tmp_path: Path) -> None:
    assert len(json.loads(run("sweep", f"models={saved}", "gpus=l4", "--json").out)["points"]) == 1
    assert run("sweep", f"models={saved}", "gpus=l4", "--csv").out.count("\n") == 2
    file = tmp_path / "sweep.html"
    assert run("sweep", f"models={saved}", "gpus=l4,t4", "-o", str(file)).code == 0
    assert "<!DOCTYPE html>" in file.read_text(encoding="utf-8")


def test_a_failed_point_ends_with_1_and_the_others_are_there(
    run: Run, saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here, and not in a process that imports torch first: tests/sweeps/test_workers.py has those.
    monkeypatch.setattr(WorkerProcesses, "answers", lambda self, tasks: map(evaluate, tasks))
    broken = tmp_path / "empty-model"
    broken.mkdir()
    (broken / "model_index.json").write_text('{"_class_name": "NoSuchPipeline"}', encoding="utf-8")
    ended = run("sweep", f"models={saved},{broken}", "gpus=l4", "--workers", "1")
    assert ended.code == 1
    assert "Sweep: 1 point" in ended.out
    assert "NoSuchPipeline" in ended.out
    assert ended.err == "diffprof: error: 1 of 2 requests failed; run the same command to try them again.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["heights=1..1000", "steps=1..1000"], "This sweep has 1,000,000 points"),
        (["--address", "auto"], "--address is for a Ray cluster; add --engine ray."),
        (["--random-weights"], "--gpus-per-task, --random-weights, --device, --offload and --seed need --measure."),
        (["--workers", "0"], "--workers must be a whole number from 1 to 256, not 0."),
        (["-o", "sweep.xlsx"], "Cannot tell the format of sweep.xlsx"),
        (["--measure", "--gpus-per-task", "-1"], "--gpus-per-task must be a number from 0 to 64, not -1."),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(words: list[str], message: str, run: Run) -> None:
    ended = run("sweep", "models=sdxl", *words)
    assert ended.code == 2
    assert ended.err.startswith(f"diffprof: error: {message}")
    assert ended.err.count("\n") == 1
