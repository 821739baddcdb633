"""A LoRA of any format that diffusers knows is what diffusers makes of it, from its header alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import get_peft_model_state_dict
from safetensors.torch import save_file

import diffprof
from diffprof import catalogue
from diffprof.errors import RequestError
from diffprof.pipelines.changes.lora import add_lora, with_slots
from diffprof.pipelines.loading.weights import load_pipeline
from diffprof.pipelines.opening import open_virtual
from diffprof.record.changes import Changes
from tests.cli.conftest import Run
from tests.extensive import split_cases
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES

Weights = dict[str, torch.Tensor]
CALL = {"prompt": "a cat", "num_inference_steps": 1, "height": 32, "width": 32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("stable-diffusion"))


@pytest.fixture(scope="module")
def weights() -> Weights:
    """The LoRA of a small UNet by the paths of its layers, such as ``mid_block....to_q.lora_A.weight``."""
    state: Weights = get_peft_model_state_dict(SMALL_PIPELINES["stable-diffusion-lora"].build().unet)
    return {name: weight.detach().clone() for name, weight in state.items()}


def of_kohya(weights: Weights) -> Weights:
    renamed: Weights = {}
    for name, weight in weights.items():
        layer, _, side = name.removesuffix(".weight").rpartition(".")
        flat = f"lora_unet_{layer.replace('.', '_')}"
        renamed[f"{flat}.{'lora_down' if side == 'lora_A' else 'lora_up'}.weight"] = weight
        renamed[f"{flat}.alpha"] = torch.tensor(4.0)
    return renamed


FORMATS: dict[str, Callable[[Weights], Weights]] = {
    "diffusers": lambda weights: {f"unet.{name}": weight for name, weight in weights.items()},
    "peft": lambda weights: {f"base_model.model.{name}": weight for name, weight in weights.items()},
    "ComfyUI": lambda weights: {f"diffusion_model.{name}": weight for name, weight in weights.items()},
    "no prefix": dict,
    "kohya": of_kohya,
    "the name of an adapter": lambda weights: {
        name.replace(".weight", ".default.weight"): weight for name, weight in weights.items()
    },
    "scales": lambda weights: {
        **{
            name.replace("lora_A", "lora_down").replace("lora_B", "lora_up"): weight for name, weight in weights.items()
        },
        **{name.replace("lora_A.weight", "alpha"): torch.tensor(2.0) for name in weights if "lora_A" in name},
    },
}


@pytest.mark.parametrize("form", split_cases(FORMATS, always=("diffusers", "kohya", "scales")))
def test_every_format_adds_what_it_adds_to_a_live_pipeline(
    form: str, weights: Weights, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "lora.safetensors"
    save_file(FORMATS[form](weights), file)
    counted = diffprof.profile(folder, lora=str(file), dtype="float32", **CALL)
    real = diffprof.profile(load_pipeline(folder, lora=str(file), device="cpu").pipeline, **CALL)
    plain = diffprof.profile(folder, **CALL)
    added = sum(weight.numel() for weight in weights.values())
    assert counted.components["unet"].parameters == plain.components["unet"].parameters + added
    assert counted.components["unet"].parameters == real.components["unet"].parameters
    assert counted.components["unet"].work.macs == real.components["unet"].work.macs > plain.components["unet"].macs


WIDTH, RANK = 3072, 4
ORIGINAL_FLUX = {"double_blocks.0.img_attn.qkv": (WIDTH, 3 * WIDTH), "single_blocks.0.linear1": (WIDTH, 7 * WIDTH)}
"""Layers of FLUX by their original paths, with inputs and outputs."""


def of_flux(name_of_layer: Callable[[str], str], down: str = "lora_A", up: str = "lora_B") -> Weights:
    tensors: Weights = {}
    for path, (inputs, outputs) in ORIGINAL_FLUX.items():
        tensors[f"{name_of_layer(path)}.{down}.weight"] = torch.zeros(RANK, inputs)
        tensors[f"{name_of_layer(path)}.{up}.weight"] = torch.zeros(outputs, RANK)
    return tensors


FLUX_FORMATS: dict[str, Weights] = {
    "kohya": of_flux(lambda path: f"lora_unet_{path.replace('.', '_')}", "lora_down", "lora_up")
    | {f"lora_unet_{path.replace('.', '_')}.alpha": torch.tensor(4.0) for path in ORIGINAL_FLUX},
    "ComfyUI": of_flux(lambda path: f"diffusion_model.{path}"),
    "ComfyUI with scales": of_flux(lambda path: f"diffusion_model.{path}", "lora_down", "lora_up")
    | {f"diffusion_model.{path}.alpha": torch.tensor(2.0) for path in ORIGINAL_FLUX},
    "PEFT": of_flux(lambda path: f"base_model.model.{path}"),
    "no prefix": of_flux(str),
}


@pytest.mark.parametrize("form", FLUX_FORMATS)
def test_fused_projections_of_flux_are_split(form: str, tmp_path: Path) -> None:
    """Whether the parts share rows depends on values that no header has."""
    file = tmp_path / "flux.safetensors"
    save_file(FLUX_FORMATS[form], file)
    opened = open_virtual("flux.1-dev", None, None, changes=Changes(lora=(str(file),)))
    plain = catalogue.find("flux.1-dev").components["transformer"].parameters
    added = sum(weight.numel() for weight in opened.pipeline.transformer.parameters()) - plain
    assert added == RANK * (3 * WIDTH + 3 * WIDTH) + RANK * (4 * WIDTH + 7 * WIDTH)
    assert any("its fused projections are dense is assumed" in sentence for sentence in opened.assumptions)


def test_scales_are_multiplied_into_the_matrix_behind_them() -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    layer = next(path for path, _ in pipeline.unet.named_modules() if path.endswith("attn1.to_q"))
    tensors = {
        f"{layer}.lora_down.weight": torch.ones(4, 8),
        f"{layer}.lora_up.weight": torch.ones(8, 4),
        f"{layer}.alpha": torch.tensor(2.0),
    }
    found = with_slots(pipeline, tensors)
    assert list(found) == [f"unet.{layer}.lora_A.weight", f"unet.{layer}.lora_B.weight"]
    assert [tensor.mean().item() for tensor in found.values()] == [1, 0.5]


def test_a_lora_that_cannot_be_loaded_is_one_sentence(folder: Path, run: Run, tmp_path: Path) -> None:
    save_file({"lora_unet_nothing.lora_down.weight": torch.zeros(4, 4)}, tmp_path / "other.safetensors")
    ended = run("profile", str(folder), "--lora", str(tmp_path / "other.safetensors"))
    assert (ended.code, ended.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(("kind", "names"), [("LoHa", ("hada_w1_a", "hada_w1_b")), ("LoKr", ("lokr_w1", "lokr_w2"))])
def test_other_kinds_of_adapters_are_refused_by_name(
    kind: str, names: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.safetensors"
    save_file({f"lora_unet_mid_block_attentions_0_proj_in.{name}": torch.zeros(4, 4) for name in names}, file)
    with pytest.raises(RequestError, match=f"is a {kind}, which diffusers cannot load; extract a LoRA from it"):
        diffprof.profile(folder, lora=str(file), **CALL)


def test_a_sign_that_is_no_number_is_no_rank() -> None:
    with pytest.raises(RequestError):
        add_lora(object(), "²", torch.float32, "a")
