"""What several models cost."""

from __future__ import annotations

from diffprof.comparison.model_costs import model_costs, relative_costs
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def count(name: str) -> Profile:
    if name == "unknown":
        raise RequestError("There is no model unknown.")
    return stable_diffusion(steps=10, unet_calls=11) if name == "short" else stable_diffusion()


def test_each_model_is_relative_to_the_first() -> None:
    relative = relative_costs(model_costs(["short", "unknown", "long"], count))
    assert relative[:2] == [1.0, None]
    assert relative[2] == stable_diffusion().total.macs / count("short").total.macs


def test_a_model_that_cannot_be_counted_says_why_and_the_others_are_counted() -> None:
    short, unknown = model_costs(["short", "unknown"], count)
    assert (unknown.profile, unknown.problem) == (None, "There is no model unknown.")
    assert short.profile == count("short")
