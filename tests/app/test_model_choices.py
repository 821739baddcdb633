"""Which models a visitor may open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.app.model_choices import choose_model, model_choices, model_hint
from diffprof.errors import RequestError


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the owner named, with a model in it, and another model beside it."""
    for place in ("named/inside", "beside"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "model_index.json").write_text("{}")
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(tmp_path / "named"))
    return tmp_path / "named"


def test_models_of_the_catalogue_and_of_the_named_folders_are_offered(named: Path) -> None:
    offered = dict(model_choices())
    (label,) = (label for label, name in offered.items() if name == "sd-1.5")
    entry = catalogue.find("sd-1.5")
    assert entry is not None
    assert label.startswith("Stable Diffusion 1.5 · sd-1.5 · ")
    assert all(name in label for name in entry.names), "a search by any of its names finds it"
    assert offered["inside (folder)"] == str(named / "inside")
    assert all(choose_model(name, allow_paths=False) == name for name in offered.values())


def test_the_hint_promises_folders_only_where_they_are_opened(named: Path) -> None:
    assert "path of a folder" in model_hint(allow_paths=True)
    assert "path" not in model_hint(allow_paths=False)
    assert "Your model folders are listed first." in model_hint(allow_paths=False)


def test_a_folder_is_opened_by_its_name_and_by_its_path(named: Path) -> None:
    for typed in ("inside", str(named / "inside"), f"{named}/../named/inside", " inside "):
        assert choose_model(typed, allow_paths=False) == str(named / "inside")


def test_a_link_that_the_owner_put_there_may_be_followed(named: Path) -> None:
    (named / "linked").symlink_to(named.parent / "beside")
    assert choose_model("linked", allow_paths=False) == str(named / "linked")


@pytest.mark.parametrize(
    "typed", ["../beside", "inside/../../beside", "/etc", "~", ".", "..", "a\0b", "a" * 300, "somebody/model"]
)
def test_nothing_else_is_opened(named: Path, typed: str) -> None:
    with pytest.raises(RequestError, match="--allow-paths"):
        choose_model(typed, allow_paths=False)


def test_a_rejection_does_not_reveal_whether_a_path_exists(named: Path) -> None:
    refusals = []
    for typed in (str(named.parent / "beside"), str(named.parent / "nobody")):
        with pytest.raises(RequestError) as refused:
            choose_model(typed, allow_paths=False)
        refusals.append(str(refused.value).replace("beside", "").replace("nobody", ""))
    assert refusals[0] == refusals[1]


def test_any_folder_is_opened_where_the_page_was_started_for_it(named: Path) -> None:
    beside = str(named.parent / "beside")
    assert choose_model(beside, allow_paths=True) == beside
    with pytest.raises(RequestError, match="There is no folder /nowhere"):
        choose_model("/nowhere", allow_paths=True)


def test_the_usual_model_is_opened_wherever_the_owner_has_it(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = str(named.parent / "beside")
    monkeypatch.setenv("DIFFPROF_DEFAULT_MODEL", beside)
    assert choose_model(beside, allow_paths=False) == beside
    with pytest.raises(RequestError, match="--allow-paths"):
        choose_model(f"{beside}/..", allow_paths=False)


def test_a_named_folder_that_cannot_be_read_offers_nothing(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (named.parent / "file").write_text("no folder")
    folders = [str(named.parent / "file"), str(named.parent / "nowhere"), str(named)]
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", os.pathsep.join(folders))
    assert dict(model_choices())["inside (folder)"] == str(named / "inside")


def test_an_empty_choice_is_rejected() -> None:
    for typed in (None, "", "  "):
        with pytest.raises(RequestError, match="Choose a model"):
            choose_model(typed, allow_paths=True)
