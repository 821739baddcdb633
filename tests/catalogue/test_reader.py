"""The catalogue is read from its files, and each model is found by all its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.catalogue import reader
from diffprof.errors import FileFormatError

ENTRIES = catalogue.entries()
NAMES = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_model_is_found_by_each_of_its_names_in_any_case(entry: catalogue.Entry) -> None:
    for name in entry.names:
        for spelling in (name, name.lower(), name.upper()):
            assert catalogue.find(spelling) is entry


def test_no_name_is_taken_twice() -> None:
    names = [name.lower() for entry in ENTRIES for name in {name.lower() for name in entry.names}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["", "nonsense", "../models/sdxl", "sdxl.toml", "a/b/c", "x\0y", "."])
def test_an_unknown_name_finds_nothing(name: str) -> None:
    assert catalogue.find(name) is None
    assert catalogue.content(name) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sdlx", "sdxl"), ("sd2.1-bas", "sd-2.1-base"), ("FLUX", "flux.1-dev"), ("wan", "wan2.2-t2v-a14b")],
)
def test_the_nearest_names_are_suggested(typed: str, meant: str) -> None:
    assert meant in catalogue.nearest(typed)


def test_nothing_is_near_to_nonsense() -> None:
    assert catalogue.nearest("qqqqqqqqqqqq") == ()


def test_a_file_that_is_not_toml_is_rejected_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.toml").write_text("format = ")
    monkeypatch.setattr(reader, "FOLDER", tmp_path)
    with pytest.raises(FileFormatError, match=r"broken\.toml"):
        catalogue.entries()
