"""How far predicted times are off on this machine: ``python -m benchmarks.predictions`` prints them as JSON.

The machine is calibrated, then ten small and middle pipelines are called plain. Seconds are those of this process's
CPU on one thread, so that nothing else on the machine is measured.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from statistics import median
from typing import Any

import torch
from tests.small_pipelines import SMALL_PIPELINES

from diffprof.catalogue.bundled_model import SHAPES
from diffprof.counting.profile import profile_pipeline
from diffprof.pipelines.loading.weights import load_pipeline
from diffprof.prediction.device import device_of
from diffprof.prediction.time import job_of, predict_time
from diffprof.record.request import Request
from diffprof.runtime.hardware_calibration import calibrate

SMALL = ("stable-diffusion", "stable-diffusion-xl", "flux", "pixart-sigma", "cogvideox", "hunyuan-video")
LARGER = ("stable-diffusion", "stable-diffusion-xl")
IMAGES = 8
"""So many at once, that computing takes most of the time."""

CALLS = 5


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    device = device_of(calibrate(torch.device("cpu")))
    figures = {}
    for name, pipeline, arguments in _cases():
        measured = min(_seconds(pipeline, arguments) for _ in range(CALLS))
        counted = profile_pipeline(pipeline, Request.create(name, arguments))
        figures[name] = {"measured": measured, "predicted": predict_time(job_of(counted), device).total_seconds}
    errors = [abs(times["predicted"] / times["measured"] - 1) for times in figures.values()]
    print(json.dumps({"median_error": median(errors), "pipelines": figures}, indent=1))  # noqa: T201


def _cases() -> Any:
    for name in SMALL:
        pipeline = SMALL_PIPELINES[name].build()
        yield name, pipeline, SMALL_PIPELINES[name].arguments()
    for name in LARGER:
        arguments = {**SMALL_PIPELINES[name].arguments(), "num_images_per_prompt": IMAGES}
        yield f"{name}, {IMAGES} images", SMALL_PIPELINES[name].build(), arguments
    shapes = load_pipeline(SHAPES, device="cpu").opened.pipeline
    shapes.set_progress_bar_config(disable=True)
    for images in (1, IMAGES):
        arguments = {"prompt": "a blue square", "num_inference_steps": 10, "num_images_per_prompt": images}
        yield f"{SHAPES}, {images} images", shapes, arguments


def _seconds(pipeline: Any, arguments: dict[str, Any]) -> float:
    begun = time.process_time()
    pipeline(**arguments)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
