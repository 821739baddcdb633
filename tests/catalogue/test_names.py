"""What a model name means, and in which order."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from diffprof.catalogue.names import Place, resolve
from diffprof.errors import RequestError, UnsafeModelError


def make_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "model_index.json").write_text("{}")
    return folder


@pytest.fixture
def model_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(folder))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return folder


@pytest.mark.parametrize("name", ["sd-2.1-base", "SD-2.1-Base", "stabilityai/stable-diffusion-2-1-base"])
def test_every_name_of_a_catalogue_model_is_that_model(name: str) -> None:
    resolved = resolve(name)
    assert (resolved.place, resolved.folder, resolved.name) == (Place.catalogue, None, "sd-2.1-base")
    assert resolved.entry is not None


def test_a_folder_is_found_by_its_path_and_a_hub_id_by_its_form(model_dir: Path) -> None:
    own = make_model(Path("own").absolute())
    assert resolve("own").folder == Path("own")
    assert resolve(str(own)).folder == own
    assert (resolve("someone/some-model").place, resolve("someone/some-model").entry) == (Place.hub, None)


def test_a_folder_of_model_dirs_wins_over_the_catalogue_the_hub_and_the_current_folder(model_dir: Path) -> None:
    for name in ("sd-2.1-base", "someone/some-model", "own"):
        expected = make_model(model_dir / name)
        assert (resolve(name).place, resolve(name).folder) == (Place.folder, expected)
    make_model(Path("own").absolute())
    assert resolve("own").folder == model_dir / "own"
    assert resolve("./own").folder == Path("own")


def test_a_catalogue_model_is_found_in_model_dirs_under_any_of_its_names(model_dir: Path) -> None:
    folder = make_model(model_dir / "stabilityai" / "stable-diffusion-2-1-base")
    resolved = resolve("sd-2.1-base")
    assert (resolved.folder, resolved.name) == (folder, "sd-2.1-base")


@pytest.mark.parametrize("name", ["../models/own", "nothing-like-this", "", "a" * 5000, "a\0b"])
def test_an_invalid_model_name_is_rejected(name: str, model_dir: Path) -> None:
    with pytest.raises(RequestError, match=r"Unknown model|There is no folder"):
        resolve(name)


def test_a_file_that_holds_no_weights_is_rejected_with_a_hint(model_dir: Path) -> None:
    Path("p.json").write_text("{}")
    with pytest.raises(RequestError, match=r"p\.json is not a model; if it is a saved profile, .*`diffprof show"):
        resolve("p.json")


@pytest.mark.parametrize("name", ["own.safetensors", "own.GGUF"])
def test_a_weight_file_is_found_by_its_path(name: str, model_dir: Path) -> None:
    Path(name).touch()
    for given in (name, f"./{name}", Path(name)):
        resolved = resolve(given)
        assert (resolved.place, resolved.file, resolved.name) == (Place.file, Path(name), str(given))


def test_a_pickle_is_rejected_with_the_reason(model_dir: Path) -> None:
    Path("old.ckpt").touch()
    with pytest.raises(UnsafeModelError, match="can run code when it is read"):
        resolve("old.ckpt")


@pytest.mark.parametrize("name", ["./nowhere.safetensors", "nowhere.gguf", "nowhere.ckpt"])
def test_a_weight_file_that_is_missing_is_called_a_file(name: str, model_dir: Path) -> None:
    with pytest.raises(RequestError, match=f"There is no file {name}"):
        resolve(name)


def test_a_folder_of_the_hubs_cache_is_the_revision_in_use(tmp_path: Path) -> None:
    cache = tmp_path / "models--org--name"
    old = make_model(cache / "snapshots" / "0123")
    assert resolve(cache).folder == old
    new = make_model(cache / "snapshots" / "4567")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("4567")
    assert resolve(cache).folder == new
    (cache / "refs" / "main").write_text("gone")
    assert resolve(cache).folder == cache


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_a_revision_that_would_be_read_for_ever_is_not_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    cache = tmp_path / "models--org--name"
    only = make_model(cache / "snapshots" / "0123")
    (cache / "refs").mkdir()
    make(cache / "refs" / "main")
    assert resolve(cache).folder == only


def test_a_folder_with_one_weight_file_and_nothing_else_is_that_file(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.touch()
    assert (resolve(tmp_path).place, resolve(tmp_path).file) == (Place.file, file)
    other = tmp_path / "other.safetensors"
    other.touch()
    assert resolve(tmp_path).place is Place.folder
    other.unlink()
    (tmp_path / "config.json").touch()
    assert resolve(tmp_path).place is Place.folder
