"""Sizes that pipelines choose among."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from diffprof.counting.derivation.binning import binned_sizes
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


class Pipeline:
    """A pipeline of the module below."""


def sized(side: int) -> Profile:
    profile = stable_diffusion(unet_calls=1)
    return replace(profile, request=replace(profile.request, arguments={"height": side, "width": side}))


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = ModuleType("a_pipeline")
    made.ASPECT_RATIO_512_BIN = {"1.0": [512.0, 512.0], "0.5": [352.0, 704.0], "1.01": [512.0, 512.0]}
    made.ASPECT_RATIO_1024_BIN = {"1.0": [1024.0, 1024.0]}
    made.ASPECT_RATIO_OTHER = {"1.0": [64.0, 64.0]}
    monkeypatch.setitem(sys.modules, "a_pipeline", made)
    monkeypatch.setattr(Pipeline, "__module__", "a_pipeline")


def test_the_table_is_the_one_that_has_the_default_size() -> None:
    assert binned_sizes(Pipeline(), sized(512)) == ((512, 512), (352, 704))
    assert binned_sizes(Pipeline(), sized(1024)) == ((1024, 1024),)


def test_a_pipeline_without_such_a_table_has_no_sizes() -> None:
    assert binned_sizes(Pipeline(), sized(64)) == ()
