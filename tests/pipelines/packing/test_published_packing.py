"""A folder that is published quantized has the bytes of its packing, also without weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.pipelines.packing.published_packing import published_packing
from tests.pipelines.folders import edit, saved

ARGUMENTS: dict[str, Any] = {"prompt": "a cat", "num_inference_steps": 1, "height": 16, "width": 16}

CONFIGURATIONS: dict[str | None, dict[str, Any]] = {
    "bitsandbytes:nf4": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    "bitsandbytes:nf4-double": {
        "load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True,
    },
    "bitsandbytes:fp4": {"quant_method": "bitsandbytes_4bit", "load_in_4bit": True},
    "bitsandbytes:int8": {"quant_method": "bitsandbytes_8bit", "load_in_8bit": True, "load_in_4bit": False},
    "torchao:int8": {"quant_method": "torchao", "quant_type": "int8wo"},
    "torchao:fp8": {"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}},
    "quanto:fp8": {"quant_method": "quanto", "weights_dtype": "float8"},
    None: {"quant_method": "gptq", "bits": 4},
}  # fmt: skip


@pytest.mark.parametrize("kind", CONFIGURATIONS, ids=str)
def test_a_configuration_says_how_its_model_is_packed(kind: str | None) -> None:
    assert published_packing({"quantization_config": CONFIGURATIONS[kind]}) == kind


def test_a_model_without_such_a_configuration_is_not_packed() -> None:
    assert published_packing({}) is None
    assert published_packing({"quantization_config": ["nf4"]}) is None


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("stable-diffusion", tmp_path_factory.mktemp("packed") / "model")


def profile_of(folder: Path, quantization: dict[str, Any] | None, **options: Any) -> diffprof.Profile:
    edit(folder / "unet" / "config.json", lambda config: config.update(quantization_config=quantization))
    return diffprof.profile(folder, use_cache=False, **ARGUMENTS, **options)


def test_a_published_packing_equals_the_requested_one(plain: Path) -> None:
    published = profile_of(plain, CONFIGURATIONS["torchao:int8"])
    requested = profile_of(plain, None, quantize={"unet": "torchao:int8"})
    assert published.components["unet"].weight_bytes_by_dtype == requested.components["unet"].weight_bytes_by_dtype
    assert published.total.work == requested.total.work
    assert published.components["unet"].peak_live_bytes == requested.components["unet"].peak_live_bytes


def test_modules_that_the_configuration_leaves_out_stay_as_they_are(plain: Path) -> None:
    all_packed = profile_of(plain, CONFIGURATIONS["bitsandbytes:nf4"])
    some = profile_of(plain, {**CONFIGURATIONS["bitsandbytes:nf4"], "llm_int8_skip_modules": ["time_embedding"]})
    packed, left = (done.components["unet"].weight_bytes_by_dtype["nf4"] for done in (all_packed, some))
    assert left < packed


def test_a_packing_that_is_not_known_is_said(plain: Path) -> None:
    done = profile_of(plain, CONFIGURATIONS[None])
    assert [sentence for sentence in done.ledger.assumptions if "in a way that diffprof does not know" in sentence]
    assert set(done.components["unet"].weight_bytes_by_dtype) == {"float32"}


def test_what_is_packed_already_cannot_be_packed_again(plain: Path) -> None:
    with pytest.raises(diffprof.DiffprofError, match=r"unet is packed already \(nf4\)"):
        profile_of(plain, CONFIGURATIONS["bitsandbytes:nf4"], quantize={"unet": "int8"})
