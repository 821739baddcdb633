"""The first lines of a program: where the pipeline and its parts come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.advice.loading_code import ADDED_TO, LoadingCode, base_id, entry_of
from diffprof.catalogue import find
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion


def load_lines(model: str, settings: RunSettings | None = None, config: str | None = None) -> list[str]:
    profile = stable_diffusion()
    request = replace(Request(model), config=config)
    return list(LoadingCode(profile, request, settings or RunSettings(), lambda module, name: name).lines())


def test_a_model_of_the_catalogue_is_loaded_from_the_hub() -> None:
    assert load_lines("sdxl")[-1].startswith(
        'pipe = StableDiffusionPipeline.from_pretrained("stabilityai/stable-diffusion-xl-base-1.0", torch_dtype=torch.'
    )


def test_a_weight_file_is_loaded_as_one(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    line = load_lines(str(file), config="sd-1.5")[-1]
    assert f'from_single_file("{file}", config="{base_id("sd-1.5")}"' in line


def test_what_is_left_out_is_not_loaded() -> None:
    assert "safety_checker=None" in load_lines("sd-1.5", RunSettings(without=("safety_checker",)))[-1]


@pytest.mark.parametrize("name", ADDED_TO)
def test_a_model_that_is_one_component_is_added_to_a_model_of_the_catalogue(name: str) -> None:
    slot, base = ADDED_TO[name]
    entry, owner = find(name), entry_of(Request(base))
    assert entry is not None and slot in entry.components
    assert owner is not None and owner.hub_id
