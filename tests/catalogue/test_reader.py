"""The catalogue is read from its files, and each model is found by all its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof import catalogue, settings
from diffprof.catalogue import reader
from diffprof.errors import FileFormatError

ENTRIES = catalogue.entries()
NAMES = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_model_is_found_by_each_of_its_names_in_any_case(entry: catalogue.Entry) -> None:
    for name in entry.names:
        for spelling in (name, name.lower(), name.upper()):
            assert catalogue.find(spelling) is entry


def test_the_head_of_a_file_says_what_reading_all_of_it_says() -> None:
    heads = [(head.path.stem, head.family, head.task, head.year) for head in catalogue.heads()]
    assert heads == [(entry.name, entry.family, entry.task, entry.year or 0) for entry in ENTRIES]


def test_a_model_of_ones_own_has_a_head_however_its_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (reader.FOLDER / "sd-2.1-base.toml").read_text(encoding="utf-8").replace('"sd-2.1-base"', "'mine'", 1)
    (tmp_path / "mine.toml").write_text(text.replace("year = ", "year   =   "), encoding="utf-8")
    monkeypatch.setattr(settings, "CATALOGUE_DIR", tmp_path)
    mine = next(head for head in catalogue.heads() if head.path.stem == "mine")
    assert (mine.task, mine.entry().name) == ("text-to-image", "mine")
    assert mine.year == mine.entry().year


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
