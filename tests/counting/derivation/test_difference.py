"""Where two profiles differ."""

from __future__ import annotations

from dataclasses import replace

from diffprof.counting.derivation.difference import MAX_PLACES, difference
from tests.sample_profiles import stable_diffusion


def test_the_first_places_are_named_with_both_values() -> None:
    one = stable_diffusion(unet_calls=2)
    other = replace(one, request=replace(one.request, model="other"))
    assert difference(one, other) == "request.model is sd-2.1-base instead of other"


def test_the_same_profile_differs_nowhere() -> None:
    assert difference(stable_diffusion(unet_calls=2), stable_diffusion(unet_calls=2)) == ""


def test_many_differences_are_cut_short() -> None:
    found = difference(stable_diffusion(unet_calls=2), stable_diffusion(unet_calls=2, steps=7, scheduler="Euler"))
    assert 0 < found.count(" instead of ") <= MAX_PLACES
