"""Sixty models at twenty sizes on ten accelerators, by law, in one process: ``python -m benchmarks.many_points``.

Prints JSON: the models, which are the first whose laws have so many requests, the points, and the seconds of this
process's CPU from the first law that is read to the last row, so that nothing else on the machine is measured; all of
it runs in one thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.laws.law_file import models_with_laws, packaged_law
from diffprof.laws.programs import OutsideOfLaw
from diffprof.record.request import Request
from diffprof.sweeps.evaluate import evaluate_known
from diffprof.sweeps.records import Task

MODELS, SIZES = 60, 20
ACCELERATORS = (
    "h100-sxm", "h200", "a100-sxm-80gb", "mi300x", "l40s", "rtx-5090", "rtx-4090", "rtx-3090", "l4", "t4",
)  # fmt: skip


def main() -> None:
    tasks = {model: list(_tasks(model)) for model in models_with_laws()}
    models = [model for model in tasks if len(tasks[model]) == SIZES][:MODELS]
    begun = time.process_time()
    points = sum(_points(task) for model in models for task in tasks[model])
    seconds = time.process_time() - begun
    print(json.dumps({"models": len(models), "points": points, "seconds": seconds}))  # noqa: T201


def _points(task: Task) -> int:
    outcome = evaluate_known(task)
    assert outcome is not None and outcome.error is None, (task, outcome)
    return len(outcome.rows)


def _tasks(model: str) -> Iterator[Task]:
    """Up to twenty requests that the law was proved for: of different sizes, or else of different numbers of steps."""
    law = packaged_law(model)
    assert law is not None
    sides = ({"height": side, "width": side} for side in range(2048, 255, -32))
    steps = ({"num_inference_steps": number} for number in range(10, 120))
    found = 0
    for arguments in (*sides, *steps):
        request = Request.create(model, arguments)
        try:
            law.program(add_recommended(request))
        except OutsideOfLaw:
            continue
        yield Task(request, ACCELERATORS)
        found += 1
        if found == SIZES:
            return


if __name__ == "__main__":
    main()
