"""A request becomes a row for each accelerator; a failure is an outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import diffprof
from diffprof.catalogue import own_accelerators
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.own_accelerators import keep_accelerator
from diffprof.record.request import Request
from diffprof.sweeps import evaluate as evaluation
from diffprof.sweeps.evaluate import evaluate, evaluate_known
from diffprof.sweeps.records import Task
from tests.sample_profiles import stable_diffusion


def test_a_row_says_what_profile_and_prediction_say(tmp_path: Path) -> None:
    profile = stable_diffusion()
    file = profile.save(tmp_path / "p.json")
    outcome = evaluate(Task(Request(str(file)), ("l4", "h100-sxm")))
    prediction = diffprof.predict(profile, gpu=("l4", "h100-sxm"))
    assert [row.gpu for row in outcome.rows] == ["l4", "h100-sxm"]
    for row in outcome.rows:
        time = prediction.accelerators[row.gpu or ""]
        assert (row.seconds, row.low_seconds, row.high_seconds) == (
            time.total_seconds, time.low_seconds, time.high_seconds,
        )  # fmt: skip
        assert (row.macs, row.flops, row.parameters) == (
            profile.total.macs, 2 * profile.total.macs, profile.total.parameters,
        )  # fmt: skip
        assert (row.height, row.width, row.steps, row.executed_steps) == (512, 512, 30, 31)
        assert row.source == "profile"


def test_a_failure_is_a_sentence(tmp_path: Path) -> None:
    outcome = evaluate(Task(Request(str(tmp_path / "missing.json"))))
    assert not outcome.rows
    assert outcome.error is not None and "missing.json" in outcome.error


def test_points_of_one_model_have_what_each_of_them_has_by_itself() -> None:
    gpus = ("h100-sxm", "rtx-4090", "t4", "mi300x")
    sizes = [{"height": 512, "width": 512}, {"height": 768, "width": 512}, {"height": 512, "width": 512}]
    requests = [Request.create("sd-2.1-base", {**size, "num_inference_steps": n}) for size in sizes for n in (20, 30)]
    together = [evaluate_known(Task(request, gpus)) for request in requests]
    for request, outcome in zip(requests, together, strict=True):
        evaluation._latest_memory.clear()
        evaluation._latest_job.clear()
        assert outcome is not None and len(outcome.rows) == len(gpus)
        assert outcome == evaluate_known(Task(request, gpus))


def test_an_accelerator_that_was_measured_since_is_the_one_of_the_next_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_accelerators, "own_file", lambda: tmp_path / "hardware.toml")
    task = Task(Request(str(stable_diffusion().save(tmp_path / "p.json"))), ("l4",))
    before = evaluate(task).rows[0]
    l4 = find_accelerator("l4")
    keep_accelerator(replace(l4, bandwidth_bytes_per_second=l4.bandwidth_bytes_per_second / 4))
    after = evaluate(task).rows[0]
    assert before.seconds is not None and after.seconds is not None
    assert after.seconds > before.seconds
