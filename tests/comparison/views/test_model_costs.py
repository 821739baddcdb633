"""The table of what several models cost."""

from __future__ import annotations

import csv
import io
import json

from diffprof.comparison.model_costs import ModelCost, model_costs
from diffprof.comparison.views.model_costs import COLUMNS, costs_csv, costs_json, costs_markdown, costs_text
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def costs(*names: str) -> list[ModelCost]:
    def count(name: str) -> Profile:
        if name == "unknown":
            raise RequestError("There is no model unknown.")
        return stable_diffusion(steps=10, unet_calls=11) if name == "short" else stable_diffusion()

    return list(model_costs(names, count))


def test_people_read_sizes_and_steps_as_executed() -> None:
    assert "| short | 512 x 512 | 10 (11 executed) |" in costs_markdown(costs("short", "long"))


def test_a_model_that_failed_has_dashes_and_a_sentence() -> None:
    text = costs_text(costs("short", "unknown"))
    assert "unknown: There is no model unknown." in text
    (row,) = [line for line in text.splitlines() if line.startswith("unknown ")]
    assert set(row.split()[1:]) == {"-"}


def test_programs_get_exact_numbers() -> None:
    (row,) = json.loads(costs_json(costs("long")))
    assert (row["macs"], row["problem"], row["relative"]) == (26_234_368_094_208, None, 1.0)
    (line,) = csv.DictReader(io.StringIO(costs_csv(costs("long"))))
    assert tuple(line) == COLUMNS
    assert (line["macs"], line["problem"]) == ("26234368094208", "")
