"""Counting with the disk cache: the key follows from what a model name means now."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from diffusers import attention_backend

from diffprof.counting.request_profile import count_request
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request
from tests.cli.conftest import Engine, engine

__all__ = ["engine"]


def test_a_name_of_model_dirs_is_counted_again_when_its_folder_changes(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request.create("sdxl", {"height": 512})
    count_request(request)
    index = tmp_path / "models" / "sdxl" / "model_index.json"
    index.parent.mkdir(parents=True)
    index.write_text("{}")
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(index.parents[1]))
    for content, expected in (("{}", 2), ("{}", 2), ('{"a": 1}', 3)):
        index.write_text(content)
        count_request(request)
        assert len(engine.requests) == expected


def test_only_what_has_to_be_counted_reports_progress(engine: Engine) -> None:
    events: list[ProgressEvent] = []
    for _ in range(2):
        count_request(Request.create("sdxl"), progress=events.append)
    assert events == [ProgressEvent(Activity.opening, "sdxl")]


def test_without_the_cache_it_is_counted_every_time(engine: Engine) -> None:
    for _ in range(2):
        count_request(Request.create("sdxl"), use_cache=False)
    assert len(engine.requests) == 2


@pytest.mark.parametrize("value", [(512, 512), object(), [1, (2,)], {1: 2}])
def test_arguments_that_json_would_change_are_not_cached(engine: Engine, value: object) -> None:
    for _ in range(2):
        count_request(Request.create("sdxl", {"size": value}))
    assert len(engine.requests) == 2


def test_settings_of_the_libraries_belong_to_the_key(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype, expected in ((torch.float32, 1), (torch.float64, 2), (torch.float32, 2)):
        monkeypatch.setattr(torch, "get_default_dtype", lambda dtype=dtype: dtype)
        count_request(Request.create("sdxl"))
        assert len(engine.requests) == expected
    with attention_backend("_native_math"):
        count_request(Request.create("sdxl"))
    assert len(engine.requests) == 3
