"""What measuring a pipeline costs it: ``python -m benchmarks.measured_runs`` prints seconds and ratios as JSON.

A small Stable Diffusion with twenty steps of 50 ms or more runs plain, measured, measured with the sampler, and traced,
in turns in one process. Seconds are those of this process's CPU, so that nothing else on the machine is measured; the
sampler's thread is in them, and there is one thread to compute with.
"""

from __future__ import annotations

import gc
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

from diffprof.pipelines.opening import open_live
from diffprof.profiling import PyTorchProfiler
from diffprof.runtime.instrumentation.system_sampler import SystemSampler
from diffprof.runtime.measurement import Measurement

ROUNDS = 16
STEPS = 20
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

    opened = open_live(pipeline)

    def measured() -> float:
        measuring = Measurement(opened)
        measuring.start()
        try:
            pipeline(**arguments)  # the first call is followed by a count
            return plain()
        finally:
            measuring.stop()

    def sampled() -> float:
        with SystemSampler(hz=10):
            return measured()

    def traced() -> float:
        with tempfile.TemporaryDirectory() as folder, PyTorchProfiler(folder, active=2 * (STEPS + 1)).profile("trace"):
            return measured()

    ways: dict[str, Callable[[], float]] = {"plain": plain, "measured": measured, "sampled": sampled, "traced": traced}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for number in range(ROUNDS):
        # There and back, so that a drift of the machine falls on all alike.
        for name in list(ways)[:: 1 if number % 2 else -1]:
            gc.collect()
            taken[name].append(ways[name]())
    results = {name: median(found) for name, found in taken.items()}
    ratios = {f"{name}_ratio": results[name] / results["plain"] for name in ("measured", "sampled", "traced")}
    print(json.dumps({**results, **ratios, "step": results["plain"] / STEPS}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
