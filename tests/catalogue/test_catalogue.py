"""The catalogue's files are whole, and each model answers to all its names."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from diffprof import catalogue
from diffprof.catalogue import reader
from diffprof.catalogue.checks import read_entry
from diffprof.errors import FileFormatError

ENTRIES = catalogue.entries()
NAMES = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_model_answers_to_every_name_in_any_case(entry: catalogue.Entry) -> None:
    for name in entry.names:
        for spelling in (name, name.lower(), name.upper()):
            assert catalogue.find(spelling) is entry


def test_no_name_is_taken_twice() -> None:
    names = [name.lower() for entry in ENTRIES for name in {name.lower() for name in entry.names}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_model_has_a_denoiser_a_scheduler_and_sources(entry: catalogue.Entry) -> None:
    assert entry.denoiser is not None
    assert entry.denoiser.parameters
    assert any("scheduler" in slot for slot in entry.components)
    assert entry.source
    assert all(part.source for part in entry.components.values())


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_tokenizer_has_what_a_stand_in_needs(entry: catalogue.Entry) -> None:
    for slot, part in entry.components.items():
        if "tokenizer" in slot:
            assert part.tokenizer is not None
            assert part.tokenizer.model_max_length > 0
            tokens = {*part.tokenizer.prefix, *part.tokenizer.suffix, *part.tokenizer.roles.values()}
            assert tokens <= set(part.tokenizer.special_tokens)


def test_the_denoiser_of_a_pipeline_is_not_its_autoencoder() -> None:
    entry = catalogue.find("sd-2.1-base")
    assert entry is not None
    assert entry.denoiser is entry.components["unet"]
    assert entry.denoiser.parameters == 865_910_724


@pytest.mark.parametrize("name", ["", "nonsense", "../models/sdxl", "sdxl.toml", "a/b/c", "x\0y", "."])
def test_an_unknown_name_finds_nothing(name: str) -> None:
    assert catalogue.find(name) is None
    assert catalogue.content(name) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sdlx", "sdxl"), ("sd2.1-bas", "sd-2.1-base"), ("FLUX", "flux.1-dev"), ("wan", "wan2.1-t2v-14b")],
)
def test_the_nearest_names_are_those_that_were_meant(typed: str, meant: str) -> None:
    assert meant in catalogue.nearest(typed)


def test_nothing_is_near_to_nonsense() -> None:
    assert catalogue.nearest("qqqqqqqqqqqq") == ()


GOOD: dict[str, Any] = {
    "format": 1,
    "name": "small",
    "title": "Small",
    "media": "image",
    "hub_id": "org/small",
    "aliases": ["tiny"],
    "pipeline": "StableDiffusionPipeline",
    "dtype": "float16",
    "source": "model card",
    "unconfirmed": ["components.unet: a guess"],
    "components": {
        "unet": {
            "class": "UNet2DConditionModel",
            "library": "diffusers",
            "parameters": 5,
            "source": "config.json",
            "none": ["act", "inner.act"],
            "config": {"sample_size": 8, "inner": {"size": 3}},
        },
        "tokenizer": {
            "class": "CLIPTokenizer",
            "library": "transformers",
            "model_max_length": 77,
            "vocab_size": 100,
            "prefix": ["<s>"],
            "special_tokens": {"<s>": 0},
            "roles": {"bos_token": "<s>"},
        },
    },
}


def test_a_file_becomes_an_entry() -> None:
    entry = read_entry(GOOD, "small")
    assert entry.names == ("small", "org/small", "tiny")
    assert entry.parameters == 5
    assert entry.components["unet"].config == {"sample_size": 8, "act": None, "inner": {"size": 3, "act": None}}
    facts = entry.components["tokenizer"].tokenizer
    assert facts is not None
    assert (facts.model_max_length, facts.prefix, facts.suffix, facts.padding_side) == (77, ("<s>",), (), "right")


WRONG: dict[str, tuple[str, Any]] = {
    "another format": ("format", 2),
    "a name that is not the file's": ("name", "large"),
    "a missing title": ("title", None),
    "an unknown medium": ("media", "sound"),
    "an unknown key": ("colour", "red"),
    "aliases that are a text": ("aliases", "tiny"),
    "aliases that are numbers": ("aliases", [1]),
    "components that are a list": ("components", []),
    "a component that is a text": ("components", {"unet": "UNet"}),
    "a component without a class": ("components", {"unet": {"library": "diffusers"}}),
    "code from elsewhere": ("components", {"unet": {"class": "Evil", "library": "evil"}}),
    "a negative count": ("components", {"unet": {"class": "U", "library": "diffusers", "parameters": -1}}),
    "a count that is true": ("components", {"unet": {"class": "U", "library": "diffusers", "parameters": True}}),
}


@pytest.mark.parametrize(("key", "value"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_refused_with_the_key_that_is_wrong(key: str, value: Any) -> None:
    values = copy.deepcopy(GOOD)
    if value is None:
        del values[key]
    else:
        values[key] = value
    with pytest.raises(FileFormatError, match="catalogue, small"):
        read_entry(values, "small")


def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.toml").write_text("format = ")
    monkeypatch.setattr(reader, "FOLDER", tmp_path)
    with pytest.raises(FileFormatError, match=r"broken\.toml"):
        catalogue.entries()
