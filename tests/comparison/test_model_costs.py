"""What several models cost."""

from __future__ import annotations

import json

from diffprof.comparison.model_costs import model_costs, relative_costs
from diffprof.comparison.views.model_costs import costs_csv, costs_json, costs_markdown, costs_text
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def count(name: str) -> Profile:
    if name == "unknown":
        raise RequestError("There is no model unknown.")
    return stable_diffusion(steps=10, unet_calls=11) if name == "short" else stable_diffusion()


def test_each_model_is_relative_to_the_first_and_one_that_fails_says_why() -> None:
    costs = model_costs(["short", "unknown", "long"], count)
    relative = relative_costs(costs)
    assert relative[:2] == [1.0, None]
    assert relative[2] == stable_diffusion().total.macs / count("short").total.macs
    assert "| short | 512 x 512 | 10 (11 executed) |" in costs_markdown(costs)
    assert "There is no model unknown." in costs_text(costs)


def test_programs_get_exact_numbers() -> None:
    costs = model_costs(["long"], count)
    (row,) = json.loads(costs_json(costs))
    assert (row["macs"], row["problem"]) == (26_234_368_094_208, None)
    assert "26234368094208" in costs_csv(costs)
