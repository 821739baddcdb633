"""The catalogue as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json

from diffprof import catalogue
from diffprof.catalogue import Entry
from diffprof.render.console import render_text
from diffprof.render.models import COLUMNS, model_json, models_csv, models_json, print_model, print_models


def entry(name: str = "sd-2.1-base") -> Entry:
    found = catalogue.find(name)
    assert found is not None
    return found


def test_the_list_has_a_row_for_each_model() -> None:
    text = render_text(lambda console: print_models([entry(), entry("flux.1-dev")], console), 240)
    *rows, note = text.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["sd-2.1-base", "flux.1-dev"]
    assert note.startswith("Years and licences are unconfirmed")
    assert "865.91M" in rows[0]


def test_json_and_csv_have_the_same_exact_values() -> None:
    (from_json,) = json.loads(models_json([entry()]))
    (from_csv,) = csv.DictReader(io.StringIO(models_csv([entry()])))
    assert list(from_json) == list(from_csv) == list(COLUMNS)
    assert {name: str(value) for name, value in from_json.items()} == from_csv
    assert from_json["denoiser_parameters"] == 865_910_724


def test_a_model_is_shown_with_its_sources_and_what_is_unconfirmed() -> None:
    text = render_text(lambda console: print_model(entry(), console), 100)
    assert text.startswith("Stable Diffusion 2.1")
    assert "unet: UNet2DConditionModel of diffusers" in text
    assert "  865,910,724 parameters" in text
    assert "Unconfirmed" in text


def test_a_model_as_json_has_its_components() -> None:
    assert json.loads(model_json(entry()))["components"]["unet"]["parameters"] == 865_910_724
