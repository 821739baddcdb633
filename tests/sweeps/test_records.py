"""Tasks travel as plain values, and come back the same."""

from __future__ import annotations

import json

from diffprof.record.request import Request
from diffprof.sweeps.records import SweepMeasurement, Task


def test_a_task_comes_back_as_it_was_sent() -> None:
    request = Request("sdxl", {"height": 512, "guidance_scale": 7.5}, dtype="float16", enable=("vae_tiling",), seed=3)
    for task in (Task(request, ("l4", "t4")), Task(request, (), SweepMeasurement(0, 2, 0.5))):
        assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


def test_a_task_without_accelerators_is_one_point() -> None:
    assert Task(Request("sdxl")).points == 1
    assert Task(Request("sdxl"), ("l4", "t4")).points == 2
