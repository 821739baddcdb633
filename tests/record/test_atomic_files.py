"""A file is written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffprof.errors import OutputError
from diffprof.record.atomic_files import replace_file


def test_an_existing_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_when_writing_fails_the_old_file_stays_and_nothing_else_is_left(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(_: int) -> None:
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        replace_file(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    before = Path(os.devnull).stat().st_mode
    replace_file(os.devnull, b"data")
    assert Path(os.devnull).stat().st_mode == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_write_protected_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(OutputError, match="write-protected"):
        replace_file(path, b"new")


def test_pieces_are_written_one_after_the_other_and_an_error_between_them_leaves_the_old_content(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    replace_file(path, iter([b"one ", b"two"]))
    assert path.read_bytes() == b"one two"

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        replace_file(path, broken())
    assert path.read_bytes() == b"one two"
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["file"]
