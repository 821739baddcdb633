"""A switch is the pipeline's own, thrown for the dry run only, and its true effect shows."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from diffprof.errors import PipelineError, RequestError
from tests.small_pipelines import SMALL_PIPELINES

SIZE = {"height": 64, "width": 64, "num_inference_steps": 1, "prompt": "a cat"}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def kinds(done: diffprof.Profile, component: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in done.calls:
        if call.component == component:
            for operation in call.cost.operations:
                found[operation.kind] = found.get(operation.kind, 0) + operation.work.other_flops + operation.work.macs
    return found


def test_tiling_counts_the_overlap_of_the_tiles(pipeline: Any) -> None:
    pipeline.vae.tile_latent_min_size, before = 16, pipeline.vae.tile_latent_min_size
    pipeline.vae.tile_sample_min_size, sample_before = 32, pipeline.vae.tile_sample_min_size
    try:
        plain, tiled = (diffprof.profile(pipeline, enable=switches, **SIZE) for switches in ((), ("vae_tiling",)))
    finally:
        pipeline.vae.tile_latent_min_size, pipeline.vae.tile_sample_min_size = before, sample_before
    # Latents of 32 in tiles of 16 that begin every 12: at 0, 12 and 24, the last one cut to 8, in each direction.
    convolutions = kinds(tiled, "vae")["convolution"] / kinds(plain, "vae")["convolution"]
    assert convolutions == (16 + 16 + 8) ** 2 / 32**2
    assert tiled.components["unet"].macs == plain.components["unet"].macs
    assert tiled.request.enable == ("vae_tiling",)


def test_tiling_an_image_smaller_than_a_tile_changes_nothing(pipeline: Any) -> None:
    small = SIZE | {"height": 16, "width": 16}
    assert diffprof.profile(pipeline, enable="vae_tiling", **small).total == diffprof.profile(pipeline, **small).total


def test_slicing_decodes_one_image_at_a_time(pipeline: Any) -> None:
    arguments = SIZE | {"num_images_per_prompt": 3}
    plain, sliced = (diffprof.profile(pipeline, enable=switches, **arguments) for switches in ((), ("vae_slicing",)))
    assert sliced.components["vae"].macs == plain.components["vae"].macs
    assert sliced.components["vae"].peak_live_bytes < plain.components["vae"].peak_live_bytes


def test_sliced_attention_holds_less_and_computes_the_same(pipeline: Any) -> None:
    plain, sliced = (diffprof.profile(pipeline, enable=switches, **SIZE) for switches in ((), ("attention_slicing",)))
    assert sliced.total.macs == plain.total.macs
    assert kinds(sliced, "unet")["attention"] > 0


def test_freeu_adds_fourier_transforms_and_no_products(pipeline: Any) -> None:
    plain, freed = (diffprof.profile(pipeline, enable=switches, **SIZE) for switches in ((), ("freeu",)))
    assert freed.total.macs == plain.total.macs
    assert "fourier" not in kinds(plain, "unet")
    assert kinds(freed, "unet")["fourier"] > 0


def test_several_switches_are_enabled_together(pipeline: Any) -> None:
    done = diffprof.profile(pipeline, enable=["freeu", "vae_tiling"], **SIZE)
    assert done.request.enable == ("freeu", "vae_tiling")


def test_an_unknown_switch_is_rejected_with_those_that_are_near(pipeline: Any) -> None:
    with pytest.raises(RequestError, match="nothing to enable called 'vae_tile'; did you mean vae_tiling"):
        diffprof.profile(pipeline, enable="vae_tile", **SIZE)


def test_a_switch_that_is_like_none_is_rejected_with_those_of_the_pipeline(pipeline: Any) -> None:
    message = "it has attention_slicing, freeu, vae_slicing, vae_tiling, xformers_memory_efficient_attention."
    with pytest.raises(RequestError, match=message):
        diffprof.profile(pipeline, enable="nonsense", **SIZE)


def test_a_failing_switch_reports_the_pipelines_error(pipeline: Any) -> None:
    with pytest.raises(
        PipelineError, match="StableDiffusionPipeline cannot enable xformers_memory_efficient_attention: "
    ):
        diffprof.profile(pipeline, enable="xformers_memory_efficient_attention", **SIZE)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("DDIMScheduler", 10),
        ("ddim", 10),
        ("EulerDiscrete", 10),
        ("heun", 19),
        ("PNDM", 19),  # with this configuration it begins with three steps of four calls each
        ("KDPM2", 19),
        ("DEISMultistep", 10),
        ("UniPCMultistep", 10),
    ],
)
def test_another_scheduler_shows_in_the_calls(name: str, calls: int, pipeline: Any) -> None:
    done = diffprof.profile(pipeline, scheduler=name, **SIZE | {"num_inference_steps": 10})
    assert done.components["unet"].calls == done.steps.count == calls
    assert done.request.scheduler == name


def test_an_unknown_scheduler_is_rejected_with_those_that_are_near(pipeline: Any) -> None:
    with pytest.raises(RequestError, match=r"unknown scheduler 'huen'; did you mean .*HeunDiscreteScheduler"):
        diffprof.profile(pipeline, scheduler="huen", **SIZE)
