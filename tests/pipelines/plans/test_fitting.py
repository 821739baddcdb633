"""Which class a pipeline is, and which components it can do without."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import diffusers
import pytest
import torch
from diffusers.video_processor import VideoProcessor

import diffprof
from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.building.build import build
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.fitting import (
    StandInGuard,
    bypass_guard,
    fitting_pipeline,
    is_optional,
    names_own_code,
    single_plans,
    with_current_class,
    with_library_class,
)
from tests.pipelines.folders import edit, saved

SIZE = {"height": 16, "width": 16, "num_inference_steps": 1}


def test_kolors_that_was_published_as_sdxl_is_kolors() -> None:
    assumptions: list[str] = []
    part = PartPlan("text_encoder", "kolors", "ChatGLMModel")
    blueprint = Blueprint("m", "folder", "StableDiffusionXLPipeline", {"text_encoder": part})
    assert fitting_pipeline(blueprint, assumptions) is diffusers.KolorsPipeline
    assert assumptions == [
        "text_encoder is a ChatGLMModel: KolorsPipeline takes the place of StableDiffusionXLPipeline"
    ]


def test_a_pipeline_class_of_the_repository_is_rejected_where_diffusers_has_none() -> None:
    with pytest.raises(UnsafeModelError, match=r"its own pipeline code \(mine.MyPipeline\)"):
        fitting_pipeline(Blueprint("m", "folder", "MyPipeline", {}, own_module="mine"), [])


def test_what_makes_up_the_cost_is_never_optional() -> None:
    assert is_optional(diffusers.StableDiffusionXLPipeline, "image_encoder")
    assert not is_optional(diffusers.StableDiffusionXLPipeline, "text_encoder_2")
    assert not is_optional(diffusers.StableDiffusionXLPipeline, "vae")


def test_code_of_a_repository_is_found_at_any_depth() -> None:
    assert names_own_code({"a": [{"b": {"auto_map": {"AutoModel": "x.y"}}}]})
    assert not names_own_code({"a": [{"auto_map": {}}], "trust_remote_code": False})


def test_a_guard_of_another_package_is_left_out_and_said(tmp_path: Path) -> None:
    folder = saved("cosmos2-text-to-image", tmp_path / "model")
    guard = ["cosmos_guardrail", "CosmosSafetyChecker"]
    edit(folder / "model_index.json", lambda index: index.update(safety_checker=guard))
    done = diffprof.profile(folder, height=32, width=32, num_inference_steps=1)
    assert done.components["transformer"].macs > 0
    assert any("the guard CosmosSafetyChecker is left out" in sentence for sentence in done.ledger.assumptions)


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        ("scheduler", "scheduler has no configuration: the defaults of DDIMScheduler are assumed"),
        ("tokenizer", "tokenizer: a stand-in for CLIPTokenizer"),
    ],
)
def test_a_small_part_that_is_missing_is_assumed(slot: str, sentence: str, model: Path) -> None:
    whole = diffprof.profile(model, **SIZE)
    for file in (model / slot).iterdir():
        file.unlink()
    done = diffprof.profile(model, **SIZE)
    assert done.total == whole.total
    assert any(sentence in assumption for assumption in done.ledger.assumptions), done.ledger.assumptions


def test_a_models_missing_configuration_is_assumed_on_request_only(model: Path) -> None:
    (model / "vae" / "config.json").unlink()
    with pytest.raises(RequestError, match=r"add its config.json .*--assume-defaults"):
        diffprof.profile(model, **SIZE)
    done = diffprof.profile(model, assume_defaults=True, **SIZE)
    assert done.components["vae"].parameters == sum(weight.numel() for weight in diffusers.AutoencoderKL().parameters())
    assert "vae has no configuration: the defaults of AutoencoderKL are assumed" in done.ledger.assumptions


def test_an_optional_model_without_a_configuration_is_left_out(model: Path) -> None:
    encoder = ["transformers", "CLIPVisionModelWithProjection"]
    edit(model / "model_index.json", lambda index: index.update(image_encoder=encoder))
    done = diffprof.profile(model, **SIZE)
    sentence = "image_encoder (CLIPVisionModelWithProjection) has no configuration and is optional: it is left out"
    assert sentence in done.ledger.assumptions


def test_a_class_that_needs_a_package_is_refused_with_its_name(model: Path) -> None:
    if type(diffusers.CosineDPMSolverMultistepScheduler).__name__ != "DummyObject":
        pytest.skip("torchsde is installed")
    edit(
        model / "model_index.json",
        lambda index: index.update(scheduler=["diffusers", "CosineDPMSolverMultistepScheduler"]),
    )
    with pytest.raises(RequestError, match="needs the package torchsde, which is not installed; install with `pip"):
        diffprof.profile(model, **SIZE)


def test_a_pipeline_that_needs_a_package_to_be_put_together_is_refused_with_its_name() -> None:
    if diffusers.utils.is_torchvision_available():
        pytest.skip("torchvision is installed")
    with pytest.raises(RequestError, match="OmniGenPipeline needs the package torchvision, which is not installed"):
        build(Blueprint("m", "folder", "OmniGenPipeline", {}), torch.float32)


def test_a_vision_model_takes_its_part_of_a_larger_configuration(tmp_path: Path) -> None:
    """CLIP's own configuration has one part for texts and one for images."""
    part = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = {"model_type": "clip", "vision_config": {**part, "image_size": 16, "patch_size": 8}, "text_config": {}}
    plans = {"image_encoder": PartPlan("image_encoder", "transformers", "CLIPVisionModelWithProjection", config)}
    pipeline, _ = build(Blueprint("m", "folder", "StableDiffusionImageVariationPipeline", plans), torch.float32)
    assert pipeline.image_encoder.config.hidden_size == 16


