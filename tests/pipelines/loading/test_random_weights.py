"""Random weights: the tables that a model computes for itself are right, and nothing else depends on chance."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from diffprof.pipelines.components import components_of
from diffprof.pipelines.loading.weights import load_pipeline
from tests.pipelines.folders import saved
from tests.small_pipelines import SMALL_PIPELINES

# Sinusoidal and rotary tables, relative positions, running statistics.
WITH_TABLES = ("pixart-alpha", "stable-diffusion-3", "lumina2", "qwen-image", "cogvideox", "flux2-klein", "audioldm2")


@pytest.mark.parametrize("name", WITH_TABLES)
def test_buffers_hold_what_the_models_own_code_computes(name: str, tmp_path: Path) -> None:
    original = SMALL_PIPELINES[name].build()
    loaded = load_pipeline(saved(name, tmp_path / "model"), random_weights=True, dtype="float32")
    compared = 0
    for slot, part in components_of(original).items():
        own = dict(components_of(loaded.pipeline)[slot].named_buffers())
        for path, buffer in part.named_buffers():
            assert torch.equal(own.pop(path), buffer), (slot, path)
            compared += 1
        assert not own
    assert compared


def test_shared_weights_stay_shared(tmp_path: Path) -> None:
    original = SMALL_PIPELINES["stable-diffusion-3"].build()
    loaded = load_pipeline(saved("stable-diffusion-3", tmp_path / "model"), random_weights=True)
    encoder = loaded.pipeline.text_encoder_3
    assert original.text_encoder_3.shared.weight is original.text_encoder_3.encoder.embed_tokens.weight
    assert encoder.shared.weight is encoder.encoder.embed_tokens.weight


def test_weights_are_the_same_each_time_and_differ_from_each_other(tmp_path: Path) -> None:
    folder = saved("stable-diffusion", tmp_path / "model")
    first, again = (load_pipeline(folder, random_weights=True).pipeline.unet.state_dict() for _ in range(2))
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())
    matrices = [weight for weight in first.values() if weight.dim() > 1]
    assert all(weight.unique().numel() > weight.numel() // 2 for weight in matrices)
    assert all(0.001 < float(weight.std()) < 0.05 for weight in matrices)


def test_biases_are_zeros_and_scales_are_ones(tmp_path: Path) -> None:
    unet = load_pipeline(saved("stable-diffusion", tmp_path / "model"), random_weights=True).pipeline.unet
    assert not unet.conv_norm_out.bias.any()
    assert bool((unet.conv_norm_out.weight == 1).all())


def test_what_is_kept_in_full_precision_is(tmp_path: Path) -> None:
    loaded = load_pipeline(saved("stable-diffusion-3", tmp_path / "model"), random_weights=True, dtype="float16")
    dtypes = {path: weight.dtype for path, weight in loaded.pipeline.text_encoder_3.named_parameters()}
    kept = {path for path, dtype in dtypes.items() if dtype == torch.float32}
    assert kept == {path for path in dtypes if path.endswith("wo.weight")}


def test_the_default_dtype_of_torch_is_as_before(tmp_path: Path) -> None:
    load_pipeline(saved("stable-diffusion", tmp_path / "model"), random_weights=True, dtype="bfloat16")
    assert torch.get_default_dtype() == torch.float32
