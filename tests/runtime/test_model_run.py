"""A requested call is rehearsed, loaded and measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.record.request import Request
from diffprof.runtime.model_run import ModelRun, _call_arguments
from tests.cli.conftest import Run

DRY_RUNS_OF_A_RUN = 2
"""On virtual weights before any are fetched, and on the loaded pipeline, whose live bytes differ slightly."""


def test_a_run_is_rehearsed_before_it_loads_and_counted_once(
    run: Run, tmp_path: Path, dry_runs: list[int | None], virtual_models: list[str]
) -> None:
    options = ["--steps", "2", "--iterations", "2", "--warmup", "1", "--sample-hz", "0", "-o", str(tmp_path)]
    ended = run("run", "shapes", *options)
    assert ended.code == 0, ended.err
    assert dry_runs == [2] * DRY_RUNS_OF_A_RUN
    assert len(virtual_models) == len(set(virtual_models))


def test_a_seed_becomes_a_generator_on_the_cpu() -> None:
    request = Request.create("shapes", {"height": 64}, seed=3)
    arguments = _call_arguments(request)
    assert arguments["height"] == 64
    generator = arguments["generator"]
    assert (generator.device.type, generator.initial_seed()) == ("cpu", 3)
    assert _call_arguments(Request.create("shapes", {"height": 64})) == {"height": 64}


def test_a_seed_and_a_generator_are_rejected_before_anything_is_loaded() -> None:
    request = Request.create("shapes", {"generator": 5}, seed=3)
    with pytest.raises(RequestError, match="The noise is given twice"):
        ModelRun(request).measure()


def test_a_measured_run_has_the_requested_iterations_and_no_problem_without_a_trace() -> None:
    request = Request.create("shapes", {"num_inference_steps": 1}, seed=3)
    run, problem = ModelRun(request, warmup=1, iterations=2, sample_hz=0).measure()
    assert problem is None
    measured = run.profile.measured
    assert measured is not None
    assert (len(measured.iterations), len(measured.timed_iterations)) == (3, 2)
