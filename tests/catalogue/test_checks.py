"""The tables of a catalogue file become an entry, or an error that names the wrong key."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from diffprof.catalogue.checks import read_entry
from diffprof.errors import FileFormatError

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
def test_a_wrong_file_is_rejected_with_the_key_that_is_wrong(key: str, value: Any) -> None:
    values = copy.deepcopy(GOOD)
    if value is None:
        del values[key]
    else:
        values[key] = value
    with pytest.raises(FileFormatError, match="catalogue, small"):
        read_entry(values, "small")
