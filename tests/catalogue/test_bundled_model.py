"""The model on board is found by its name, and a folder of that name by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.catalogue.bundled_model import SHAPES, is_bundled, shapes_folder
from diffprof.catalogue.names import Place, resolve


@pytest.mark.parametrize("name", [SHAPES, "Shapes", "SHAPES"])
def test_the_name_in_any_case_means_the_folder_in_the_package(name: str) -> None:
    resolved = resolve(name)
    assert (resolved.place, resolved.folder, resolved.name) == (Place.folder, shapes_folder(), SHAPES)
    assert (shapes_folder() / "model_index.json").is_file()


@pytest.mark.parametrize("other", ["shape", "shapes/shapes", "./shapes", "", Path(SHAPES)])
def test_other_names_and_paths_mean_something_else(other: str | Path) -> None:
    assert not is_bundled(other)


def test_a_folder_of_the_same_name_is_used_only_when_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / SHAPES).mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve(SHAPES).folder == shapes_folder()
    for path in (f"./{SHAPES}", Path(SHAPES)):
        folder = resolve(path).folder
        assert folder is not None
        assert folder.resolve() == tmp_path / SHAPES


def test_its_name_is_suggested_for_a_misspelled_one() -> None:
    assert catalogue.unknown_model_message("shape") == "Unknown model 'shape'; did you mean shapes?"
