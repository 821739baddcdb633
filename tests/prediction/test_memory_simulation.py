"""Predicted memory of models in full size, against published peaks, and under each way to offload."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from diffprof.counting.profile import profile_model
from diffprof.counting.request_profile import count_request
from diffprof.errors import FileFormatError
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.fit import StageMemory
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

GIB = 1024**3
HOPPER = DeviceMemory("hopper")


@cache
def counted(model: str, dtype: str | None = None, **arguments: Any) -> Profile:
    return profile_model(Request.create(model, {"num_inference_steps": 2, **arguments}, dtype=dtype))


def peak(profile: Profile, **settings: Any) -> StageMemory:
    stages = predict_memory(profile, RunSettings(**settings), HOPPER)
    return max(stages, key=lambda stage: stage.allocated_bytes)


def test_flux_peaks_in_the_upsampling_of_its_autoencoder() -> None:
    stage = peak(counted("flux.1-dev"))
    assert (stage.stage, stage.component, stage.module) == ("decode", "vae", "decoder.up_blocks.2.upsamplers.0.conv")
    assert stage.allocated_bytes / GIB == pytest.approx(33.851, rel=0.005)  # published
    assert stage.reserved_bytes / GIB == pytest.approx(36.166, rel=0.01)  # published


def test_a_text_encoder_that_is_called_again_has_what_it_keeps_of_the_first_call_beside_it() -> None:
    kolors = count_request(Request.create("kolors"), use_cache=False)
    for device in (HOPPER, DeviceMemory("ampere")):
        stages = predict_memory(kolors, RunSettings(), device)
        assert all(stage.allocated_bytes <= stage.reserved_bytes for stage in stages)


def test_the_parts_of_a_peak_add_up_to_it() -> None:
    stage = peak(counted("flux.1-dev"))
    parts = sum(stage.weights.values()) + stage.activation_bytes + stage.kept_bytes + stage.workspace_bytes
    assert parts == pytest.approx(stage.allocated_bytes, rel=0.002)  # but for rounding and cuBLAS's workspace


@pytest.mark.parametrize(
    ("quantize", "published"),
    [("bitsandbytes:nf4", 12.584), ("bitsandbytes:int8", 19.273), ("torchao:int8", 17.02), ("torchao:int4", 10.635)],
)
def test_quantized_weights_take_what_was_published(quantize: str, published: float) -> None:
    both = {"transformer": quantize, "text_encoder_2": quantize}
    load, *_ = predict_memory(counted("flux.1-dev"), RunSettings(quantize=both), HOPPER)
    assert load.allocated_bytes / GIB == pytest.approx(published, rel=0.03)


def test_layers_that_are_cast_one_by_one_take_what_was_published() -> None:
    load, *_ = predict_memory(counted("flux.1-dev"), RunSettings(layerwise={"transformer": "float8_e4m3fn"}), HOPPER)
    assert load.allocated_bytes / GIB == pytest.approx(23.682, rel=0.02)


def test_each_way_to_offload_needs_less_than_the_one_before() -> None:
    profile = counted("flux.1-dev")
    needed = [peak(profile, offload=way).allocated_bytes for way in ("none", "model", "group", "group-leaf")]
    assert needed == sorted(needed, reverse=True)
    assert needed[1] / GIB == pytest.approx(22.64, rel=0.01)  # published


def test_model_offload_keeps_one_component_of_the_order_on_the_device() -> None:
    stages = predict_memory(counted("flux.1-dev"), RunSettings(offload="model"), HOPPER)
    by_stage = {stage.stage: set(stage.weights) for stage in stages}
    assert by_stage["denoise"] == {"transformer"}
    assert by_stage["decode"] == {"vae"}


def test_streams_and_larger_groups_keep_more_blocks_on_the_device() -> None:
    def denoise(**settings: Any) -> int:
        stages = predict_memory(counted("flux.1-dev"), RunSettings(offload="group", **settings), HOPPER)
        return next(stage.allocated_bytes for stage in stages if stage.stage == "denoise")

    one, ahead, four = denoise(use_stream=False), denoise(), denoise(use_stream=False, blocks_per_group=4)
    assert one < ahead < four


def test_dropped_text_encoders_leave_the_device_before_denoising() -> None:
    stages = predict_memory(counted("flux.1-dev"), RunSettings(drop_text_encoders=True), HOPPER)
    assert {stage.stage: set(stage.weights) for stage in stages}["denoise"] == {"transformer", "vae"}


def test_a_component_that_is_not_loaded_takes_nothing() -> None:
    without = ("text_encoder_2",)
    stages = predict_memory(counted("flux.1-dev"), RunSettings(without=without), HOPPER)
    assert all(set(stage.weights) == {"transformer", "text_encoder", "vae"} for stage in stages)


def test_devices_share_the_activations_of_the_denoiser() -> None:
    def activations(devices: int) -> int:
        stages = predict_memory(counted("flux.1-dev"), RunSettings(devices=devices), HOPPER)
        return next(stage.activation_bytes for stage in stages if stage.stage == "denoise")

    assert activations(4) == pytest.approx(activations(1) / 4, rel=0.01)


def test_attention_that_is_not_fused_keeps_its_scores() -> None:
    profile = counted("sd-1.5", "float16")

    def denoise(attention: str) -> int:
        stages = predict_memory(profile, RunSettings(attention=attention), HOPPER)
        return next(stage.allocated_bytes for stage in stages if stage.stage == "denoise")

    scores = 2 * 8 * 4096 * 4096  # batch, heads, queries, keys
    # Numbers and their softmax in float16, as `set_default_attn_processor` has them.
    assert denoise("math") - denoise("sdpa") == pytest.approx(4 * scores, rel=0.2)


def test_sequential_offload_leaves_buffers_on_the_device() -> None:
    profile = counted("sd3-medium", "float16", height=512, width=512)
    positions = 2 * profile.components["transformer"].buffers
    stages = {stage.stage: stage for stage in predict_memory(profile, RunSettings(offload="sequential"), HOPPER)}
    assert stages["decode"].weights["transformer"] == positions
    assert stages["load"].allocated_bytes >= stages["decode"].weights["transformer"]


def test_decoding_of_qwen_image_grows_by_the_published_bytes_for_each_pixel() -> None:
    stages = {
        side: next(
            stage
            for stage in predict_memory(
                counted("qwen-image", "float16", height=side, width=side), RunSettings(offload="model"), HOPPER
            )
            if stage.stage == "decode"
        )
        for side in (512, 1536)
    }
    pixels = 1536**2 - 512**2
    allocated = (stages[1536].allocated_bytes - stages[512].allocated_bytes) / pixels
    reserved = (stages[1536].reserved_bytes - stages[512].reserved_bytes) / pixels
    assert allocated == pytest.approx(4227, rel=0.05)
    assert reserved == pytest.approx(5313, rel=0.05)


def test_a_profile_whose_allocations_name_more_calls_than_it_has_is_refused() -> None:
    profile = count_request(Request.create("sd-2.1-base", {"num_inference_steps": 4}))
    damaged = replace(profile, calls=profile.calls[2:])
    with pytest.raises(FileFormatError, match="name more calls than it has: count the model again"):
        predict_memory(damaged, RunSettings(), DeviceMemory())
