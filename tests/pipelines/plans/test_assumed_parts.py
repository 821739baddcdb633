"""Configurations that are assumed for models that have none."""

from __future__ import annotations

from dataclasses import replace

from diffprof.catalogue import find
from diffprof.pipelines.plans.assumed_parts import with_assumed_parts
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan, from_entry


def sdxl(missing: str) -> Blueprint:
    """SDXL of which one component has no configuration."""
    entry = find("sdxl")
    assert entry is not None
    whole = from_entry(entry)
    parts = {
        slot: replace(part, config={}, is_missing=True) if slot == missing else part
        for slot, part in whole.parts.items()
    }
    return replace(whole, parts=parts)


def test_the_configuration_is_that_of_a_known_model_whose_denoiser_takes_the_same() -> None:
    assumptions: list[str] = []
    found = with_assumed_parts(sdxl("vae"), frozenset(), assumptions).parts["vae"]
    entry = find("sdxl")
    assert entry is not None
    assert not found.is_missing and found.config == entry.components["vae"].config
    (sentence,) = assumptions
    assert sentence.startswith("vae has no configuration: that of ") and "whose denoiser takes the same" in sentence


def test_what_the_pipeline_can_do_without_is_left_as_it_is() -> None:
    plan = sdxl("vae")
    assumptions: list[str] = []
    assert with_assumed_parts(plan, frozenset({"vae"}), assumptions) == plan
    assert assumptions == []


def test_a_denoiser_that_nobody_knows_gets_encoders_of_the_width_that_it_takes() -> None:
    plan = sdxl("vae")
    unet = replace(plan.parts["unet"], config={**plan.parts["unet"].config, "in_channels": 12, "out_channels": 12})
    assumptions: list[str] = []
    found = with_assumed_parts(replace(plan, parts={**plan.parts, "unet": unet}), frozenset(), assumptions)
    assert found.parts["vae"].config == {"latent_channels": 12}
    assert assumptions == [
        "vae has no configuration: the defaults of AutoencoderKL are assumed, "
        "with latent_channels 12 as the denoiser asks"
    ]


def test_a_model_of_texts_and_images_gets_the_width_in_its_part_for_texts() -> None:
    parts = {
        "text_encoder": PartPlan("text_encoder", "transformers", "Qwen2_5_VLForConditionalGeneration", is_missing=True),
        "transformer": PartPlan(
            "transformer", "diffusers", "QwenImageTransformer2DModel", {"joint_attention_dim": 1280}
        ),
    }
    made = with_assumed_parts(Blueprint("m", "folder", "QwenImagePipeline", parts), frozenset(), [])
    config = made.parts["text_encoder"].config
    # Heads stay as wide as they usually are, and the groups that share keys divide them.
    assert config["text_config"] == {"hidden_size": 1280, "num_attention_heads": 10, "num_key_value_heads": 5}
    assert config["vision_config"] == {"out_hidden_size": 1280}
