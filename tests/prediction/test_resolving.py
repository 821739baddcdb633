"""Settings are brought down to the components of a pipeline, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.prediction.resolving import CANNOT_BE_GROUPED, resolve_settings
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion


def resolved(**settings: Any) -> RunSettings:
    return resolve_settings(stable_diffusion(unet_calls=1), RunSettings(**settings))


def test_every_component_means_denoisers_and_text_encoders() -> None:
    both = {"text_encoder": "bitsandbytes:nf4", "unet": "bitsandbytes:nf4"}
    assert resolved(quantize={"*": "bitsandbytes:nf4"}).quantize == both


def test_gguf_and_casting_mean_the_denoiser_alone() -> None:
    assert resolved(quantize={"*": "gguf:Q4_K"}).quantize == {"unet": "gguf:Q4_K"}
    assert resolved(layerwise={"*": "float8_e4m3fn"}).layerwise == {"unet": "float8_e4m3fn"}


def test_a_named_component_has_its_own_way() -> None:
    quantize = {"*": "bitsandbytes:nf4", "unet": "torchao:int8", "text_encoder": ""}
    assert resolved(quantize=quantize).quantize == {"unet": "torchao:int8"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"attention": "flash"}, "Unknown attention 'flash'; use sdpa or math."),
        ({"devices": 0}, "must be 1 or more"),
        ({"blocks_per_group": 0}, "must be 1 or more"),
        ({"use_stream": False}, "Only group offload moves weights in a stream"),
        ({"offload": "group-leaf", "blocks_per_group": 2}, "Only --offload group moves several blocks"),
        ({"quantize": {"text_encoder": "gguf:Q4_K"}}, "text_encoder cannot be quantized to gguf:Q4_K"),
        ({"quantize": {"unet": "torchao:int8"}, "layerwise": {"unet": "float8_e4m3fn"}}, "unet is either quantized or"),
        ({"without": ("vae",)}, "The pipeline cannot do without 'vae'; it needs all that it has."),
        ({"without": ("image_encoder",)}, "The pipeline has no component 'image_encoder'"),
        ({"without": ("text_encoder",)}, "The pipeline cannot do without 'text_encoder'"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        resolved(**settings)


def with_components(pipeline: str, **roles: tuple[str, str]) -> Profile:
    """A profile of a pipeline with these components: their class and role by slot."""
    profile = stable_diffusion(unet_calls=1)
    part = profile.components["unet"]
    parts = {slot: replace(part, slot=slot, class_name=name, role=role) for slot, (name, role) in roles.items()}
    return replace(profile, components=parts, request=replace(profile.request, pipeline=pipeline))


def test_the_third_text_encoder_of_stable_diffusion_3_may_be_left_out() -> None:
    third = {"text_encoder_3": ("T5EncoderModel", "text_encoder"), "text_encoder": ("CLIPTextModel", "text_encoder")}
    left_out = RunSettings(without=("text_encoder_3",))
    assert resolve_settings(with_components("StableDiffusion3Pipeline", **third), left_out) == left_out
    with pytest.raises(RequestError, match="cannot do without 'text_encoder_3'"):
        resolve_settings(with_components("HiDreamImagePipeline", **third), left_out)
    both = RunSettings(without=("text_encoder_3",), quantize={"text_encoder_3": "torchao:int8"})
    with pytest.raises(RequestError, match="either quantized or left out"):
        resolve_settings(with_components("StableDiffusion3Pipeline", **third), both)


def test_only_text_encoders_that_are_there_can_be_dropped() -> None:
    unconditional = with_components("DDPMPipeline", unet=("UNet2DModel", "denoiser"))
    with pytest.raises(RequestError, match="has no text encoders to drop"):
        resolve_settings(unconditional, RunSettings(drop_text_encoders=True))


@pytest.mark.parametrize("offload", ["group", "group-leaf"])
def test_group_offload_is_refused_where_diffusers_refuses_it(offload: str) -> None:
    dit = with_components("DiTPipeline", transformer=("DiTTransformer2DModel", "denoiser"))
    with pytest.raises(RequestError, match="no group offload for DiTTransformer2DModel; use model or sequential"):
        resolve_settings(dit, RunSettings(offload=offload))
    assert resolve_settings(dit, RunSettings(offload="model")).offload == "model"


def test_the_classes_without_group_offload_are_those_of_diffusers() -> None:
    import diffusers

    for name in CANNOT_BE_GROUPED:
        assert getattr(diffusers, name)._supports_group_offloading is False
    for name in ("FluxTransformer2DModel", "UNet2DConditionModel", "AutoencoderKL", "WanTransformer3DModel"):
        assert getattr(diffusers, name)._supports_group_offloading is True
