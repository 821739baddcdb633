"""What a law can be proved with beside the arguments of a call."""

from __future__ import annotations

import pytest

from diffprof.laws.switched import Switched, switched_by
from diffprof.record.request import Request


def test_switches_a_scheduler_and_an_interval_of_guidance_are_told_apart() -> None:
    asked = Request.create("m", {}, enable=("vae_tiling", "vae_slicing"), scheduler="DDIM", guidance_interval=(0, 0.5))
    assert switched_by(asked) == Switched(("vae_slicing", "vae_tiling"), "DDIM", (0.0, 0.5))
    assert switched_by(Request("m")) == Switched()


def test_other_changes_of_the_model_are_of_no_law() -> None:
    assert switched_by(Request.create("m", {}, quantize="nf4")) is None


@pytest.mark.parametrize(
    ("switched", "words"),
    [
        (Switched(("vae_tiling",)), "not with vae_tiling"),
        (Switched(scheduler="DDIM"), "not with DDIM"),
        (Switched(guidance_interval=(0.0, 0.5)), "without adapters"),
    ],
)
def test_a_law_that_lacks_it_says_what_it_lacks(switched: Switched, words: str) -> None:
    assert words in switched.refusal()
