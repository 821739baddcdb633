"""What profiles do not have in common is told, and whether that makes it another request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.comparison.conditions import (
    DEFAULT,
    DEVICE,
    DTYPE,
    MEASUREMENT,
    REQUEST,
    VERSION,
    Condition,
    device_differences,
    differing_conditions,
    request_differences,
)
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, GPU
from tests.sample_profiles import measured_profile, stable_diffusion


def with_request(**changes: Any) -> Profile:
    profile = stable_diffusion()
    return replace(profile, request=replace(profile.request, **changes))


def with_arguments(**arguments: Any) -> Profile:
    return with_request(arguments={**stable_diffusion().request.arguments, **arguments})


def differing(*profiles: Profile) -> list[Condition]:
    return list(differing_conditions(profiles))


def test_equal_profiles_differ_in_nothing() -> None:
    assert differing(stable_diffusion(), stable_diffusion(), stable_diffusion()) == []
    assert differing(measured_profile(), measured_profile()) == []


@pytest.mark.parametrize(
    ("other", "name", "values"),
    [
        (with_arguments(num_inference_steps=20), "num_inference_steps", (30, 20)),
        (with_arguments(prompt="a dog"), "prompt", ("a photo", "a dog")),
        (with_request(model="sdxl"), "model", ("sd-2.1-base", "sdxl")),
        (with_request(pipeline="FluxPipeline"), "pipeline", ("StableDiffusionPipeline", "FluxPipeline")),
        (with_request(scheduler="DDIMScheduler"), "scheduler", (None, "DDIMScheduler")),
        (with_request(enable=("vae_tiling",)), "enable", ([], ["vae_tiling"])),
        (with_request(dtype="float32"), "dtype", ("float16", "float32")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_different_request_is_listed_with_both_values(other: Profile, name: str, values: tuple[Any, ...]) -> None:
    found = differing(stable_diffusion(), other)
    assert found == [Condition(REQUEST, name, values)]
    assert request_differences(found) == tuple(found)


def test_an_argument_equal_to_the_default_is_not_a_difference() -> None:
    assert differing(stable_diffusion(), with_arguments(num_images_per_prompt=1, eta=0)) == []
    assert [one.values for one in differing(stable_diffusion(), with_arguments(eta=0.5))] == [(0.0, 0.5)]


def test_true_is_not_one() -> None:
    found = differing(with_arguments(clip_skip=1), with_arguments(clip_skip=True))
    assert [one.values for one in found] == [(1, True)]


def test_a_default_that_changed_with_a_version_is_not_a_different_request() -> None:
    """It is what a gate is to find."""
    defaults = {**stable_diffusion().request.defaults, "eta": 1.0}
    found = differing(stable_diffusion(), with_request(defaults=defaults))
    assert found == [Condition(DEFAULT, "eta", (0.0, 1.0))]
    assert request_differences(found) == ()


def test_a_size_that_a_pipeline_changed_is_listed() -> None:
    found = differing(with_request(defaults={"height": 496}), with_request(defaults={"height": 504}))
    assert found == [Condition(DEFAULT, "height", (496, 504))]


def test_names_of_folders_are_not_a_different_request() -> None:
    found = differing(
        with_request(model="/one/place", source="folder"), with_request(model="/another/place", source="folder")
    )
    assert [one.values for one in found] == [("/one/place", "/another/place")]
    assert request_differences(found) == ()


def test_versions_and_dtypes_of_components_are_listed() -> None:
    profile = stable_diffusion()
    other = replace(
        profile,
        environment=replace(profile.environment, torch="2.9.0"),
        components={**profile.components, "vae": replace(profile.components["vae"], dtype="float32")},
    )
    found = differing(profile, other)
    assert found == [Condition(DTYPE, "vae", ("float16", "float32")), Condition(VERSION, "torch", ("2.8.0", "2.9.0"))]
    assert request_differences(found) == ()


def test_a_different_device_is_listed() -> None:
    found = differing(measured_profile(device=CPU), measured_profile(device=GPU))
    assert [one.name for one in device_differences(found)] == ["name", "kind", "threads"]
    assert device_differences(found)[0] == Condition(DEVICE, "name", (CPU.name, GPU.name))
    threads = differing(measured_profile(), measured_profile(device=replace(CPU, threads=2)))
    assert threads == [Condition(DEVICE, "threads", (16, 2))]


def test_a_profile_that_was_only_counted_has_no_device_to_differ_in() -> None:
    counted = replace(measured_profile(), measured=None)
    assert differing(measured_profile(), counted) == [Condition(MEASUREMENT, "measured", (True, False))]


def test_the_number_of_iterations_is_listed() -> None:
    profile = measured_profile()
    assert profile.measured is not None
    fewer = replace(profile, measured=replace(profile.measured, iterations=profile.measured.iterations[:2]))
    assert differing(profile, fewer) == [Condition(MEASUREMENT, "iterations", (3, 1))]


def test_how_a_pipeline_was_prepared_is_listed_and_is_no_other_request() -> None:
    found = differing(measured_profile(), measured_profile(preparation={"compile": "regional"}))
    assert found == [Condition(MEASUREMENT, "compile", (None, "regional"))]
    assert request_differences(found) == ()
