"""The sliders of the tab Profile stand for call arguments, under whatever name the pipeline has for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.app.sliders import (
    SLIDERS,
    applies_to,
    arguments_for,
    count_model,
    current_value,
    slider_arguments,
    slider_values,
)
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion

BY_ARGUMENT = {slider.argument: slider for slider in SLIDERS}


def with_arguments(pipeline: str = "StableDiffusionPipeline", **arguments: Any) -> Profile:
    profile = stable_diffusion()
    return replace(profile, request=replace(profile.request, pipeline=pipeline, arguments=arguments, defaults={}))


def test_the_values_of_a_profile_are_those_that_were_used() -> None:
    values = {name: current_value(stable_diffusion(), slider) for name, slider in BY_ARGUMENT.items()}
    assert values == {
        "width": 512, "height": 512, "num_inference_steps": 30, "guidance_scale": 7.5, "num_images_per_prompt": 1,
        "num_frames": None,
    }  # fmt: skip


def test_an_argument_is_found_under_another_name_of_the_pipeline() -> None:
    assert current_value(with_arguments(num_videos_per_prompt=3), BY_ARGUMENT["num_images_per_prompt"]) == 3
    assert current_value(with_arguments(true_cfg_scale=4.0), BY_ARGUMENT["guidance_scale"]) == 4.0


@pytest.mark.parametrize("value", [True, "512", None, [512]])
def test_a_value_that_is_not_a_number_is_not_a_slider_position(value: Any) -> None:
    assert current_value(with_arguments(width=value), BY_ARGUMENT["width"]) is None


def test_a_slider_applies_only_where_the_pipeline_takes_its_argument() -> None:
    assert applies_to(stable_diffusion(), BY_ARGUMENT["width"])
    assert not applies_to(stable_diffusion(), BY_ARGUMENT["num_frames"])
    assert not applies_to(with_arguments("DiTPipeline", width=256), BY_ARGUMENT["width"]), "it has one size only"
    assert not applies_to(with_arguments("NoSuchPipeline", width=256), BY_ARGUMENT["width"])


def test_whole_numbers_stay_whole_and_sliders_that_do_not_apply_are_left_out() -> None:
    arguments = slider_arguments([512.0, 768, None, 7.0, 2.0, None])
    assert arguments == {"width": 512, "height": 768, "guidance_scale": 7.0, "num_images_per_prompt": 2}
    assert [type(value) for value in arguments.values()] == [int, int, float, int]


def test_the_range_of_every_slider_is_a_whole_number_of_its_steps() -> None:
    for slider in SLIDERS:
        assert slider.least < slider.most
        steps = (slider.most - slider.least) / slider.step
        assert steps == pytest.approx(round(steps)), slider.argument


def test_a_model_is_counted_with_the_arguments_of_the_sliders() -> None:
    profile = count_model("dit-xl-2-256", {"num_inference_steps": 3})
    assert (profile.steps.count, profile.request.arguments) == (3, {"num_inference_steps": 3})
    assert profile.counted_by == "law" and profile.request.value("height") == 256
    assert set(slider_values(profile)) == {"num_inference_steps", "guidance_scale"}  # it has one size


def test_a_width_goes_with_a_height_and_what_means_nothing_to_the_model_is_left_out() -> None:
    assert arguments_for(stable_diffusion(), {"width": 640, "num_frames": 9}) == {"width": 640, "height": 512}
    assert arguments_for(stable_diffusion(), {"guidance_scale": 1}) == {"guidance_scale": 1}
