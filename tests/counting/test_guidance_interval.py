"""Guidance in a part of the steps."""

from __future__ import annotations

from pathlib import Path

import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.prediction.timeline import live_points, pipeline_call
from diffprof.record.allocations import CALL
from diffprof.record.profile import Profile
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("stable-diffusion"))


def profile(folder: Path, **changes: object) -> diffprof.Profile:
    arguments = SMALL_PIPELINES["stable-diffusion"].arguments() | {"num_inference_steps": 10} | changes
    return diffprof.profile(folder, dtype="float32", **arguments)


def test_steps_outside_of_the_interval_cost_what_they_cost_without_guidance(folder: Path) -> None:
    guided, unguided = profile(folder, guidance_scale=7.5), profile(folder, guidance_scale=1.0)
    done = profile(folder, guidance_scale=7.5, guidance_interval=(0.2, 0.7))
    steps = [guided.steps.macs if 2 <= step < 7 else unguided.steps.macs for step in range(10)]
    assert list(done.steps.stages[0].step_macs) == steps
    assert done.components["unet"].macs == sum(steps)
    assert done.components["text_encoder"].work == guided.components["text_encoder"].work
    assert [call.macs for call in done.calls if call.component == "unet"] == steps
    assert done.request.changes.guidance_interval == (0.2, 0.7)


def test_all_steps_may_be_in_the_interval(folder: Path) -> None:
    done, guided = profile(folder, guidance_interval="0:1"), profile(folder)
    assert (done.total, done.steps) == (guided.total, guided.steps)


def test_where_guidance_costs_nothing_it_has_no_interval(folder: Path) -> None:
    with pytest.raises(RequestError, match="guidance costs StableDiffusionPipeline nothing in this call"):
        profile(folder, guidance_scale=1.0, guidance_interval=(0.2, 0.7))


def test_a_pipeline_without_guidance_has_no_interval(tmp_path: Path) -> None:
    folder = saved_with_weights("ddpm", tmp_path)
    with pytest.raises(RequestError, match="DDPMPipeline has no guidance scale, so guidance has no interval"):
        diffprof.profile(folder, num_inference_steps=2, guidance_interval=(0.2, 0.7))


def events_of_calls(profile: Profile) -> int:
    """How many component calls stand among the allocations of the pipeline's own code."""
    allocations = pipeline_call(profile).cost.allocations
    return sum(allocations.events[number].kind == CALL for number in allocations.expand())


def test_a_second_call_that_guidance_makes_is_left_out_of_the_allocations_too(tmp_path: Path) -> None:
    folder = saved_with_weights("wan-2.1", tmp_path)
    small = SMALL_PIPELINES["wan-2.1"].arguments() | {"num_inference_steps": 4, "guidance_scale": 5.0}
    guided = diffprof.profile(folder, dtype="float32", **small)
    half = diffprof.profile(folder, dtype="float32", guidance_interval=(0.0, 0.5), **small)
    assert (guided.components["transformer"].calls, half.components["transformer"].calls) == (8, 6)
    for profile in (guided, half):
        # The last call is the pipeline itself.
        assert events_of_calls(profile) == len(profile.calls) - 1 == len(live_points(profile))
    assert max(point.peak_bytes for point in live_points(half)) == max(
        point.peak_bytes for point in live_points(guided)
    )
    assert diffprof.fit(half, gpu="t4").fits
