"""Weights in fewer bits: what is predicted for them is what a dry run of the packed layers counts."""

from __future__ import annotations

import pytest

import diffprof
from diffprof.prediction.weights import component_weights
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from diffprof.settings.quantizations import KINDS, QUANTIZATIONS


@pytest.fixture(scope="module")
def plain() -> Profile:
    return diffprof.profile("flux.1-dev", num_inference_steps=1)


@pytest.mark.parametrize("kind", ["bitsandbytes:nf4-double", "torchao:int8", "gguf:Q4_K", "quanto:int4"])
def test_packed_weights_take_what_the_dry_run_counts(kind: str, plain: Profile) -> None:
    counted = diffprof.profile("flux.1-dev", num_inference_steps=1, quantize={"transformer": kind})
    predicted = component_weights(plain.components["transformer"], RunSettings(quantize={"transformer": kind}))
    assert predicted.total_bytes == pytest.approx(counted.components["transformer"].weight_bytes, rel=0.01)


def test_buffers_are_loaded_in_the_dtype_of_the_weights() -> None:
    transformer = diffprof.profile("sd3-medium", dtype="float16", num_inference_steps=1).components["transformer"]
    assert transformer.weight_bytes_by_dtype["float32"] == 4 * transformer.buffers
    found = component_weights(transformer, RunSettings())
    assert found.total_bytes == 2 * (transformer.parameters + transformer.buffers)


def test_every_quantization_that_can_be_named_has_memory_and_time() -> None:
    assert {f"{library}:{kind}" for library, kinds in KINDS.items() for kind in kinds} == set(QUANTIZATIONS)
    for quantization in QUANTIZATIONS.values():
        assert 2 <= quantization.bits <= 16 and quantization.passes >= 0 and quantization.source
