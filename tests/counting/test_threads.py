"""Threads that count and threads that generate do not get in each other's way."""

from __future__ import annotations

import logging
import threading
import warnings
from typing import Any

import numpy
import torch

import diffprof
from tests.counting.test_pipeline_state import picture
from tests.small_pipelines import SMALL_PIPELINES


def test_a_thread_that_generates_at_the_same_time_gets_its_own_image() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    expected = picture(small.build(), small.arguments())
    pipeline = small.build()
    started, finished = threading.Event(), threading.Event()
    pictures: list[numpy.ndarray[Any, Any]] = []

    def generate() -> None:
        torch.set_num_threads(1)
        started.set()
        while not finished.is_set() or len(pictures) < 2:
            pictures.append(picture(pipeline, small.arguments()))

    thread = threading.Thread(target=generate)
    thread.start()
    started.wait()
    profiled = small.build()
    for steps in range(1, 6):
        done = diffprof.profile(profiled, **small.arguments() | {"num_inference_steps": steps})
        assert done.components["unet"].calls == steps
    finished.set()
    thread.join()
    assert len(pictures) >= 2
    assert all(numpy.array_equal(made, expected) for made in pictures)


def test_threads_that_profile_models_by_name_leave_the_process_as_it_was() -> None:
    def state() -> tuple[int, int, int]:
        levels = [logging.getLogger(name).level for name in ("diffusers", "transformers")]
        return (*levels, len(warnings.filters))  # type: ignore[return-value]

    diffprof.profile("dit-xl-2-256", num_inference_steps=1)  # importing the libraries sets the levels
    before = state()
    made: list[diffprof.Profile] = []

    def work(name: str) -> None:
        made.append(diffprof.profile(name, num_inference_steps=1))

    threads = [
        threading.Thread(target=work, args=(name,)) for name in ("dit-xl-2-256", "sd-1.5", "sd-2.1-base", "sdxl")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(threads)
    assert state() == before
