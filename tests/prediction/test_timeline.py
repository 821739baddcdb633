"""The live bytes of a profile are those of a real run, call by call."""

from __future__ import annotations

import pytest

import diffprof
from diffprof.pipelines.components import components_of
from diffprof.prediction.timeline import has_allocations, live_points
from tests.prediction.real_memory import real_memory
from tests.sample_profiles import stable_diffusion
from tests.small_pipelines import SMALL_PIPELINES

TOLERANCE = 0.01

# Twenty pipelines of as many kinds: UNets and transformers, images and videos, one text encoder and several, images
# that go in, adapters. All small pipelines but a dozen are within the tolerance; those others keep tables in their
# modules, or take paths of attention that only a CPU takes.
TWENTY = (
    *("stable-diffusion", "stable-diffusion-two-images", "stable-diffusion-img2img", "stable-diffusion-controlnet"),
    *("stable-diffusion-xl", "stable-diffusion-lora", "stable-diffusion-3", "flux", "flux-kontext", "pixart-sigma"),
    *("sana", "aura-flow", "lumina", "hunyuan-video", "wan-2.1", "wan-2.1-image-to-video", "cogvideox", "ltx2"),
    *("kandinsky-2.2-decoder", "ddpm"),
)


@pytest.mark.parametrize("name", TWENTY)
def test_live_bytes_are_those_of_a_real_run_at_every_call(name: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline = small.build()
    profile = diffprof.profile(pipeline, **small.arguments())
    points = live_points(profile)
    methods = {"forward", "encode", "decode"} | {call.method for call in profile.calls}
    real = real_memory(pipeline, components_of(pipeline), methods, small.arguments())
    assert [profile.calls[point.call].component for point in points] == [point.component for point in real]
    assert [point.before_bytes for point in points] == pytest.approx([point.before_bytes for point in real], TOLERANCE)
    assert [point.peak_bytes for point in points] == pytest.approx([point.peak_bytes for point in real], TOLERANCE)


def test_a_profile_of_an_earlier_version_has_no_record_of_allocations() -> None:
    assert not has_allocations(stable_diffusion())
