"""What a predicted time takes for granted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.advice.assumptions import assumptions_of
from diffprof.catalogue.accelerators import Accelerator, find_accelerator
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

PROFILE = stable_diffusion(unet_calls=1)


def lines(accelerator: Accelerator | None = None, **settings: Any) -> tuple[str, ...]:
    return assumptions_of(PROFILE, [accelerator or find_accelerator("l4")], RunSettings(**settings))


def test_those_of_the_count_come_last() -> None:
    assert lines()[-2:] == PROFILE.ledger.assumptions


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"compiled": True}, "diffusers on PyTorch, compiled by torch.compile, with fused attention"),
        ({"attention": "math"}, "diffusers on PyTorch, eager, with attention that is not fused"),
        ({"offload": "sequential"}, "every layer's weights travel from ordinary memory"),
        ({"devices": 4}, "shared by 4 devices"),
        ({"without": ("text_encoder",)}, "text_encoder: not loaded and not called"),
        ({"skip_rate": 0.3}, "a cache skips 30% of the denoiser's calls"),
        ({"quantize": {"*": "torchao:int8"}}, "the linear layers of denoisers and text encoders are in torchao:int8"),
        ({"layerwise": {"unet": "float8_e4m3fn"}}, "the layers of unet are kept in float8_e4m3fn"),
    ],
)
def test_every_setting_is_said_where_it_is_used_and_nowhere_else(settings: dict[str, Any], sentence: str) -> None:
    assert any(line.startswith(sentence) or sentence in line for line in lines(**settings))
    assert not any(sentence in line for line in lines())


def test_an_accelerator_of_an_unknown_family_or_without_a_dtype_is_named() -> None:
    unknown = replace(find_accelerator("l4"), name="mystery", architecture="quantum", aliases=())
    assert any("no times of mystery or their families" in line for line in lines(unknown))
    single = replace(find_accelerator("l4"), peak_flops_per_second={"float32": 1e12})
    assert "l4 cannot compute in float16: taken at the speed of float32" in lines(single)
