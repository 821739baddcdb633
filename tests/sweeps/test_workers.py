"""Worker processes give what this process gives, and none of them is missed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from diffprof.record.request import Request
from diffprof.sweeps.records import Task
from diffprof.sweeps.workers import WorkerProcesses
from tests.sweeps.saved_sweeps import rows_in_process, saved_sweep


def test_workers_that_are_killed_lose_no_point(tmp_path: Path) -> None:
    sweep = saved_sweep(tmp_path, models=6)
    workers = WorkerProcesses(2)
    answers = workers.answers(sweep.tasks())
    rows = set(next(answers).rows)
    for process in workers.process_ids:
        os.kill(process, signal.SIGKILL)
    for outcome in answers:
        assert outcome.error is None
        rows |= set(outcome.rows)
    assert rows == rows_in_process(sweep)
    assert not workers.process_ids, "all of them have ended"


def test_a_failed_point_is_a_sentence_and_the_worker_goes_on(tmp_path: Path) -> None:
    (good,) = saved_sweep(tmp_path, models=1).tasks()
    bad = Task(Request(str(tmp_path / "missing.json")))
    failed, answered = WorkerProcesses(1).answers([bad, good])
    assert failed.task is bad and "missing.json" in (failed.error or "")
    assert answered.task is good and answered.rows


def test_nothing_is_left_running_when_nobody_wants_more(tmp_path: Path) -> None:
    workers = WorkerProcesses(1)
    answers = workers.answers(saved_sweep(tmp_path, models=3).tasks())
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert not workers.process_ids
