"""What is no history, or may not be changed, is refused in a sentence and left as it is."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.record.history import History
from diffprof.record.history.store import Store
from tests.record.history.kept_runs import four_runs, refusals
from tests.sample_profiles import nothing, stable_diffusion


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def make_foreign_file(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")
        connection.execute("PRAGMA journal_mode = WAL")


def make_newer_history(path: Path) -> None:
    four_runs(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")


def truncate(path: Path) -> None:
    four_runs(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(path: Path) -> None:
    """Its first page is there, what follows is not."""
    four_runs(path)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


def drop_tables(path: Path) -> None:
    """A history by its header, but its tables are gone."""
    four_runs(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE tags; DROP TABLE documents; DROP TABLE runs")


def run_sql(sql: str) -> Callable[[Path], None]:
    """Four runs, and what somebody else did to their tables."""

    def change(path: Path) -> None:
        four_runs(path)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(f"PRAGMA journal_mode = DELETE; {sql}")

    return change


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n"
UNREADABLE_SCHEMA = """
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = CAST(x'435245415445205441424C452072756E7320FFFE28' AS TEXT) WHERE name = 'runs'
"""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (run_sql(f"DROP TABLE runs; CREATE VIEW runs AS {ENDLESS}"), "not those of diffprof"),
        (run_sql("CREATE TRIGGER t AFTER INSERT ON tags BEGIN DELETE FROM runs; END"), "not those of diffprof"),
        (run_sql("ALTER TABLE runs ADD COLUMN more AS (abs(id))"), "not those of diffprof"),
        (run_sql(UNREADABLE_SCHEMA), "is damaged"),
        (lambda path: path.write_text("dear diary"), "is not a diffprof history"),
        (lambda path: path.write_text("\n"), "is not a diffprof history"),
        (lambda path: path.write_bytes(bytes(10_000)), "is not a diffprof history"),
        (Path.mkdir, "is not a file"),
        (make_foreign_file, "the SQLite file of another program"),
        (make_newer_history, "has version 9, this diffprof reads up to 2; upgrade diffprof"),
        (truncate, "is damaged"),
        (overwrite, "is damaged"),
        (drop_tables, "not those of diffprof"),
    ],
)
def test_a_file_that_is_not_a_history_is_rejected_and_left_unchanged(
    make: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "history.sqlite"
    make(path)
    before = contents(tmp_path) if path.is_file() else {}
    for sentence in refusals(History(path)):
        assert words in sentence
        assert str(path) in sentence
        assert sentence.endswith(".")
    assert (contents(tmp_path) if path.is_file() else {}) == before


def test_a_place_below_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history.sqlite")
    assert history.find() == ()
    with pytest.raises(RequestError, match="Cannot write the history"):
        history.add(nothing(), "run")


def as_nobody(work: Callable[[], object]) -> str:
    """What happens when somebody without rights does it: in a child, as one who is root may write everywhere."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            answer = repr(work())
        except DiffprofError as error:
            answer = f"{error.exit_code}: {error}"
        except BaseException as error:  # noqa: BLE001  the child must not go on with the parent's tests
            answer = repr(error)
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(process, 0)
    return answer


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[History]:
    """A history that may be read and not written, nor anything in its folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    history = four_runs(folder / "history.sqlite")
    history.path.chmod(0o444)
    folder.chmod(0o555)
    above = [place for place in folder.parents if place.stat().st_uid == os.geteuid() and place != Path("/")]
    modes = {place: stat.S_IMODE(place.stat().st_mode) for place in above}
    for place, mode in modes.items():
        place.chmod(mode | 0o011)
    yield history
    for place, mode in modes.items():
        place.chmod(mode)
    folder.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are taken away in a forked process")
def test_a_write_protected_history_can_be_read_and_says_that_it_cannot_be_written(protected: History) -> None:
    before = contents(protected.path.parent)
    assert as_nobody(lambda: [run.id for run in protected.find()]) == "[4, 3, 2, 1]"
    assert as_nobody(lambda: protected.get(1) == stable_diffusion()) == "True"
    for change in (
        lambda: protected.add(nothing(), "run"),
        lambda: protected.tag(1, "x"),
        lambda: protected.prune(keep=0),
        protected.check_writable,
    ):
        sentence = f"2: The history {protected.path} is write-protected; name another file with DIFFPROF_HISTORY."
        assert as_nobody(change) == sentence
    assert contents(protected.path.parent) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are taken away in a forked process")
def test_a_folder_that_cannot_be_written_is_named(protected: History) -> None:
    other = History(protected.path.parent / "deeper" / "history.sqlite")
    assert (
        as_nobody(lambda: other.add(nothing(), "run"))
        == f"2: Cannot write the history {other.path}: Permission denied."
    )


def test_a_full_disk_is_a_failed_request_and_changes_nothing(tmp_path: Path) -> None:
    history = four_runs(tmp_path / "h.sqlite")

    def too_much(connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        connection.execute("UPDATE documents SET picture = ?", (os.urandom(100_000),))

    with pytest.raises(OutputError, match="the disk is full") as error:
        Store(history.path).write(too_much)
    assert error.value.exit_code == 1
    assert [history.picture(run) for run in (1, 2, 3, 4)] == [None, None, b"PNG", None]
