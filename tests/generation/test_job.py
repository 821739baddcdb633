"""One generation from the call to the file, with a pipeline that paints one colour."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image

from diffprof.errors import DiffprofError, OutOfMemoryError
from diffprof.generation import job as jobs
from diffprof.generation.job import UNSAFE, Generated, GenerationJob
from diffprof.generation.models import Model
from diffprof.generation.progress import ProgressReporter
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request

MODEL = Model("colours", "colours", "Colours", "colours")


class Colours:
    """As much of a pipeline as a generation needs."""

    def __init__(self, **result: Any) -> None:
        self.config: dict[str, Any] = {}
        self.result = result

    def __call__(self, prompt: str, generator: Any = None) -> Any:
        return SimpleNamespace(images=[Image.new("RGB", (4, 4), prompt)], **self.result)


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "open_live", lambda pipeline: SimpleNamespace(pipeline=pipeline))
    monkeypatch.setattr(jobs, "execution_device", lambda pipeline: torch.device("cpu"))


def generate(
    pipeline: Any, folder: Path, profiled: bool = False, events: list[ProgressEvent] | None = None
) -> Generated:
    reporter = ProgressReporter(None if events is None else events.append)
    request = Request("", {"prompt": "red"}, seed=7)
    return GenerationJob(request, folder, profiled, 8, reporter).run_pipeline(pipeline, MODEL)


def test_the_image_is_saved_under_the_model_and_the_seed(tmp_path: Path) -> None:
    events: list[ProgressEvent] = []
    made = generate(Colours(), tmp_path, events=events)
    assert (made.filepath.name, made.seed, made.profiling_data) == ("colours_seed7.png", 7, None)
    assert Image.open(made.filepath).getpixel((0, 0)) == made.image.getpixel((0, 0)) == (255, 0, 0)
    assert [(event.activity, event.subject) for event in events] == [(Activity.generating, "Colours")]


def test_a_measurement_that_cannot_start_does_not_lose_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("no clock")

    monkeypatch.setattr(jobs, "Measurement", refuse)
    made = generate(Colours(nsfw_content_detected=[True]), tmp_path, profiled=True)
    assert made.filepath.is_file()
    assert made.profiling_data is not None
    assert (made.profiling_data["enabled"], made.profiling_data["reason"]) == (False, "no clock")
    assert made.profiling_data["notes"] == [UNSAFE]


def test_memory_that_ran_out_is_an_error_with_what_would_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Colours):
        def __call__(self, prompt: str, generator: Any = None) -> Any:
            raise OutOfMemoryError("it is full", "no block")

    monkeypatch.setattr(jobs, "snapshot_of_failure", lambda folder, pipeline: None)
    with pytest.raises(DiffprofError, match=r"Colours ran out of memory on cpu \(no block\); use a smaller size"):
        generate(Full(), tmp_path)
    assert not list(tmp_path.iterdir())
