"""The guides' profiler: their names and keys, the engine's figures, and no failure that reaches the caller."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from diffprof.compute_profiler import ComputeProfiler, create_profiler
from tests.small_pipelines import SMALL_PIPELINES

SD_2_1 = "stabilityai/stable-diffusion-2-1-base"
UNET_MACS = 804_257_464_320
TEXT_MACS = 2 * 22_563_616_768
VAE_MACS = 1_257_259_466_752
# The PNDM scheduler calls the UNet once more than there are steps.
TOTAL_MACS = 31 * UNET_MACS + TEXT_MACS + VAE_MACS

GUIDE_KEYS = {
    *("enabled", "model_component", "total_macs", "total_flops", "macs_per_step", "flops_per_step", "total_params"),
    *("total_macs_str", "total_flops_str", "macs_per_step_str", "flops_per_step_str", "params_str"),
    *("unet_macs_per_step", "vae_macs", "text_encoder_macs", "num_inference_steps", "input_shape", "latent_shape"),
}


@pytest.fixture
def profiler() -> ComputeProfiler:
    return create_profiler(enabled=True)


@pytest.fixture(scope="module")
def small() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def test_the_parts_of_stable_diffusion_are_the_published_ones(profiler: ComputeProfiler) -> None:
    assert profiler.measure_unet_macs(SD_2_1, 512, 512, "a photo of a cat", 7.5) == UNET_MACS
    assert profiler.measure_vae_decode_macs(SD_2_1, 512, 512) == VAE_MACS
    assert profiler.measure_text_encoder_macs(SD_2_1, "a photo of a cat", "") == TEXT_MACS


def test_without_guidance_a_step_costs_half(profiler: ComputeProfiler) -> None:
    assert profiler.measure_unet_macs(SD_2_1, 512, 512, "a photo of a cat", 1.0) == UNET_MACS // 2


def test_the_summary_has_the_guides_keys_in_gigamacs(profiler: ComputeProfiler) -> None:
    summary = profiler.summarize_macs(SD_2_1, 512, 512, steps=30, prompt="a photo of a cat", guidance_scale=7.5)
    assert summary == {
        "UNet per-step (GMACs)": UNET_MACS / 1e9,
        "Text encoder once (GMACs)": TEXT_MACS / 1e9,
        "VAE decode once (GMACs)": VAE_MACS / 1e9,
        "Total 30 steps (GMACs)": TOTAL_MACS / 1e9,
    }


def test_the_dictionary_is_the_one_that_the_guides_show(profiler: ComputeProfiler) -> None:
    data = profiler.profile_pipeline(SD_2_1, (1, 3, 512, 512), 30, "my-model", guidance_scale=7.5)
    assert data.keys() >= GUIDE_KEYS
    assert data["enabled"] is True
    assert data["model_component"] == "unet"
    assert (data["total_macs"], data["total_flops"]) == (TOTAL_MACS, 2 * TOTAL_MACS)
    assert (data["macs_per_step"], data["flops_per_step"]) == (UNET_MACS, 2 * UNET_MACS)
    assert data["unet_macs_per_step"] == UNET_MACS
    assert (data["vae_macs"], data["text_encoder_macs"]) == (VAE_MACS, TEXT_MACS)
    assert (data["denoiser_macs"], data["num_executed_steps"]) == (31 * UNET_MACS, 31)
    assert (data["total_macs_str"], data["total_flops_str"]) == ("26.23 TMACs", "52.47 TFLOPs")
    assert (data["macs_per_step_str"], data["flops_per_step_str"]) == ("804.26 GMACs", "1.61 TFLOPs")
    assert (data["total_params"], data["params_str"]) == (865_910_724, "865.91M")
    assert (data["input_shape"], data["latent_shape"]) == ((1, 3, 512, 512), (1, 4, 64, 64))
    assert (data["num_inference_steps"], data["model_id"]) == (30, "my-model")


def test_a_live_pipeline_is_counted_by_the_one_engine(profiler: ComputeProfiler, small: Any) -> None:
    truth = diffprof.profile(small, height=16, width=16, num_inference_steps=2, guidance_scale=7.5)
    data = profiler.profile_pipeline(small, (1, 3, 16, 16), 2, guidance_scale=7.5)
    assert data["total_macs"] == truth.total.macs
    assert data["macs_per_step"] == truth.steps.macs == profiler.measure_unet_macs(small, 16, 16, "a", 7.5)
    assert data["text_encoder_macs"] == truth.components["text_encoder"].macs
    assert data["vae_macs"] == truth.components["vae"].macs == profiler.measure_vae_decode_macs(small, 16, 16)
    assert data["total_macs"] == data["denoiser_macs"] + data["text_encoder_macs"] + data["vae_macs"]


def test_a_batch_in_the_input_shape_is_a_batch_of_images(profiler: ComputeProfiler, small: Any) -> None:
    one, two = (profiler.profile_pipeline(small, (batch, 3, 16, 16), 2) for batch in (1, 2))
    assert two["macs_per_step"] == 2 * one["macs_per_step"]
    assert (one["latent_shape"][0], two["latent_shape"][0]) == (1, 2)


def test_all_text_encoders_and_all_their_calls_count(profiler: ComputeProfiler) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion-3"].build()
    parts = diffprof.profile(pipeline, prompt="a", negative_prompt="").components
    encoders = [parts[slot].macs for slot in ("text_encoder", "text_encoder_2", "text_encoder_3")]
    assert all(encoders)
    assert profiler.measure_text_encoder_macs(pipeline, "a", "") == sum(encoders)


def test_an_argument_that_the_pipeline_lacks_is_left_out_with_a_note(profiler: ComputeProfiler) -> None:
    pipeline = SMALL_PIPELINES["ddim"].build()
    data = profiler.profile_pipeline(pipeline, (1, 3, 16, 16), 2, guidance_scale=7.5)
    assert data["enabled"] is True
    assert "DDIMPipeline has no guidance_scale: it was left out" in data["notes"]
    assert (data["text_encoder_macs"], data["vae_macs"]) == (0, 0)


def test_a_disabled_profiler_counts_nothing_and_says_so(small: Any) -> None:
    profiler = create_profiler(enabled=False)
    for answer in (profiler.profile_pipeline(small), profiler.summarize_macs(small)):
        assert answer["enabled"] is False
        assert "disabled" in answer["reason"]
    assert profiler.measure_unet_macs(small) == 0


@pytest.mark.parametrize(
    ("pipe", "shape", "reason"),
    [
        ("no-such-model", (1, 3, 512, 512), "Unknown model"),
        (object(), (1, 3, 512, 512), ""),
        (SD_2_1, (1, 3, 511, 512), "divisible by 8"),
        (SD_2_1, (512, 512), "input_shape"),
        (SD_2_1, None, ""),
    ],
)
def test_a_failure_is_reported_and_breaks_nothing(
    pipe: Any, shape: Any, reason: str, profiler: ComputeProfiler
) -> None:
    data = profiler.profile_pipeline(pipe, shape, 2, "name")
    assert data["enabled"] is False
    assert data["reason"]
    assert reason in data["reason"]


def test_a_failed_measurement_warns_and_is_zero(profiler: ComputeProfiler) -> None:
    with pytest.warns(RuntimeWarning, match="Unknown model"):
        assert profiler.measure_unet_macs("no-such-model", 512, 512) == 0
    assert profiler.summarize_macs("no-such-model")["enabled"] is False
