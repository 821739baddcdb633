"""A failed call says how far it came and what it lacked."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.counting.failed_calls import missing_inputs, progress_of


class Pipeline:
    """Fails as pipelines fail."""

    def __call__(self, image: Any = None, video: Any = None, mode: Any = None, prompt: str = "") -> Any:
        self.check(image, video)
        size = image.size
        modes = [mode]
        return size, max(modes) + len(
            video,
        )

    def check(self, image: Any, video: Any) -> None:
        if image is None and video is None:
            raise ValueError("nothing to look at")


def failure(pipeline: Any, **arguments: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        pipeline(**arguments)
    return caught.value


NAMES = ("image", "video", "mode")


def test_what_was_none_in_the_condition_of_an_error_is_missing() -> None:
    pipeline = Pipeline()
    assert missing_inputs(pipeline, failure(pipeline), NAMES) == ["image", "video"]


def test_what_was_none_where_it_failed_is_missing() -> None:
    pipeline = Pipeline()
    assert missing_inputs(pipeline, failure(pipeline, video=[1]), NAMES) == ["image"]


def test_what_the_message_names_comes_first() -> None:
    pipeline = Pipeline()
    assert missing_inputs(pipeline, ValueError("give a `mode`"), NAMES) == ["mode"]
    assert missing_inputs(pipeline, ValueError("give a model"), NAMES) == []


def test_the_later_failure_came_further() -> None:
    pipeline = Pipeline()
    checked, used = failure(pipeline), failure(pipeline, video=[1])
    assert progress_of(pipeline, used) > progress_of(pipeline, checked)
    assert progress_of(pipeline, used) == progress_of(pipeline, failure(pipeline, video=[1], prompt="a cat"))
    assert progress_of(Pipeline(), used) == ()
