"""An older history is migrated with all its runs, or left as it was."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from diffprof.record.history import History, schema
from diffprof.record.history.store import Store
from tests.record.history.kept_runs import four_runs, refusals
from tests.sample_profiles import nothing, stable_diffusion


def with_a_note(connection: sqlite3.Connection) -> None:
    """What a second version could need: a new column, filled from what is kept."""
    connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")
    connection.execute("UPDATE runs SET note = 'steps: ' || steps")


def notes(connection: sqlite3.Connection) -> list[str]:
    return [note for (note,) in connection.execute("SELECT note FROM runs ORDER BY id")]


@pytest.mark.parametrize("how", ["reading", "writing"])
def test_an_older_history_is_migrated_with_all_its_runs(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = four_runs(tmp_path / "h.sqlite")
    before = history.find()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, with_a_note))
    if how == "reading":
        assert Store(history.path).read(notes, []) == ["steps: 31", "steps: 4", "steps: 4", "steps: 4"]
    else:
        history.check_writable()
    assert history.find() == before
    assert Store(history.path).read(schema.version_of, 0) == 3
    monkeypatch.undo()
    assert all("has version 3, this diffprof reads up to 2" in sentence for sentence in refusals(history))


def test_a_history_whose_migration_fails_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = four_runs(tmp_path / "h.sqlite")

    def fails(connection: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as newer:
        newer.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, with_a_note, fails))
        with pytest.raises(KeyboardInterrupt):
            history.check_writable()
    assert Store(history.path).read(schema.version_of, 0) == 2
    assert history.count() == 4


def test_a_history_of_the_first_version_gets_a_column_for_the_requested_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "h.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        schema.migrate(connection, schema.MIGRATIONS[:1])
    history = History(file)
    history.add(stable_diffusion(), "profile")
    (run,) = history.find()
    assert (run.steps, run.requested_steps) == (31, 30)


def test_a_history_is_migrated_only_once(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(four_runs(tmp_path / "h.sqlite").path)) as connection:
        schema.migrate(connection, ())
        assert schema.version_of(connection) == 2


def test_an_empty_file_becomes_a_history(tmp_path: Path) -> None:
    """A file of no bytes is what a process leaves that was killed before it wrote anything."""
    (tmp_path / "h.sqlite").touch()
    assert History(tmp_path / "h.sqlite").find() == ()
    assert History(tmp_path / "h.sqlite").add(nothing(), "run") == 1
