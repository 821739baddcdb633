"""Where a model is counted to see how its cost grows."""

from __future__ import annotations

from dataclasses import replace

from diffprof.comparison.curves import denoising_steps, pixels, size_requests, step_requests
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def with_request(**arguments: object) -> Profile:
    whole = stable_diffusion()
    return replace(whole, request=replace(whole.request, arguments=arguments, defaults={}))


def test_sizes_are_around_the_requested_one() -> None:
    wide = with_request(width=1024, height=512)
    assert pixels(wide) == 1024 * 512
    found = size_requests(wide)
    assert next(iter(found.values())) == {"width": 512, "height": 256}
    assert found[1024 * 512] == {"width": 1024, "height": 512}
    assert len(found) == 5
    assert all(number == one["width"] * one["height"] for number, one in found.items())


def test_sides_fit_the_model_and_small_ones_come_once() -> None:
    assert list(size_requests(with_request(width=64, height=64)).values()) == [
        {"width": 64, "height": 64}, {"width": 128, "height": 128}
    ]  # fmt: skip


def test_a_request_without_size_or_steps_has_no_curves() -> None:
    for profile in (
        with_request(),
        with_request(width=512),
        with_request(width="512", height=True, num_inference_steps=None),
    ):
        assert (pixels(profile), size_requests(profile)) == (None, {})
        assert (denoising_steps(profile), step_requests(profile)) == (None, {})


def test_steps_go_from_one_to_many() -> None:
    assert step_requests(with_request(num_inference_steps=30))[1] == {"num_inference_steps": 1}
    assert step_requests(with_request(prior_num_inference_steps=30))[50] == {"num_inference_steps": 50}
