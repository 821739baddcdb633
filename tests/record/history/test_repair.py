"""A damaged history is copied as far as it is intact, and what was lost is listed."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, RequestError
from diffprof.record.history import History
from tests.record.history.kept_runs import four_runs
from tests.record.history.test_row_checks import change


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = four_runs(tmp_path / "h.sqlite")
    with sqlite3.connect(history.path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return history


def test_a_whole_history_is_copied_with_everything(history: History, tmp_path: Path) -> None:
    before = history.path.read_bytes()
    result = history.repair(tmp_path / "new.sqlite")
    new = History(tmp_path / "new.sqlite")
    assert (result.saved, result.lost, result.redated, result.is_complete) == (4, (), (), True)
    assert new.find() == history.find()
    assert [new.get(run) for run in (1, 2, 3, 4)] == [history.get(run) for run in (1, 2, 3, 4)]
    assert new.picture(3) == b"PNG"
    assert history.path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir() if "repairing" in file.name) == []


def test_what_is_damaged_in_a_row_comes_from_the_profile_again(history: History, tmp_path: Path) -> None:
    whole = history.get_run(2)
    change(history.path, "macs", "many")
    change(history.path, "created_at", "yesterday")
    change(history.path, "kind", 5)
    result = history.repair(tmp_path / "new.sqlite")
    assert (result.saved, result.lost, result.redated) == (4, (), (2,))
    repaired = History(tmp_path / "new.sqlite").get_run(2)
    assert (repaired.macs, repaired.kind, repaired.tags) == (whole.macs, whole.kind, whole.tags)
    assert repaired.created_at == history.get_run(1).created_at


def test_a_profile_that_cannot_be_read_is_lost_and_named(history: History, tmp_path: Path) -> None:
    change(history.path, "profile", b"nothing", table="documents")
    result = history.repair(tmp_path / "new.sqlite")
    assert (result.saved, result.lost) == (3, (2,))
    assert [run.id for run in History(tmp_path / "new.sqlite").find()] == [4, 3, 1]


def test_a_file_whose_pages_are_damaged_is_read_as_far_as_it_goes(history: History, tmp_path: Path) -> None:
    data = bytearray(history.path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = os.urandom(4096)
    history.path.write_bytes(data)
    result = history.repair(tmp_path / "new.sqlite")
    new = History(tmp_path / "new.sqlite")
    assert new.count() == result.saved
    assert all(new.get(run.id).total.macs >= 0 for run in new.find())
    with sqlite3.connect(new.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_what_is_no_history_or_would_be_overwritten_is_refused(history: History, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="already exists"):
        history.repair(history.path)
    with pytest.raises(RequestError, match="There is no history"):
        History(tmp_path / "none.sqlite").repair(tmp_path / "new.sqlite")
    history.path.write_bytes(b"dear diary" * 1000)
    with pytest.raises(FileFormatError, match=r"Nothing of .* can be read"):
        history.repair(tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()