def test_an_auto_class_is_the_architecture_that_the_configuration_names(model: Path) -> None:
    edit(model / "model_index.json", lambda index: index.update(text_encoder=["transformers", "AutoModel"]))
    assert json.loads((model / "text_encoder" / "config.json").read_text())["architectures"] == ["CLIPTextModel"]
    assert diffprof.profile(model, **SIZE).components["text_encoder"].class_name == "CLIPTextModel"


def test_several_controlnets_lie_in_folders_beside_each_other(tmp_path: Path) -> None:
    for name, layers in (("controlnet", 1), ("controlnet_1", 2), ("controlnet_3", 3)):
        (tmp_path / name).mkdir()
        config = {"_class_name": "ControlNetModel", "layers_per_block": layers}
        (tmp_path / name / "config.json").write_text(json.dumps(config), encoding="utf-8")
    several = PartPlan("controlnet", "diffusers", "MultiControlNetModel", folder=tmp_path / "controlnet")
    found = single_plans(several)
    assert [plan.class_name for plan in found] == ["ControlNetModel", "ControlNetModel"]
    assert [plan.config["layers_per_block"] for plan in found] == [1, 2]
    assert single_plans(replace(several, class_name="ControlNetModel")) == []


UNKNOWN_CLASSES = [
    ("tokenizer", ["transformers", "UMT5TokenizerFast"], "AutoTokenizer"),
    ("tokenizer", ["their_code", "OwnTokenizer"], "AutoTokenizer"),
    ("feature_extractor", ["their_code", "OwnImageProcessor"], "AutoImageProcessor"),
]


@pytest.mark.parametrize(("slot", "names", "general"), UNKNOWN_CLASSES)
def test_a_tokenizer_or_processor_of_an_unknown_class_is_not_needed(slot: str, names: list[str], general: str) -> None:
    assumptions: list[str] = []
    plan = with_library_class(PartPlan(slot, *names), assumptions)
    assert (plan.library, plan.class_name) == ("transformers", general)
    sentence = f"{slot}: {'.'.join(names)} is not a class of the libraries: {general} takes its place"
    assert assumptions == [sentence]


def test_a_class_that_is_known_or_no_small_part_stays() -> None:
    for plan in (PartPlan("tokenizer", "transformers", "CLIPTokenizer"), PartPlan("unet", "theirs", "OwnModel")):
        assert with_library_class(plan, []) is plan


def test_a_folder_whose_tokenizer_has_code_of_its_own_is_counted(model: Path) -> None:
    whole = diffprof.profile(model, **SIZE)
    edit(model / "model_index.json", lambda index: index.update(tokenizer=["their_code", "OwnTokenizer"]))
    assert diffprof.profile(model, **SIZE).total == whole.total


def test_a_component_gets_the_class_that_the_pipeline_needs_today() -> None:
    assumptions: list[str] = []
    plan = with_current_class("AudioLDM2Pipeline", PartPlan("language_model", "transformers", "GPT2Model"), assumptions)
    assert plan.class_name == "GPT2LMHeadModel"
    assert assumptions == [
        "language_model is a GPT2LMHeadModel, as AudioLDM2Pipeline needs it today, and not a GPT2Model"
    ]


def test_no_arrays_of_all_frames_are_made_for_a_guard_that_is_left_out() -> None:
    processor, guard = VideoProcessor(), StandInGuard()
    bypass_guard(SimpleNamespace(safety_checker=guard, video_processor=processor))
    video = torch.zeros(1, 3, 5, 16, 8)
    assert processor.postprocess_video(video, output_type="np").shape == (1, 5, 16, 8, 3), "it is not in use yet"
    guard.to(torch.device("cpu"))
    shown = processor.postprocess_video(video, output_type="np")
    assert guard.check_video_safety(shown).shape == (1, 1, 1, 1, 3)
    returned = torch.from_numpy(shown).permute(0, 4, 1, 2, 3)
    assert processor.postprocess_video(returned, output_type="pt").shape == (1, 5, 3, 16, 8)
    guard.to("cpu")
    assert processor.postprocess_video(video, output_type="pt").shape == (1, 5, 3, 16, 8)
    guard.to(torch.device("cpu"))
    guard.check_text_safety("a cat")
    assert processor.postprocess_video(video, output_type="np").shape == (1, 5, 16, 8, 3), "it was shown a text only"
