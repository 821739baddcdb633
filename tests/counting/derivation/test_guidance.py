"""Guidance scales that make a pipeline do the same."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.counting.derivation.guidance import guidance_groups
from diffprof.counting.derivation.sampling import CountedSample
from diffprof.errors import RequestError
from diffprof.laws.packing import NoLaw
from diffprof.record.request import Request
from tests.sample_profiles import stable_diffusion

DEFAULT = CountedSample(Request("m"), stable_diffusion(unet_calls=1), {})
"""Its scale is 7.5."""


class Pipeline:
    """Does twice the work above 1; takes no scale below 0.6 but none at all."""

    def __init__(self, accepts_large: bool = True) -> None:
        self.accepts_large = accepts_large

    def run(self, arguments: dict[str, Any], anew: bool = False) -> CountedSample:
        scale = arguments["guidance_scale"]
        if scale == 0.5 or (scale > 1 and not self.accepts_large):
            raise RequestError("no such scale")
        return CountedSample(Request("m"), DEFAULT.profile, {"batch": 2 if scale > 1 else 1})


def groups(pipeline: Pipeline, argument: str | None = "guidance_scale", every: bool = True) -> Any:
    return guidance_groups(pipeline, DEFAULT, argument, every)  # type: ignore[arg-type]


def test_scales_that_do_the_same_are_one_group_that_of_the_default_first() -> None:
    first, second = groups(Pipeline())
    assert first == (6.5, ("above 1",))
    assert set(second[1]) == {"1", "none"}


def test_only_the_default_is_tried_where_no_more_is_asked_for() -> None:
    assert groups(Pipeline(), every=False) == [(7.5, ("above 1",))]


def test_a_pipeline_without_a_scale_has_one_group() -> None:
    assert groups(Pipeline(), argument=None) == [(None, ())]


def test_a_default_that_is_not_accepted_has_no_law() -> None:
    with pytest.raises(NoLaw, match="accepts no guidance scale like the one that it recommends"):
        groups(Pipeline(accepts_large=False))
