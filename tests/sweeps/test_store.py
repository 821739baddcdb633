"""Answers are kept on disk under all that they depend on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.errors import OutputError
from diffprof.record import cache
from diffprof.record.request import Request
from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import Task
from diffprof.sweeps.store import SweepStore, key_of
from tests.sample_profiles import stable_diffusion


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(Request(str(stable_diffusion().save(tmp_path / "p.json"))), ("l4",))


def test_an_answer_is_read_by_the_next_process(task: Task) -> None:
    rows = evaluate(task).rows
    with closing(SweepStore()) as store:
        assert store.rows(task) is None
        store.keep(task, rows)
    with closing(SweepStore()) as store:
        assert store.rows(task) == rows


def test_another_request_has_another_key() -> None:
    task = Task(Request("sdxl", {"height": 512}))
    others = (
        Task(Request("sdxl", {"height": 576})),
        Task(Request("sdxl", {"height": 512}, dtype="float32")),
        Task(Request("sd-1.5", {"height": 512})),
        replace(task, gpus=("l4",)),
    )
    assert len({key_of(each) for each in (task, *others)}) == 5


def test_clearing_the_cache_forgets_the_answers(task: Task) -> None:
    with closing(SweepStore()) as store:
        store.keep(task, evaluate(task).rows)
    cache.clear()
    with closing(SweepStore()) as store:
        assert store.rows(task) is None


@pytest.mark.parametrize(
    "change", ["'[[1]]'", "x'ff'", "7", "replace(rows, '\"l4\"', '[]')", "CAST(x'5bff5d' AS TEXT)"]
)
def test_a_damaged_answer_is_answered_again(task: Task, change: str) -> None:
    with closing(SweepStore()) as store:
        store.keep(task, evaluate(task).rows)
    with closing(sqlite3.connect(cache.sweeps_file())) as connection:
        connection.execute(f"UPDATE answers SET rows = {change}")
        connection.commit()
    with closing(SweepStore()) as store:
        assert store.rows(task) is None


def test_the_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE precious (id)")
        connection.commit()
    with pytest.raises(OutputError, match="is the SQLite file of another program; choose another file with --store"):
        SweepStore(file)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("my notes, which are long enough to be no header of SQLite\n" * 20, encoding="utf-8")
    with pytest.raises(OutputError, match="name another file with --store"):
        SweepStore(file)
    assert file.read_text(encoding="utf-8").startswith("my notes")
