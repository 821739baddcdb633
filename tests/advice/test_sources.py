"""Where the profiles of variants come from."""

from __future__ import annotations

from pathlib import Path

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
