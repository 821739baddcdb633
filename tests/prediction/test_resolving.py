"""Settings are brought down to the components of a pipeline, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.prediction.resolving import resolve_settings
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
        ({"without": ("vae",)}, "The pipeline cannot do without 'vae'; it can do without text_encoder."),
        ({"without": ("image_encoder",)}, "The pipeline has no component 'image_encoder'"),
        ({"without": ("text_encoder",)}, "Without text_encoder nothing encodes the prompt"),
        ({"without": ("text_encoder",), "quantize": {"text_encoder": "torchao:int8"}}, "either quantized or left out"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        resolved(**settings)
