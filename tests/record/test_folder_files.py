"""What lies in a model's folder is looked at before any of it is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.record import cache, folder_files
from diffprof.record.folder_files import LARGEST_TEXT_BYTES, check_files


def make_sparse(path: Path) -> None:
    """A terabyte that takes no place on the disk."""
    with path.open("wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize(
    "name",
    [
        "model_index.json",
        "unet/config.json",
        "unet/diffusion_pytorch_model.safetensors",
        "tokenizer/additional_chat_templates/rag.jinja",
    ],
)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "a pipe, a socket or a device, not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "a pipe, a socket or a device, not a file"),
    ],
    ids=["pipe", "device"],
)
def test_what_would_be_read_for_ever_is_refused(
    name: str, make: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / name)
    with pytest.raises(RequestError, match=words):
        cache.digest_of_folder(tmp_path)


def test_a_text_that_no_model_has_is_refused_and_weights_may_be_of_any_length(tmp_path: Path) -> None:
    make_sparse(tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_bytes(b" " * 10)
    check_files(tmp_path)
    make_sparse(tmp_path / "tokenizer.json")
    with pytest.raises(RequestError, match=r"tokenizer\.json has 1,099,511,627,776 bytes"):
        check_files(tmp_path)
    assert LARGEST_TEXT_BYTES < 2**30


def test_links_that_lead_nowhere_and_folders_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to("config.json")
    (tmp_path / "lost.txt").symlink_to("nothing")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "again").symlink_to(tmp_path)
    check_files(tmp_path)


def test_the_folder_of_everything_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_files, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / str(number)).touch()
    with pytest.raises(RequestError, match="has more than 2 files"):
        check_files(tmp_path)
