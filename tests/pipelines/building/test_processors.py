"""Processors are made of the files that are there; stand-ins and defaults take the place of the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from PIL import Image

from diffprof.errors import RequestError
from diffprof.pipelines.building.processors import StandInProcessor, processor_of
from diffprof.pipelines.building.tokenizers import StandInTokenizer
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import part_class

QWEN = PartPlan("text_encoder", "transformers", "Qwen2_5_VLForConditionalGeneration", {"model_type": "qwen2_5_vl"})


def opened(plan: PartPlan, **parts: PartPlan) -> tuple[Any, list[str]]:
    assumptions: list[str] = []
    blueprint = Blueprint("m", "folder", "QwenImageEditPipeline", {plan.slot: plan, **parts})
    owner = part_class(plan.library, plan.class_name, plan.config)
    return processor_of(blueprint, plan, owner, assumptions), assumptions


def processor(class_name: str, folder: Path | None = None, slot: str = "processor") -> PartPlan:
    return PartPlan(slot, "transformers", class_name, folder=folder, is_missing=folder is None)


@pytest.mark.parametrize("class_name", ["Qwen2VLProcessor", "Qwen2_5_VLProcessor", "Qwen3VLProcessor", "AutoProcessor"])
def test_an_image_is_as_many_tokens_as_the_real_processor_makes_of_it(class_name: str) -> None:
    found, assumptions = opened(processor(class_name), text_encoder=QWEN)
    assert isinstance(found, transformers.ProcessorMixin)
    text = "<|vision_start|><|image_pad|><|vision_end|>a cat"
    inputs = found(text=[text], images=[Image.new("RGB", (560, 280))], return_tensors="pt")
    _, rows, columns = inputs["image_grid_thw"][0].tolist()
    tokens = inputs["input_ids"][0].tolist()
    assert tokens.count(151655) == rows * columns // 4 > 1
    assert any("stand-in" in sentence for sentence in assumptions)
    assert any("has no image processor" in sentence for sentence in assumptions)


def test_the_size_of_patches_is_that_of_the_image_processors_file(tmp_path: Path) -> None:
    settings = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14, "max_pixels": 14 * 14 * 16}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    found, assumptions = opened(processor("Qwen2VLProcessor", tmp_path), text_encoder=QWEN)
    inputs = found(text=["<|image_pad|>"], images=[Image.new("RGB", (560, 560))], return_tensors="pt")
    assert inputs["image_grid_thw"].tolist() == [[1, 4, 4]]
    assert not any("image processor" in sentence for sentence in assumptions)


def test_the_tokenizer_beside_it_is_used_where_it_has_its_vocabulary(tmp_path: Path) -> None:
    from tests.small_pipelines.text_tokenizers import clip_tokenizer

    clip_tokenizer().save_pretrained(tmp_path)
    beside = PartPlan("tokenizer", "transformers", "CLIPTokenizer", folder=tmp_path)
    found, _ = opened(processor("CLIPProcessor"), tokenizer=beside)
    assert not isinstance(found.tokenizer, StandInTokenizer)


def test_a_processor_in_the_slot_of_a_tokenizer_gives_padded_chats() -> None:
    """FLUX.2 has Pixtral's, which needs torchvision."""
    encoder = PartPlan("text_encoder", "transformers", "Mistral3ForConditionalGeneration", {"model_type": "mistral3"})
    found, assumptions = opened(processor("PixtralProcessor", slot="tokenizer"), text_encoder=encoder)
    chats = [[{"role": "user", "content": [{"type": "text", "text": "a cat"}]}]]
    options = {"padding": "max_length", "max_length": 32, "truncation": True}
    inputs = found.apply_chat_template(chats, tokenize=True, return_dict=True, return_tensors="pt", **options)
    assert inputs["input_ids"].shape == (1, 32)
    assert inputs["attention_mask"].sum() == 5
    assert any("stand-in for PixtralProcessor" in sentence for sentence in assumptions)


def test_an_image_processor_without_a_file_makes_images_for_its_encoder() -> None:
    encoder = PartPlan("image_encoder", "transformers", "CLIPVisionModel", {"image_size": 336})
    found, assumptions = opened(processor("CLIPImageProcessor", slot="image_processor"), image_encoder=encoder)
    assert found(images=Image.new("RGB", (64, 32)), return_tensors="pt").pixel_values.shape == (1, 3, 336, 336)
    assert assumptions == ["image_processor has no configuration: the defaults of CLIPImageProcessor are assumed"]


def test_an_image_processor_without_a_file_makes_images_for_a_text_encoder_that_reads_them() -> None:
    """HunyuanVideo's pipeline for images has no other encoder."""
    config = {"vision_config": {"image_size": 336}}
    encoder = PartPlan("text_encoder", "transformers", "LlavaForConditionalGeneration", config)
    found, _ = opened(processor("CLIPImageProcessor", slot="image_processor"), text_encoder=encoder)
    assert found(images=Image.new("RGB", (64, 32)), return_tensors="pt").pixel_values.shape == (1, 3, 336, 336)


def test_a_processor_of_images_and_texts_may_be_given_images_alone(tmp_path: Path) -> None:
    """SkyReels names CLIPProcessor for its images, without a vocabulary."""
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": "CLIPImageProcessor"}))
    found, _ = opened(processor("CLIPProcessor", tmp_path, slot="image_processor"))
    assert found(images=Image.new("RGB", (64, 32)), return_tensors="pt").pixel_values.shape == (1, 3, 224, 224)


def test_a_processor_that_asks_for_the_names_of_special_tokens_gets_some() -> None:
    encoder = PartPlan("vision_language_encoder", "transformers", "GlmImageForConditionalGeneration")
    found, _ = opened(processor("GlmImageProcessor"), vision_language_encoder=encoder)
    assert found.image_token == "<|image|>"


@pytest.mark.parametrize(
    ("class_name", "model", "model_type", "number"),
    [
        ("GlmImageProcessor", "GlmImageForConditionalGeneration", "glm_image", 167855),
        ("Qwen2VLProcessor", "Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", 1234),
        ("AutoProcessor", "Gemma3ForConditionalGeneration", "gemma3", 262144),
    ],
)
def test_the_tokens_of_an_image_have_the_number_that_the_encoder_looks_for(
    class_name: str, model: str, model_type: str, number: int
) -> None:
    config = {"model_type": model_type, "image_token_id": number}
    encoder = PartPlan("text_encoder", "transformers", model, config)
    found, _ = opened(processor(class_name), text_encoder=encoder)
    chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a cat"}]}]
    text = found.apply_chat_template(chat, tokenize=False)
    inputs = found(text=[text], images=[Image.new("RGB", (560, 280))], return_tensors="pt")
    assert inputs["input_ids"][0].tolist().count(number) > 1


def test_a_processor_of_texts_alone_takes_a_text_first_and_names_the_package_that_images_need() -> None:
    found = StandInProcessor(tokenizer=lambda text, **options: text.upper())
    assert found("a cat") == found(text="a cat") == "A CAT"
    with pytest.raises(RequestError, match="needs the package torchvision, which is not installed; install with `pip"):
        found(images=Image.new("RGB", (8, 8)), text="a cat")
