"""An entry that is written is read as it was."""

from __future__ import annotations

import sys

import pytest

from diffprof import catalogue
from diffprof.catalogue.checks import read_entry
from diffprof.catalogue.entry import Entry, Part
from diffprof.catalogue.writer import entry_toml
from diffprof.errors import RequestError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENTRIES = catalogue.entries()


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_every_entry_of_the_catalogue_survives_being_written(entry: Entry) -> None:
    assert read_entry(tomllib.loads(entry_toml(entry)), entry.name) == entry


def entry(**config: object) -> Entry:
    part = Part("unet", "UNet2DModel", "diffusers", config=config, parameters=1, source="a file")
    return Entry("small", "Small", "image", "me/small", "DDPMPipeline", "float32", "a file", components={"unet": part})


def test_strange_values_and_keys_survive() -> None:
    strange = entry(
        a=None, b={"c": None, "d e": 1, "inner": {"f": "line\nand \"quote\" \\ \x7f é"}}, g=[], h=[{"i": 1.5}, {}],
        j=float("inf"), k=-0.0, l=10**30, m=True, n=[[1, 2], ["x"]],
    )  # fmt: skip
    back = read_entry(tomllib.loads(entry_toml(strange)), "small")
    assert back == strange


def test_a_part_can_be_the_same_as_another() -> None:
    text = entry_toml(entry(), {"unet": "other.unet"})
    other = entry(sample_size=8).components["unet"]
    read = read_entry(tomllib.loads(text), "small", lambda reference: other if reference == "other.unet" else None)
    assert read.components["unet"].config == {"sample_size": 8}


def test_a_null_in_a_list_cannot_be_written() -> None:
    with pytest.raises(RequestError, match="TOML has no value of that kind"):
        entry_toml(entry(a=[None]))
