"""Changes that are requested of a model by name: what they cost, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.components import components_of
from diffprof.pipelines.opening import open_virtual
from diffprof.record.changes import Changes
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES
from tests.small_pipelines.controlnets import controlnet_model
from tests.small_pipelines.small_pipeline import SmallPipeline

FIGURES = ("parameters", "weight_bytes", "macs", "calls")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("stable-diffusion"))


@pytest.fixture(scope="module")
def plain(folder: Path) -> diffprof.Profile:
    return requested(folder)


def requested(folder: Path, name: str = "stable-diffusion", **changes: Any) -> diffprof.Profile:
    return diffprof.profile(folder, dtype="float32", **SMALL_PIPELINES[name].arguments() | changes)


def check_like(small: SmallPipeline, done: diffprof.Profile, *slots: str) -> None:
    """Components have the figures of the live pipeline that was changed for real."""
    live = diffprof.profile(small.build(), **small.arguments())
    for slot in slots:
        for figure in FIGURES:
            assert getattr(done.components[slot], figure) == getattr(live.components[slot], figure), (slot, figure)


def test_denoisers_and_text_encoders_are_quantized_where_none_is_named(folder: Path, plain: diffprof.Profile) -> None:
    done = requested(folder, quantize="quanto:int8")
    assert done.request.changes.quantize == {"text_encoder": "quanto:int8", "unet": "quanto:int8"}
    assert done.total.parameters == plain.total.parameters
    assert done.components["vae"] == plain.components["vae"]
    assert "unet is quantized to quanto:int8: 50 linear layers are packed" in done.ledger.assumptions


def test_only_the_denoiser_is_gguf_where_none_is_named(folder: Path) -> None:
    assert requested(folder, quantize="gguf:Q8_0").request.changes.quantize == {"unet": "gguf:Q8_0"}


def test_a_component_can_be_left_out(folder: Path) -> None:
    done = requested(folder, quantize={"*": "nf4", "text_encoder": "none"})
    assert done.request.changes.quantize == {"unet": "bitsandbytes:nf4"}


def test_a_changed_model_is_counted_again_from_its_own_record(folder: Path) -> None:
    done = requested(folder, quantize={"unet": "nf4"}, lora=4)
    again = done.request.as_request(folder)
    assert again.changes == done.request.changes


def test_a_lora_of_a_rank_is_what_peft_adds_for_real(folder: Path) -> None:
    done = requested(folder, lora=4)
    check_like(SMALL_PIPELINES["stable-diffusion-lora"], done, "unet", "vae", "text_encoder")
    assert done.request.changes.lora == ("4",)


def test_a_lora_of_a_file_is_what_diffusers_loads(folder: Path, tmp_path: Path) -> None:
    """Written by peft and diffusers themselves; only the header is read."""
    from peft import get_peft_model_state_dict

    source = SMALL_PIPELINES["stable-diffusion-lora"].build()
    type(source).save_lora_weights(tmp_path, unet_lora_layers=get_peft_model_state_dict(source.unet))
    done = requested(folder, lora=str(tmp_path))
    check_like(SMALL_PIPELINES["stable-diffusion-lora"], done, "unet", "vae", "text_encoder")


def test_a_controlnet_has_the_configuration_of_its_folder(folder: Path, tmp_path: Path) -> None:
    controlnet_model().save_config(tmp_path)
    small = SMALL_PIPELINES["stable-diffusion-controlnet"]
    done = requested(folder, "stable-diffusion-controlnet", controlnet=str(tmp_path))
    assert done.request.pipeline == "StableDiffusionControlNetPipeline"
    check_like(small, done, "controlnet", "unet", "vae", "text_encoder")


@pytest.mark.parametrize(
    ("model", "parameters"), [("sd-2.1-base", 364_228_240), ("sdxl-base", 1_251_014_160), ("flux.1-dev", 3_301_925_888)]
)
def test_the_usual_controlnet_has_the_size_of_published_ones(model: str, parameters: int) -> None:
    opened = open_virtual(model, None, None, changes=Changes.create(controlnet="usual"))
    net = components_of(opened.pipeline)["controlnet"]
    assert sum(weight.numel() for weight in net.parameters()) == parameters


@pytest.mark.parametrize(("kind", "tokens"), [("base", 4), ("plus", 16)])
def test_an_ip_adapter_adds_its_encoder_and_attention_to_the_image(folder: Path, kind: str, tokens: int) -> None:
    done = requested(folder, ip_adapter=kind)
    assert done.components["image_encoder"].parameters == 632_076_800
    call = next(call for call in done.calls if call.component == "unet")
    assert any(site.key_tokens == tokens for site in call.cost.attention)


def test_attention_by_another_backend_has_the_same_products(folder: Path, plain: diffprof.Profile) -> None:
    done = requested(folder, attention="flash")
    assert done.total.macs == plain.total.macs
    assert done.request.changes.attention == "flash"


def test_a_cache_that_decides_by_values_gives_a_range(tmp_path: Path) -> None:
    """The most is what the model costs without it; the least skips all but the first block after the first step."""
    flux = saved_with_weights("flux", tmp_path)
    without = requested(flux, "flux", num_inference_steps=4)
    done = requested(flux, "flux", num_inference_steps=4, cache="first-block:0.1")
    assert done.macs_range is not None
    assert done.macs_range.most == done.total.macs == without.total.macs
    assert done.macs_range.least < done.macs_range.most
    assert done.request.changes.cache == "first-block:0.1"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"quantize": {"nosuch": "nf4"}},
            "StableDiffusionPipeline has no component 'nosuch'; it has vae",
        ),
        ({"quantize": {"unet": "int4"}}, "unet (UNet2DConditionModel) cannot be quantized to torchao:int4: its linear"),
        (
            {"layerwise": {"text_encoder": "fp8"}},
            "text_encoder cannot be stored layerwise: CLIPTextModel is not a",
        ),
        ({"attention": "flsh"}, "unknown attention backend 'flsh'; did you mean flash"),
        ({"controlnet": "nosuch-model-at-all"}, ""),
        ({"ip_adapter": "huge"}, "unknown IP-Adapter 'huge'; there are base and plus"),
        ({"lora": "nosuch.safetensors"}, "--lora takes a rank or a .safetensors file, and there is no file nosuch"),
        ({"lora": "weights.bin"}, "weights.bin can run code when it is read; convert it to safetensors"),
        ({"lora": 100_000}, "the rank of a LoRA must be a whole number from 1 to 4,096, not 100000"),
        ({"cache": "first-block:0.1"}, "StableDiffusionPipeline cannot use a cache: diffusers has none for its UNet2D"),
    ],
)
def test_what_the_model_cannot_take_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError) as refusal:
        requested(folder, **changes)
    assert str(refusal.value).startswith(sentence)


def test_a_lora_for_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    save_file({f"transformer.x.lora_{side}.weight": torch.zeros(4, 4) for side in "AB"}, other)
    with pytest.raises(RequestError, match=r"other.safetensors is not a LoRA for StableDiffusionPipeline"):
        requested(folder, lora=str(other))


def test_a_lora_of_other_sizes_is_refused(folder: Path, tmp_path: Path) -> None:
    from peft import get_peft_model_state_dict

    source = SMALL_PIPELINES["stable-diffusion-lora"].build()
    wider = {f"unet.{name}": torch.zeros(*weight.shape[:-1], 999) if "lora_A" in name else weight
             for name, weight in get_peft_model_state_dict(source.unet).items()}  # fmt: skip
    file = tmp_path / "wider.safetensors"
    save_file(wider, file)
    with pytest.raises(RequestError, match=r"is not a LoRA for StableDiffusionPipeline: size mismatch"):
        requested(folder, lora=str(file))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"_class_name": "SD3ControlNetModel", "num_layers": 1},
            "is a SD3ControlNetModel, which is not a ControlNet for a",
        ),
        ({"_class_name": "ControlNetModel", "cross_attention_dim": 48}, "its cross_attention_dim is 48 and not 32"),
    ],
)
def test_a_controlnet_for_another_model_is_refused(
    config: dict[str, Any], message: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(RequestError, match=message):
        requested(folder, controlnet=str(tmp_path))


def test_a_file_that_is_no_safetensors_file_is_refused(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"\xff" * 100)
    with pytest.raises(RequestError, match=r"broken.safetensors cannot be read as a safetensors file"):
        requested(folder, lora=str(broken))


def test_a_live_pipeline_is_changed_by_its_owner() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    with pytest.raises(RequestError, match="quantize is for models opened by name"):
        diffprof.profile(small.build(), quantize="nf4", **small.arguments())
