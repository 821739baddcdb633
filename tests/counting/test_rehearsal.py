"""A call is rehearsed on virtual weights before anything is loaded, and no equal call is counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffprof.counting.dry_run import _DryRun
from diffprof.counting.rehearsal import rehearse
from diffprof.errors import PipelineError, RefusedCallError
from diffprof.inference import generate_image
from diffprof.pipelines.loading.weights import plan_loading
from diffprof.record.request import Request
from tests.pipelines.folders import saved


def test_the_most_bytes_of_a_component_beside_its_weights_are_known(tmp_path: Path) -> None:
    plan = plan_loading(Request(saved("stable-diffusion", tmp_path / "model"), device="cpu"))
    small, large = (
        rehearse(plan, {"height": side, "width": side, "num_inference_steps": 1}, None) for side in (32, 64)
    )
    assert 0 < small < large


def test_limits_of_the_dry_run_do_not_reject_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_loading(Request(saved("stable-diffusion", tmp_path / "model"), device="cpu"))

    def fail(*_: Any) -> None:
        raise PipelineError("StableDiffusionPipeline failed")

    monkeypatch.setattr(_DryRun, "execute", fail)
    assert rehearse(plan, {}, None) == 0


def test_what_the_pipeline_refuses_is_rejected(tmp_path: Path) -> None:
    plan = plan_loading(Request(saved("stable-diffusion", tmp_path / "model"), device="cpu"))
    with pytest.raises(RefusedCallError, match="divisible by 8"):
        rehearse(plan, {"height": 33, "width": 33}, None)


def test_a_generation_builds_its_virtual_pipeline_once(
    tmp_path: Path, dry_runs: list[int | None], virtual_models: list[str]
) -> None:
    result = generate_image("shapes", "a red circle", num_inference_steps=3, output_dir=tmp_path)
    assert result.filepath.is_file()
    assert dry_runs == [2, 3]  # two steps to see whether it fits, and the call as it ran
    assert len(virtual_models) == len(set(virtual_models))
