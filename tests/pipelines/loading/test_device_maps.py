"""Components are spread over devices as diffusers would spread them, or as the user says."""

from __future__ import annotations

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.loading.device_maps import balanced_devices, check_device_map, spread_components
from diffprof.pipelines.loading.placement import CPU, Target
from tests.small_pipelines import SMALL_PIPELINES

BALANCED = {"*": "balanced"}


def test_balanced_deals_the_components_out_the_largest_first() -> None:
    sizes = {"vae": 1, "unet": 10, "text_encoder": 3}
    assert balanced_devices(sizes, {0: 20, 1: 30}, "cuda") == {
        "unet": "cuda:1",
        "text_encoder": "cuda:0",
        "vae": "cuda:0",
    }
    assert balanced_devices({"unet": 10}, {0: 5}, "cuda") == {"unet": "cpu"}


def test_components_follow_the_map_and_compute_the_same() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    plain, spread = small.build(), small.build()
    spread_components(spread, {"unet": "cpu", "vae": "cpu"}, CPU)
    assert spread.hf_device_map["unet"] == spread.hf_device_map["text_encoder"] == "cpu"
    assert hasattr(spread.unet, "_hf_hook"), "its inputs follow it"
    images = [
        pipeline(**{**small.arguments(), "output_type": "pt", "generator": torch.Generator().manual_seed(1)}).images
        for pipeline in (plain, spread)
    ]
    assert torch.equal(*images)


def test_a_component_that_is_not_there_is_refused() -> None:
    with pytest.raises(RequestError, match="has no component transformer to place; it has vae, text_encoder, unet"):
        spread_components(SMALL_PIPELINES["stable-diffusion"].build(), {"transformer": "cpu"}, CPU)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="shows what a machine without an accelerator says")
def test_what_this_machine_does_not_have_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(RequestError, match="balanced needs accelerators to distribute components over"):
        check_device_map(BALANCED, Target(CPU))
    with pytest.raises(RequestError, match="no cuda device"):
        check_device_map({"vae": "cuda:1"}, Target(CPU))
    with pytest.raises(RequestError, match="unknown device 'gpu'"):
        check_device_map({"vae": "gpu"}, Target(CPU))
    with pytest.raises(RequestError, match="both decide where the weights are"):
        check_device_map({"vae": "cpu"}, Target(CPU, "group"))
    check_device_map({}, Target(CPU))
