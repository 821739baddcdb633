"""A folder becomes an entry that builds the same pipeline without the folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof import catalogue
from diffprof.catalogue.checks import read_entry
from diffprof.catalogue.own_entries import save_entry
from diffprof.catalogue.writer import entry_toml
from diffprof.errors import RequestError
from diffprof.pipelines.building.tokenizers import StandInTokenizer
from diffprof.pipelines.describing import describe_source, facts_of_tokenizer
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines.text_tokenizers import clip_tokenizer, gemma_tokenizer, t5_tokenizer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SMALL: dict[str, Any] = {"height": 32, "width": 32, "num_inference_steps": 2, "guidance_scale": 7.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "My model"
    saved_with_weights("stable-diffusion", place)
    return place


@pytest.fixture
def own_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "entries"))
    return tmp_path / "entries"


def test_an_entry_counts_as_its_folder_does_with_and_without_it(folder: Path, own_entries: Path) -> None:
    entry = describe_source(str(folder), "mine", task="text-to-image")
    assert read_entry(tomllib.loads(entry_toml(entry)), "mine") == entry
    assert (entry.path, entry.hub_id, entry.media, entry.title) == (str(folder), None, "image", "My model")
    save_entry(entry)
    expected = diffprof.profile(folder, **SMALL)
    here = diffprof.profile("mine", **SMALL)
    assert (here.request.model, here.request.source) == ("mine", "folder")
    folder.rename(folder.with_name("elsewhere"))
    try:
        away = diffprof.profile("mine", **SMALL)
    finally:
        folder.with_name("elsewhere").rename(folder)
    assert away.request.source == "catalogue"
    for profile in (here, away):
        assert {slot: (part.parameters, part.work) for slot, part in profile.components.items()} == {
            slot: (part.parameters, part.work) for slot, part in expected.components.items()
        }


def test_an_entry_has_only_what_differs_from_the_classes_defaults(folder: Path) -> None:
    entry = describe_source(str(folder), "mine")
    unet = entry.components["unet"]
    assert "act_fn" not in unet.config
    assert unet.config["cross_attention_dim"] == 32
    assert unet.parameters == diffprof.profile(folder, **SMALL).components["unet"].parameters
    text_encoder = entry.components["text_encoder"].config
    assert text_encoder["hidden_size"] == 32
    assert not {"architectures", "transformers_version", "dtype"} & text_encoder.keys()


def test_the_dtype_and_recommended_settings_of_an_own_entry_hold(folder: Path, own_entries: Path) -> None:
    save_entry(describe_source(str(folder), "mine", "bfloat16", recommended={"num_inference_steps": 3}))
    profile = diffprof.profile("mine", height=32, width=32)
    assert profile.request.dtype == "bfloat16"
    assert profile.request.recommended == ("num_inference_steps",)
    assert profile.request.value("num_inference_steps") == 3


@pytest.mark.parametrize("make", [clip_tokenizer, t5_tokenizer, gemma_tokenizer])
def test_a_stand_in_by_facts_frames_and_pads_a_text_as_the_tokenizer_does(make: Callable[[], Any]) -> None:
    tokenizer = make()
    stand_in = StandInTokenizer(facts_of_tokenizer(tokenizer))
    own, other = (
        made("a cat", padding="max_length", max_length=16, truncation=True)["input_ids"]
        for made in (tokenizer, stand_in)
    )
    assert len(own) == len(other) == 16
    special = set(tokenizer.all_special_ids)
    assert [number for number in other if number in special][:1] == [number for number in own if number in special][:1]
    assert facts_of_tokenizer(stand_in) == stand_in.facts


def test_a_model_of_the_catalogue_needs_no_entry() -> None:
    with pytest.raises(RequestError, match="sdxl is already in the catalogue"):
        describe_source("sdxl", "mine")
    assert catalogue.find("sdxl") is not None
