"""What a pipeline made of its request."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.execution import execution_of
from tests.sample_profiles import stable_diffusion


def test_the_dtype_is_the_one_that_was_asked_for_else_the_denoisers() -> None:
    profile = stable_diffusion()
    denoiser = profile.components["unet"].dtype
    assert execution_of(replace(profile, request=replace(profile.request, dtype="bfloat16"))).dtype == "bfloat16"
    assert execution_of(replace(profile, request=replace(profile.request, dtype=None))).dtype == denoiser
    assert execution_of(replace(profile, request=replace(profile.request, dtype=None), components={})).dtype == ""


def test_the_steps_are_those_of_each_loop() -> None:
    profile = stable_diffusion()
    assert execution_of(profile).steps == (profile.steps.count,)
