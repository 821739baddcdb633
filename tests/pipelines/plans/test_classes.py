"""Only classes of diffusers and transformers are found, also by names that they had once."""

from __future__ import annotations

from types import SimpleNamespace

import diffusers
import pytest
import transformers

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.plans.classes import is_installed, missing_packages, part_class, pipeline_class, scheduler_class


@pytest.mark.parametrize("name", ["heun", "Heun", "HeunDiscrete", "HeunDiscreteScheduler", "heun_discrete"])
def test_a_scheduler_is_found_by_its_name_or_the_distinctive_part_of_it(name: str) -> None:
    assert scheduler_class(name) is diffusers.HeunDiscreteScheduler


def test_an_unknown_scheduler_is_rejected_with_the_nearest_names() -> None:
    with pytest.raises(RequestError, match=r"unknown scheduler 'huen'; did you mean .*HeunDiscreteScheduler"):
        scheduler_class("huen")


def test_a_class_that_was_renamed_is_found_by_its_old_name() -> None:
    assert part_class("transformers", "CLIPFeatureExtractor") is transformers.CLIPImageProcessor


def test_a_class_of_a_pipeline_is_found_also_where_the_wrong_library_is_named() -> None:
    assert part_class("transformers", "ChatGLMTokenizer").__module__.startswith("diffusers.pipelines.kolors")


def test_the_base_of_all_models_is_no_model() -> None:
    with pytest.raises(UnsafeModelError, match="PreTrainedModel is only the base of other classes"):
        part_class("transformers", "PreTrainedModel")


def test_packages_are_named_as_they_are_installed() -> None:
    if is_installed("cv2"):
        pytest.skip("opencv-python is installed")
    assert missing_packages(SimpleNamespace(_backends=["opencv", "torch"])) == ["opencv-python"]


@pytest.mark.parametrize(
    ("library", "name", "found"),
    [
        ("transformers", "MT5Tokenizer", "T5Tokenizer"),
        ("transformers", "FlaxCLIPTextModel", "CLIPTextModel"),
        ("diffusers", "FlaxUNet2DConditionModel", "UNet2DConditionModel"),
        ("transformers", "T5GemmaEncoder", "T5GemmaEncoder"),
        ("prx", "T5GemmaEncoder", "T5GemmaEncoder"),
        ("transformers.models.t5gemma.modeling_t5gemma", "T5GemmaEncoder", "T5GemmaEncoder"),
    ],
)
def test_classes_are_found_that_have_another_name_or_are_not_exported(library: str, name: str, found: str) -> None:
    assert part_class(library, name).__name__ == found


def test_an_auto_class_is_the_model_of_the_configurations_type() -> None:
    assert part_class("transformers", "AutoModelForCausalLM", {"model_type": "qwen2"}) is transformers.Qwen2ForCausalLM
    assert part_class("transformers", "AutoModel", {"model_type": "qwen2"}) is transformers.Qwen2Model


def test_a_pipeline_that_was_written_for_jax_is_the_one_of_torch() -> None:
    assert pipeline_class("FlaxStableDiffusionPipeline") is diffusers.StableDiffusionPipeline


def test_a_transformer_of_an_old_config_is_the_class_that_diffusers_builds_for_it() -> None:
    found = part_class("diffusers", "Transformer2DModel", {"norm_type": "ada_norm_zero"})
    assert found is diffusers.DiTTransformer2DModel


@pytest.mark.parametrize(("library", "name"), [("os", "system"), ("diffusers", "logging"), ("transformers", "Trainer")])
def test_a_class_that_is_not_of_the_libraries_is_rejected(library: str, name: str) -> None:
    with pytest.raises((UnsafeModelError, RequestError)):
        part_class(library, name)


def test_a_pipeline_class_is_one_of_diffusers() -> None:
    assert pipeline_class("StableDiffusionPipeline") is diffusers.StableDiffusionPipeline
    with pytest.raises(UnsafeModelError, match=r"did you mean .*StableDiffusionPipeline"):
        pipeline_class("StableDifusionPipeline")


def test_the_base_of_other_classes_is_the_one_that_the_configuration_names() -> None:
    named = {"architectures": ["Gemma2Model"], "model_type": "gemma2"}
    assert part_class("transformers", "PreTrainedModel", named).__name__ == "Gemma2Model"
    assert part_class("transformers", "Gemma2PreTrainedModel", {"model_type": "gemma2"}).__name__ == "Gemma2Model"
    assert part_class("diffusers", "ModelMixin", {"_class_name": "AutoencoderKL"}).__name__ == "AutoencoderKL"


def test_a_class_whose_module_needs_another_package_says_so() -> None:
    with pytest.raises(RequestError, match=r"Tokenizer of diffusers cannot be used here: .*note-seq"):
        part_class("diffusers", "Tokenizer")
