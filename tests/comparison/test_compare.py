"""Profiles side by side, with their images and their curves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from diffprof.comparison import compare, compare_pair
from diffprof.comparison.compare import unique_names
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def test_each_profile_is_compared_with_the_first() -> None:
    profiles = [stable_diffusion(), stable_diffusion(unet_calls=10), stable_diffusion(unet_calls=20)]
    comparison = compare(profiles, ["a", "b", "c"])
    assert comparison.pairs == tuple(compare_pair(profiles[0], other) for other in profiles[1:])
    assert (comparison.images, comparison.growth) == ((), None)


def test_one_profile_cannot_be_compared() -> None:
    with pytest.raises(RequestError, match="at least two profiles, not 1"):
        compare([stable_diffusion()], ["a"])


def test_names_that_occur_more_than_once_are_numbered() -> None:
    assert unique_names(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]
    assert compare([stable_diffusion()] * 2, ["sd", "sd"]).names == ("sd (1)", "sd (2)")


def test_each_image_is_compared_with_the_first_where_both_are_there(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.png" for name in "abc"]
    for file, colour in zip(files, ("red", "red", "blue"), strict=True):
        Image.new("RGB", (16, 16), colour).save(file)
    four = [stable_diffusion()] * 4
    images = compare(four, "abcd", [files[0], files[1], None, files[2]]).images
    assert [(image.before, image.after, image.identical) for image in images] == [
        (str(files[0]), str(files[1]), True),
        (str(files[0]), str(files[2]), False),
    ]
    assert compare(four[:2], "ab", [None, files[1]]).images == ()


def test_models_are_counted_at_more_sizes_and_steps_only_if_requested() -> None:
    counted: list[Mapping[str, Any]] = []

    def count(model: str, changes: Mapping[str, Any]) -> Profile:
        assert model == "sd"
        counted.append(changes)
        return stable_diffusion()

    profiles = [stable_diffusion(), stable_diffusion()]
    growth = compare(profiles, ["a", "b"], models=["sd", None], count=count).growth
    assert growth is not None
    assert [curve.name for curve in growth.steps] == ["a", "b"]
    # The saved profile is a single point.
    assert len(growth.steps[1].places) == 1 < len(growth.steps[0].places)
    assert {name for changes in counted for name in changes} == {"width", "height", "num_inference_steps"}
