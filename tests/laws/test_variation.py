"""What a law can be proved with beside the arguments of a call."""

from __future__ import annotations

import pytest

from diffprof.laws.variation import Variation, variation_of
from diffprof.record.request import Request


def test_switches_a_scheduler_and_an_interval_of_guidance_are_told_apart() -> None:
    asked = Request.create("m", {}, enable=("vae_tiling", "vae_slicing"), scheduler="DDIM", guidance_interval=(0, 0.5))
    assert variation_of(asked) == Variation(("vae_slicing", "vae_tiling"), "DDIM", (0.0, 0.5))
    assert variation_of(Request("m")) == Variation()


def test_other_changes_of_the_model_are_of_no_law() -> None:
    assert variation_of(Request.create("m", {}, quantize="nf4")) is None


@pytest.mark.parametrize(
    ("variation", "words"),
    [
        (Variation(("vae_tiling",)), "not with vae_tiling"),
        (Variation(scheduler="DDIM"), "not with DDIM"),
        (Variation(guidance_interval=(0.0, 0.5)), "without adapters"),
    ],
)
def test_a_law_that_lacks_it_says_what_it_lacks(variation: Variation, words: str) -> None:
    assert words in variation.refusal()
