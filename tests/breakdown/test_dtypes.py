"""MACs by dtype, and the peak of a mix."""

from __future__ import annotations

import pytest
import torch

import diffprof
from diffprof.breakdown.dtypes import macs_by_dtype, mixed_peak
from tests.small_pipelines import SMALL_PIPELINES


def test_the_peak_of_a_mix_is_averaged_over_time() -> None:
    """Half of the FLOPs at 100 and half at 25 take 1/200 + 1/50 for each: 40."""
    assert mixed_peak({"bfloat16": 5, "float32": 5}, {"bfloat16": 100.0, "float32": 25.0}) == pytest.approx(40)
    assert mixed_peak({"bfloat16": 5}, {"bfloat16": 100.0}) == 100


def test_a_little_of_a_dtype_without_a_peak_does_not_matter_and_much_does() -> None:
    assert mixed_peak({"bfloat16": 995, "float64": 5}, {"bfloat16": 100.0}) == pytest.approx(100)
    assert mixed_peak({"bfloat16": 50, "float64": 50}, {"bfloat16": 100.0}) is None
    assert mixed_peak({}, {"bfloat16": 100.0}) is None


def test_a_component_has_the_dtype_of_its_products_and_not_of_its_first_weight() -> None:
    """Wan keeps its first weight, a table, in float32 when the model is loaded in bfloat16."""
    small = SMALL_PIPELINES["wan-2.1"]
    pipeline = small.build()
    pipeline.transformer.to(torch.bfloat16)
    pipeline.transformer.scale_shift_table.data = pipeline.transformer.scale_shift_table.data.float()
    assert next(pipeline.transformer.parameters()).dtype == torch.float32
    profile = diffprof.profile(pipeline, **small.arguments())
    mix = macs_by_dtype(call for call in profile.calls if call.component == "transformer")
    assert profile.components["transformer"].dtype == next(iter(mix)) == "bfloat16"
    assert sum(mix.values()) == profile.components["transformer"].macs


def test_an_autoencoder_that_is_upcast_computes_in_float32() -> None:
    small = SMALL_PIPELINES["stable-diffusion-xl"]
    pipeline = small.build().to(torch.float16)
    pipeline.vae.register_to_config(force_upcast=True)
    profile = diffprof.profile(pipeline, **small.arguments())
    assert profile.components["vae"].dtype == "float32"
    assert profile.components["unet"].dtype == "float16"
    assert profile.components["vae"].weight_bytes_by_dtype.keys() == {"float16"}


def test_packed_weights_do_not_name_the_dtype_of_the_products() -> None:
    small = SMALL_PIPELINES["flux-gguf-q8"]
    profile = diffprof.profile(small.build(), **small.arguments())
    assert profile.components["transformer"].dtype == "float32"
