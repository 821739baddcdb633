"""A user's own entries come before those of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.catalogue.own_entries import check_name, save_entry, suggest_name
from diffprof.errors import FileFormatError, OutputError, RequestError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "mine"))
    return tmp_path / "mine"


def entry(name: str) -> catalogue.Entry:
    found = catalogue.find("dit-xl-2-256")
    assert found is not None
    return replace(found, name=name, title=f"My {name}", hub_id=f"me/{name}", aliases=(f"{name}-too",))


def test_a_saved_entry_is_found_by_all_its_names_and_listed_first(folder: Path) -> None:
    assert catalogue.find("private-dit") is None
    file = save_entry(entry("private-dit"))
    assert file == folder / "private-dit.toml"
    for name in ("private-dit", "Private-DiT", "me/private-dit", "private-dit-too", "privatedit"):
        assert catalogue.find(name) == entry("private-dit")
    assert next(found.name for found in catalogue.entries()) == "private-dit"
    assert catalogue.content("private-dit") == file.read_bytes()
    assert "private-dit" in catalogue.nearest("private-di")


def test_an_own_entry_comes_before_one_of_the_catalogue(folder: Path) -> None:
    with pytest.raises(RequestError, match=r"sdxl is already the name of a model \(Stable Diffusion XL"):
        save_entry(entry("sdxl"))
    save_entry(entry("sdxl"), may_replace=True)
    assert catalogue.find("sdxl") == entry("sdxl")
    assert [found.title for found in catalogue.entries() if found.name == "sdxl"] == ["My sdxl"]


def test_an_entry_that_changed_is_read_again(folder: Path) -> None:
    save_entry(entry("private-dit"))
    assert catalogue.find("private-dit") is not None
    save_entry(replace(entry("private-dit"), title="Another title"), may_replace=True)
    found = catalogue.find("private-dit")
    assert found is not None
    assert found.title == "Another title"


@pytest.mark.parametrize("name", ["", "Shapes", "shapes", "a/b", "..", "My Model", "x" * 101])
def test_names_that_no_entry_can_have_are_refused(name: str) -> None:
    with pytest.raises(RequestError, match="cannot be the name of a model"):
        check_name(name, may_replace=True)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/models/My Model/", "my-model"),
        ("me/FLUX.2-mine", "flux.2-mine"),
        ("weights/Style v2.safetensors", "style-v2"),
        ("C:\\models\\Mine", "mine"),
    ],
)
def test_a_name_is_suggested_by_the_source(source: str, name: str) -> None:
    assert suggest_name(source) == name


def test_a_broken_own_entry_is_named(folder: Path) -> None:
    folder.mkdir()
    (folder / "broken.toml").write_text("format = ")
    with pytest.raises(FileFormatError, match=r"broken\.toml"):
        catalogue.entries()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="is not a folder"):
        save_entry(entry("private-dit"))
