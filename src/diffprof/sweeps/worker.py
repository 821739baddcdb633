"""The process that answers tasks of a sweep: ``python -m diffprof.sweeps.worker``.

It reads one task on each line of its standard input, and writes the answer on a line of its standard output. Whatever
libraries print goes to standard error, where it is ignored.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import astuple
from typing import Any

from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import Row, Task, TaskOutcome


def main() -> None:
    """Answer tasks until there are no more."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(values: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a task, both as plain values."""
    outcome = evaluate(Task.from_json(values))
    return {"rows": [astuple(row) for row in outcome.rows], "error": outcome.error}


def read_answer(task: Task, values: dict[str, Any]) -> TaskOutcome:
    """The outcome that `answer` gave as plain values."""
    return TaskOutcome(task, tuple(Row(*row) for row in values["rows"]), values["error"])


if __name__ == "__main__":
    main()
