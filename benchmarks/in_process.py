"""Measures steps and resolutions inside one process: ``python -m benchmarks.in_process MODEL`` prints JSON.

The libraries are imported before the clock starts; opening the model belongs to the first resolution.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

from diffprof.measure.opening import blueprint_of
from diffprof.measure.opening.classes import part_class, pipeline_class
from diffprof.measure.profile import profile

REPEATS = 3


def main(model: str) -> None:
    blueprint = blueprint_of(model)
    pipeline_class(blueprint.pipeline)
    for plan in blueprint.parts.values():
        part_class(plan.library, plan.class_name, plan.config)
    first = _seconds(model, height=512, width=512, num_inference_steps=30)
    second = _seconds(model, height=768, width=768, num_inference_steps=30)
    one, fifty = [], []
    for _ in range(REPEATS):
        one.append(_seconds(model, height=768, width=768, num_inference_steps=1))
        fifty.append(_seconds(model, height=768, width=768, num_inference_steps=50))
    figures = {"first_size": first, "second_size": second, "one_step": median(one), "fifty_steps": median(fifty)}
    print(json.dumps(figures))  # noqa: T201


def _seconds(model: str, **arguments: int) -> float:
    begun = time.perf_counter()
    profile(model, **arguments)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(sys.argv[1])
