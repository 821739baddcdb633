"""A call is rehearsed on virtual weights before anything is loaded, and no equal call is counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffprof.counting.dry_run import _DryRun
from diffprof.counting.rehearsal import rehearse
from diffprof.errors import PipelineError, RefusedCallError
from diffprof.inference import generate_image
from diffprof.pipelines import building, opening
from diffprof.pipelines.weights import plan_loading
from tests.cli.conftest import Run
from tests.pipelines.folders import saved


@pytest.fixture
def dry_runs(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The number of steps of every dry run that is made."""
    steps: list[int | None] = []
    execute = _DryRun.execute

    def count(self: _DryRun, arguments: dict[str, Any], *rest: Any) -> None:
        steps.append(arguments.get("num_inference_steps"))
        execute(self, arguments, *rest)

    monkeypatch.setattr(_DryRun, "execute", count)
    return steps


@pytest.fixture
def virtual_models(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The slot of every model that is built on virtual weights."""
    slots: list[str] = []
    build = building._virtual_model

    def count(owner: Any, plan: Any, *rest: Any) -> Any:
        slots.append(plan.slot)
        return build(owner, plan, *rest)

    monkeypatch.setattr(building, "_virtual_model", count)
    monkeypatch.setattr(opening, "_BUILT", {})
    return slots


def test_the_most_bytes_of_a_component_beside_its_weights_are_known(tmp_path: Path) -> None:
    plan = plan_loading(saved("stable-diffusion", tmp_path / "model"), device="cpu")
    small, large = (
        rehearse(plan, {"height": side, "width": side, "num_inference_steps": 1}, None) for side in (32, 64)
    )
    assert 0 < small < large


def test_what_only_a_dry_run_cannot_do_is_no_reason_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_loading(saved("stable-diffusion", tmp_path / "model"), device="cpu")

    def fail(*_: Any) -> None:
        raise PipelineError("StableDiffusionPipeline failed")

    monkeypatch.setattr(_DryRun, "execute", fail)
    assert rehearse(plan, {}, None) == 0


def test_what_the_pipeline_refuses_is_refused(tmp_path: Path) -> None:
    plan = plan_loading(saved("stable-diffusion", tmp_path / "model"), device="cpu")
    with pytest.raises(RefusedCallError, match="divisible by 8"):
        rehearse(plan, {"height": 33, "width": 33}, None)


def test_a_run_is_rehearsed_before_it_loads_and_counted_once(
    run: Run, tmp_path: Path, dry_runs: list[int | None], virtual_models: list[str]
) -> None:
    options = ["--steps", "2", "--iterations", "2", "--warmup", "1", "--sample-hz", "0", "-o", str(tmp_path)]
    ended = run("run", "shapes", *options)
    assert ended.code == 0, ended.err
    assert dry_runs == [2] * DRY_RUNS_OF_A_RUN
    assert len(virtual_models) == len(set(virtual_models))


DRY_RUNS_OF_A_RUN = 2
"""On virtual weights, before any are fetched; and on the loaded pipeline, whose live bytes are slightly other ones."""


def test_a_generation_builds_its_virtual_pipeline_once(
    tmp_path: Path, dry_runs: list[int | None], virtual_models: list[str]
) -> None:
    result = generate_image("shapes", "a red circle", num_inference_steps=3, output_dir=tmp_path)
    assert result.filepath.is_file()
    assert dry_runs == [2, 3]  # two steps to see whether it fits, and the call as it ran
    assert len(virtual_models) == len(set(virtual_models))
