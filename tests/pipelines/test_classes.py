"""Only classes of diffusers and transformers are found, also by names that they had once."""

from __future__ import annotations

import diffusers
import pytest
import transformers

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.classes import part_class, pipeline_class, scheduler_class


@pytest.mark.parametrize("name", ["heun", "Heun", "HeunDiscrete", "HeunDiscreteScheduler", "heun_discrete"])
def test_a_scheduler_is_found_by_its_name_or_the_distinctive_part_of_it(name: str) -> None:
    assert scheduler_class(name) is diffusers.HeunDiscreteScheduler


def test_an_unknown_scheduler_is_rejected_with_the_nearest_names() -> None:
    with pytest.raises(RequestError, match=r"unknown scheduler 'huen'; did you mean .*HeunDiscreteScheduler"):
        scheduler_class("huen")


def test_a_class_that_was_renamed_is_found_by_its_old_name() -> None:
    assert part_class("transformers", "CLIPFeatureExtractor") is transformers.CLIPImageProcessor


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
