"""Many processes write at once and some are killed: nothing that was kept is lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.record.history import History
from diffprof.record.history.store import Store
from tests.record.history.kept_runs import four_runs
from tests.sample_profiles import nothing, stable_diffusion

ROOT = Path(__file__).parents[3]
WRITERS, EACH = 8, 12
PATIENCE = 600
"""Seconds after which something hangs; no test waits that long."""
NO_KILL = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")

START = "import sys; from diffprof.record.history import History; from tests.sample_profiles import nothing\n"

# Everything is written but the end of the transaction. The picture is larger than what SQLite holds back in memory.
KILLED_IN_THE_MIDDLE = f"""{START}
import os, signal
from diffprof.record.history import rows
insert = rows.insert
def insert_and_die(*arguments):
    insert(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
rows.insert = insert_and_die
History(sys.argv[1]).add(nothing(), "run", picture=os.urandom(8_000_000))
"""

ADDS_UNTIL_KILLED = f"""{START}
import os
history = History(sys.argv[1])
while True:
    print(history.add(nothing(), "run", ["get_run"], os.urandom(100_000)), flush=True)
"""


@contextlib.contextmanager
def child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_whole(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def write_many(path: Path, writer: int, start: Any, told: Any) -> None:
    """Begins at the same moment as all others, when there is no file yet."""
    history = History(path)
    start.wait()
    told.put([history.add(nothing(), "run", tags=[f"writer {writer}", f"number {n}"]) for n in range(EACH)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_eight_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "history.sqlite"
    forking = multiprocessing.get_context("fork")
    start, answers = forking.Barrier(WRITERS), forking.Queue()
    writers = [forking.Process(target=write_many, args=(path, n, start, answers)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    told = [answers.get(timeout=PATIENCE) for _ in writers]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    history = History(path)
    runs = history.find(limit=None)
    assert sorted(run.id for run in runs) == sorted(number for numbers in told for number in numbers)
    assert {run.tags for run in runs} == {(f"number {n}", f"writer {w}") for n in range(EACH) for w in range(WRITERS)}
    assert len(runs) == WRITERS * EACH
    assert all(history.get(run.id) == nothing() for run in runs)
    assert is_whole(path)


@NO_KILL
def test_a_process_that_is_killed_before_the_end_of_its_transaction_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    history = four_runs(tmp_path / "history.sqlite")
    with child(KILLED_IN_THE_MIDDLE, history.path) as killed:
        assert killed.wait() == -signal.SIGKILL
    # It had come far: what it wrote is there, and must not be heeded.
    assert (tmp_path / "history.sqlite-wal").stat().st_size > 4_000_000
    assert [run.id for run in history.find()] == [4, 3, 2, 1]
    assert history.get(1) == stable_diffusion()
    assert history.add(nothing(), "run") == 5
    assert is_whole(history.path)


@NO_KILL
def test_a_process_that_is_killed_while_it_makes_the_store_leaves_one_that_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with child(KILLED_IN_THE_MIDDLE, path) as killed:
        assert killed.wait() == -signal.SIGKILL
    assert History(path).find() == ()
    assert History(path).add(nothing(), "run") == 1


@NO_KILL
def test_every_run_a_process_reported_as_kept_survives_its_being_killed(tmp_path: Path) -> None:
    path, told = tmp_path / "history.sqlite", []
    for number in range(4):
        with child(ADDS_UNTIL_KILLED, path) as writer:
            assert writer.stdout is not None
            told += [int(writer.stdout.readline()) for _ in range(3 + number)]
            writer.kill()
            # What it said between the last line that was read and its end.
            told += [int(line) for line in writer.stdout.read().splitlines() if line]
    history = History(path)
    kept = [run.id for run in history.find(limit=None, reverse=True)]
    assert set(told) <= set(kept)
    assert len(kept) <= len(told) + 4  # at most one for each was kept and could not be told any more
    assert all(history.get(run) == nothing() and len(history.picture(run) or b"") == 100_000 for run in kept)
    assert is_whole(path)


def test_the_store_is_in_wal_mode(tmp_path: Path) -> None:
    four_runs(tmp_path / "h.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "h.sqlite")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_reader_does_not_wait_for_a_writer_and_a_writer_says_that_it_waited_in_vain(tmp_path: Path) -> None:
    history = History(four_runs(tmp_path / "h.sqlite").path, timeout_seconds=0.05)
    with contextlib.closing(sqlite3.connect(history.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert history.count() == 4
        for change in (
            lambda: history.add(nothing(), "run"),
            lambda: history.tag(1, "x"),
            lambda: history.prune(keep=0),
            history.check_writable,
        ):
            with pytest.raises(RequestError, match="locked by another process; try again"):
                change()
    assert history.count() == 4


def test_a_writer_waits_for_another_one(tmp_path: Path) -> None:
    import threading

    history = four_runs(tmp_path / "h.sqlite")
    other = sqlite3.connect(history.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Thread(target=lambda: history.add(nothing(), "run"))
    done.start()
    done.join(0.2)
    assert done.is_alive()
    other.execute("COMMIT")
    other.close()
    done.join(30)
    assert history.count() == 5


def test_names_that_mean_something_in_an_address_are_names(tmp_path: Path) -> None:
    path = tmp_path / "100% #1?mode=memory.sqlite"
    History(path).add(nothing(), "run")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert History(path).count() == 1


def test_an_error_of_ours_is_not_taken_for_damage(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        Store(four_runs(tmp_path / "h.sqlite").path).write(
            lambda connection: connection.execute("INSERT INTO tags (run, tag) VALUES (99, 'x')")
        )


def test_waiting_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite does not wait by itself, it is tried again and again, but not for ever."""
    attempts = []

    def busy(connection: sqlite3.Connection) -> None:
        attempts.append(connection)
        if len(attempts) < 3:
            raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    Store(tmp_path / "h.sqlite").write(busy)
    assert len(attempts) == 3
    attempts.clear()
    with pytest.raises(RequestError, match="locked"):
        Store(tmp_path / "h.sqlite", timeout_seconds=-1).write(busy)
    assert len(attempts) == 1
