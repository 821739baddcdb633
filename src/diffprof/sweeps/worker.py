"""The worker process of a sweep: ``python -m diffprof.sweeps.worker``.

Reads one task per line from standard input, and writes its outcome to a line of standard output. Output of libraries
goes to standard error, which is ignored.
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
    """Evaluate tasks until there are no more."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(values: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a task; task and outcome are plain values."""
    outcome = evaluate(Task.from_json(values))
    return {"rows": [astuple(row) for row in outcome.rows], "error": outcome.error}


def read_answer(task: Task, values: dict[str, Any]) -> TaskOutcome:
    """Read the outcome that `answer` returned."""
    return TaskOutcome(task, tuple(Row(*row) for row in values["rows"]), values["error"])


if __name__ == "__main__":
    main()
