"""A scheduler whose file is missing has what every published one has, where its class's defaults do not work."""

from __future__ import annotations

from pathlib import Path

import pytest

import diffprof
from diffprof.pipelines.building.usual_schedulers import usual_scheduler
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from tests.pipelines.folders import saved


@pytest.mark.parametrize("name", ["stable-diffusion-pndm", "amused", "unclip"])
def test_a_pipeline_counts_without_the_file(name: str, tmp_path: Path) -> None:
    folder = saved(name, tmp_path / "model")
    for path in folder.glob("*/scheduler_config.json"):
        path.unlink()
    steps = {} if name == "unclip" else {"num_inference_steps": 2}
    done = diffprof.profile(folder, **steps)
    assert done.total.macs > 0
    assert any("has no configuration: the defaults of" in sentence for sentence in done.ledger.assumptions)


def scheduler_of(class_name: str, slot: str = "scheduler", **configs: dict[str, int]) -> dict[str, object]:
    parts = {other: PartPlan(other, "diffusers", "Model", config) for other, config in configs.items()}
    return usual_scheduler(Blueprint("a", "folder", "Pipeline", parts), PartPlan(slot, "diffusers", class_name))


def test_the_model_decides_what_the_class_has_no_default_for() -> None:
    assert scheduler_of("AmusedScheduler", transformer={"vocab_size": 100}) == {"mask_token_id": 99}
    assert scheduler_of("VQDiffusionScheduler", transformer={"num_vector_embeds": 7}) == {"num_vec_classes": 7}
    learned = {"variance_type": "learned_range"}
    assert scheduler_of("DDPMScheduler", unet={"in_channels": 3, "out_channels": 6}) == learned
    assert scheduler_of("DDPMScheduler", unet={"in_channels": 3, "out_channels": 3}) == {}
    assert scheduler_of("UnCLIPScheduler", "decoder_scheduler") == learned
    assert scheduler_of("EulerDiscreteScheduler") == {}
