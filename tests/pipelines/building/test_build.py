"""A pipeline is built from its configuration on virtual weights, or refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.building import build as building
from diffprof.pipelines.plans.folder import from_folder
from tests.cli.conftest import Run
from tests.pipelines.folders import edit
from tests.pipelines.refusals import Damage, assert_one_sentence, change_config, change_index, write_file

UNBUILDABLE: dict[str, tuple[Damage, str]] = {
    "a class that does not exist": (change_index(unet=["diffusers", "UNet9D"]), "has no class UNet9D"),
    "a transformers class that does not exist": (
        change_index(text_encoder=["transformers", "Nope"]),
        "has no class Nope",
    ),
    "a value of a wrong type": (change_config("unet", block_out_channels="many"), "cannot be built"),
    "a value that cannot be": (change_config("unet", down_block_types=["Nonsense", "DownBlock2D"]), "cannot be built"),
    "a text encoder that cannot be": (change_config("text_encoder", hidden_size=-1), "cannot be built"),
    "a scheduler that cannot be": (
        lambda model: edit(model / "scheduler" / "scheduler_config.json", lambda c: c.update(beta_schedule="x")),
        "cannot be built",
    ),
    "a broken tokenizer": (write_file("tokenizer/tokenizer.json", "{"), "tokenizer files"),
}


@pytest.mark.parametrize(("damage", "words"), UNBUILDABLE.values(), ids=UNBUILDABLE.keys())
def test_a_component_that_cannot_be_built_is_rejected_with_the_reason(
    damage: Damage, words: str, model: Path, run: Run
) -> None:
    damage(model)
    with pytest.raises(RequestError) as refusal:
        diffprof.profile(model)
    assert words in str(refusal.value)
    ended = run("profile", str(model))
    assert (ended.code, ended.out) == (2, "")
    assert_one_sentence(ended.err, words)


def test_a_config_with_a_million_layers_is_rejected_before_they_are_built(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "MAX_MODULES", 2_000)
    change_config("unet", layers_per_block=10**6)(model)
    with pytest.raises(RequestError, match="more than 2,000 modules"):
        diffprof.profile(model)


def test_a_virtual_pipeline_has_every_weight_and_takes_no_memory_for_it(model: Path) -> None:
    pipeline, assumptions = building.build(from_folder(model, "small"), torch.bfloat16)
    assert assumptions == ()
    # 4 channels in, 8 out, a kernel of 3 x 3 and one bias for each channel.
    weight, bias = pipeline.unet.conv_in.weight, pipeline.unet.conv_in.bias
    assert (tuple(weight.shape), tuple(bias.shape)) == ((8, 4, 3, 3), (8,))
    assert {parameter.device.type for parameter in pipeline.unet.parameters()} == {"meta"}
    assert {parameter.dtype for parameter in pipeline.unet.parameters()} == {torch.bfloat16}
    assert not pipeline.unet.training


def test_what_a_library_keeps_in_float32_stays_so_in_half_precision() -> None:
    class Model(torch.nn.Module):
        _keep_in_fp32_modules = ("norm",)

        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(4, device="meta", dtype=torch.float16)
            self.linear = torch.nn.Linear(4, 4, device="meta", dtype=torch.float16)

    model = Model()
    building.keep_in_float32(model, torch.float16)
    assert model.norm.weight.dtype == model.norm.bias.dtype == torch.float32
    assert model.linear.weight.dtype == torch.float16


def test_a_model_that_the_pipeline_makes_of_others_is_virtual_too(tmp_path: Path) -> None:
    """AnimateDiff puts a UNet and a motion adapter together, copying their weights."""
    from tests.pipelines.folders import saved
    from tests.small_pipelines import SMALL_PIPELINES

    small = SMALL_PIPELINES["animatediff"]
    parts = small.components()
    folder = saved("animatediff", tmp_path / "model")
    parts["unet"].save_config(folder / "unet")
    index = json.loads((folder / "model_index.json").read_text())
    index["unet"] = ["diffusers", type(parts["unet"]).__name__]
    (folder / "model_index.json").write_text(json.dumps(index))
    pipeline, assumptions = building.build(from_folder(folder, "small"), torch.float32)
    assert type(pipeline.unet).__name__ == "UNetMotionModel"
    assert any(sentence.startswith("motion_adapter: the pipeline copies its weights") for sentence in assumptions)
    assert all(weight.is_meta for weight in pipeline.unet.parameters())
    assert not pipeline.unet.training
    arguments = small.arguments()
    counted = diffprof.profile(folder, use_cache=False, **arguments)
    assert counted.total.macs == diffprof.profile(small.build(), **arguments).total.macs
