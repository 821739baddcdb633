"""What measuring a pipeline costs it: ``python -m benchmarks.measured_runs`` prints seconds and ratios as JSON.

A small Stable Diffusion with steps of 50 ms or more runs plain, measured, measured with the sampler, and traced, in
turns in one process. Seconds are those of this process's CPU, so that nothing else on the machine is measured; the
sampler's thread is in them, and there is one thread to compute with.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from tests.small_pipelines import SMALL_PIPELINES

import diffprof
from diffprof.profiling import PyTorchProfiler

ROUNDS = 15
STEPS = 5
SIDE = 80


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    arguments = {"prompt": "a cat", "height": SIDE, "width": SIDE, "num_inference_steps": STEPS, "output_type": "pt"}

    def plain() -> float:
        begun = time.process_time()
        pipeline(**arguments)
        return time.process_time() - begun

    def measured(hz: float) -> float:
        with diffprof.measuring(pipeline, sample_hz=hz):
            pipeline(**arguments)  # its first call is counted afterwards, which is no part of the second
            return plain()

    def traced() -> float:
        with tempfile.TemporaryDirectory() as folder, diffprof.measuring(pipeline, sample_hz=0):
            pipeline(**arguments)
            with PyTorchProfiler(folder, active=STEPS + 1).profile("trace"):
                return plain()

    ways: dict[str, Callable[[], float]] = {
        "plain": plain,
        "measured": lambda: measured(0),
        "sampled": lambda: measured(10),
        "traced": traced,
    }
    plain()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            taken[name].append(way())
    figures = {name: median(found) for name, found in taken.items()}
    ratios = {
        f"{name}_ratio": median(mine / its for mine, its in zip(taken[name], taken["plain"], strict=True))
        for name in ("measured", "sampled", "traced")
    }
    print(json.dumps({**figures, **ratios, "step": figures["plain"] / STEPS}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
