"""Denoising steps as they are executed: as many as the scheduler drives, in as many stages as there are loops."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from tests.small_pipelines import SMALL_PIPELINES


def profile(name: str, **changes: Any) -> diffprof.Profile:
    small = SMALL_PIPELINES[name]
    return diffprof.profile(small.build(), **small.arguments() | changes)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(
    ("name", "executed"),
    [
        ("stable-diffusion", lambda n: n),
        ("stable-diffusion-heun", lambda n: 2 * n - 1),
        ("stable-diffusion-dpm-solver", lambda n: n),
        ("flux", lambda n: n),
    ],
)
def test_a_scheduler_drives_as_many_steps_as_it_does(name: str, executed: Any, steps: int) -> None:
    done = profile(name, num_inference_steps=steps)
    assert done.steps.count == executed(steps)


def test_pndm_makes_31_calls_for_30_steps() -> None:
    done = profile("stable-diffusion-pndm", num_inference_steps=30)
    assert done.steps.count == done.components["unet"].calls == 31


@pytest.mark.parametrize(("strength", "steps"), [(1.0, 10), (0.8, 8), (0.5, 5)])
def test_image_to_image_skips_the_first_steps(strength: float, steps: int) -> None:
    done = profile("stable-diffusion-img2img", strength=strength, num_inference_steps=10)
    assert done.steps.count == steps
    assert [call.method for call in done.calls if call.component == "vae"] == ["encode", "decode"]


def test_half_a_schedule_is_half_the_steps() -> None:
    assert profile("stable-diffusion-xl-first-half").steps.count == 2


def test_every_call_of_a_denoiser_belongs_to_a_step_and_nothing_else_does() -> None:
    done = profile("stable-diffusion", num_inference_steps=4)
    assert [call.step for call in done.calls if call.component == "unet"] == [0, 1, 2, 3]
    assert {call.step for call in done.calls if call.component != "unet"} == {None}


def test_guidance_is_a_batch_of_two_or_two_calls_or_neither() -> None:
    batch = profile("stable-diffusion")
    unguided = profile("stable-diffusion-unguided")
    assert batch.steps.macs == 2 * unguided.steps.macs
    twice = profile("flux-true-guidance")
    assert twice.components["transformer"].calls == 2 * twice.steps.count
    embedded = profile("flux")
    assert embedded.components["transformer"].calls == embedded.steps.count
    assert profile("latent-consistency").steps.macs < batch.steps.macs


def test_a_controlnet_is_part_of_the_step() -> None:
    done = profile("stable-diffusion-controlnet", num_inference_steps=3)
    (stage,) = done.steps.stages
    assert stage.denoisers == ("unet",)
    assert done.components["controlnet"].calls == 3
    assert sum(stage.step_macs) == done.components["unet"].macs + done.components["controlnet"].macs
    assert [call.step for call in done.calls if call.component == "controlnet"] == [0, 1, 2]


@pytest.mark.parametrize("name", ["kandinsky-2.2-combined", "stable-cascade-combined", "wuerstchen-combined"])
def test_a_cascade_has_a_stage_for_each_of_its_loops(name: str) -> None:
    done = profile(name)
    prior, decoder = done.steps.stages
    assert prior.denoisers != decoder.denoisers
    assert "prior" in prior.denoisers[0]
    assert done.steps.main in (prior, decoder)
    assert sum(done.steps.main.step_macs) == max(sum(prior.step_macs), sum(decoder.step_macs))
    assert done.steps.count == done.steps.main.count


def test_two_denoisers_that_take_turns_are_one_stage() -> None:
    done = profile("wan-2.2", num_inference_steps=4)
    (stage,) = done.steps.stages
    assert stage.denoisers == ("transformer", "transformer_2")
    calls = [call.component for call in done.calls if call.component in stage.denoisers]
    assert calls == sorted(calls), "first the one for much noise, then the other"
    assert sum(stage.step_macs) == sum(done.components[slot].macs for slot in stage.denoisers)
