"""Where the profiles of variants come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.advice.sources import Source, open_source, source_of_profile
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from tests.sample_profiles import nothing, stable_diffusion


def test_a_variant_is_counted_once_and_the_request_itself_never() -> None:
    counted: list[Request] = []

    def count(request: Request) -> Profile:
        counted.append(request)
        return stable_diffusion(steps=20, unet_calls=20)

    source = Source(stable_diffusion(), Request("sd"), count)
    other = Request("sd", {"num_inference_steps": 20})
    assert source.variant(Request("sd")) is source.profile
    assert source.variant(other) is source.variant(other)
    assert counted == [other]


def test_what_the_pipeline_cannot_do_is_no_variant_and_is_not_tried_again() -> None:
    tried = []

    def count(request: Request) -> Profile:
        tried.append(request)
        raise RequestError("no such switch")

    source = Source(stable_diffusion(), Request("sd"), count)
    other = Request("sd", enable=("vae_tiling",))
    assert source.variant(other) is source.variant(other) is None
    assert len(tried) == 1


def test_a_profile_its_file_and_its_name_are_one_source(tmp_path: Path) -> None:
    profile = stable_diffusion()
    file = profile.save(tmp_path / "p.json")
    assert open_source(profile).profile == open_source(str(file)).profile == profile
    assert open_source(profile).request.arguments == profile.request.arguments


def test_a_pipeline_that_was_an_object_has_no_variants() -> None:
    assert source_of_profile(nothing()).variant(Request("empty", {"height": 8})) is None


def test_the_options_of_profile_are_taken_wherever_they_stand() -> None:
    source = open_source("sd-2.1-base", {"steps": 20, "guidance_interval": (0.0, 0.6)}, pipeline_defaults=True)
    assert source.request.arguments["num_inference_steps"] == 20
    assert source.request.changes.guidance_interval == (0.0, 0.6)
    assert source.profile.total.macs < open_source("sd-2.1-base", {"steps": 20}).profile.total.macs


@pytest.mark.parametrize("answer", [diffprof.fit, diffprof.predict, diffprof.advise])
def test_answers_take_the_short_names_of_arguments(answer: Callable[..., Any]) -> None:
    assert answer("sd-2.1-base", gpu="t4", steps=10).request.arguments["num_inference_steps"] == 10


@pytest.mark.parametrize("answer", [diffprof.fit, diffprof.predict, diffprof.advise])
@pytest.mark.parametrize("given", [{"height": 512}, {"scheduler": "ddim"}, {"enable": "vae_tiling"}, {"lora": 16}])
def test_what_a_saved_profile_would_ignore_is_refused(
    answer: Callable[..., Any], given: dict[str, Any], tmp_path: Path
) -> None:
    profile = stable_diffusion()
    for saved in (profile, profile.save(tmp_path / "saved.json")):
        with pytest.raises(
            RequestError, match=f"is a saved profile with its own request; leave out {next(iter(given))}"
        ):
            answer(saved, gpu="t4", **given)
