"""Stages of a generation."""

from __future__ import annotations

from dataclasses import replace

from diffprof.prediction.stages import stages_of_calls
from diffprof.record.fit import DECODE, DENOISE, ENCODE
from diffprof.record.profile import Profile
from tests.sample_profiles import nothing, stable_diffusion


def without_steps(profile: Profile) -> Profile:
    return replace(profile, calls=tuple(replace(call, step=None) for call in profile.calls))


def test_the_loop_lies_between_encoding_and_decoding() -> None:
    assert stages_of_calls(stable_diffusion(unet_calls=3)) == [ENCODE, ENCODE, *[DENOISE] * 3, DECODE]


def test_without_steps_the_denoiser_is_the_loop() -> None:
    assert stages_of_calls(without_steps(stable_diffusion(unet_calls=1))) == [ENCODE, ENCODE, DENOISE, DECODE]


def test_what_is_decoded_between_two_loops_is_decoding() -> None:
    profile = stable_diffusion(unet_calls=2)
    first, second, early, late, decoded = profile.calls
    mixed = replace(profile, calls=(first, early, decoded, second, late))
    assert stages_of_calls(mixed) == [ENCODE, DENOISE, DECODE, ENCODE, DENOISE]


def test_without_a_denoiser_the_method_decides() -> None:
    profile = stable_diffusion(unet_calls=0)
    assert stages_of_calls(profile) == [ENCODE, ENCODE, DECODE]
    assert stages_of_calls(nothing()) == []
