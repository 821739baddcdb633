"""A task and its outcome as plain values, as they travel between processes."""

from __future__ import annotations

import json
from pathlib import Path

from diffprof.record.request import Request
from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import Task
from diffprof.sweeps.worker import answer, read_answer
from tests.sweeps.saved_sweeps import saved_sweep


def test_what_is_read_is_what_was_answered(tmp_path: Path) -> None:
    (task,) = saved_sweep(tmp_path, models=1).tasks()
    travelled = json.loads(json.dumps(answer(json.loads(json.dumps(task.to_json())))))
    outcome = read_answer(task, travelled)
    assert outcome == evaluate(task)
    assert len(outcome.rows) == 2 and outcome.error is None


def test_a_failure_travels_as_a_sentence(tmp_path: Path) -> None:
    task = Task(Request(str(tmp_path / "missing.json")))
    outcome = read_answer(task, json.loads(json.dumps(answer(task.to_json()))))
    assert outcome.rows == () and "missing.json" in (outcome.error or "")
