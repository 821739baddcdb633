"""Pipelines of code that makes them itself."""

from __future__ import annotations

from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

import diffprof


def their_script(steps: int) -> DDPMPipeline:
    unet = UNet2DModel(
        sample_size=8, block_out_channels=(32,), layers_per_block=1,
        down_block_types=("DownBlock2D",), up_block_types=("UpBlock2D",),
    )  # fmt: skip
    pipe = DDPMPipeline(unet, DDPMScheduler())
    pipe.set_progress_bar_config(disable=True)
    pipe(num_inference_steps=steps)
    pipe(num_inference_steps=steps)
    return pipe


def test_pipelines_that_are_made_inside_are_measured_and_left_alone_afterwards() -> None:
    call = DDPMPipeline.__call__
    with diffprof.watch(sample_hz=0) as watched:
        pipe = their_script(2)
        their_script(3)
    assert DDPMPipeline.__call__ is call
    assert [profile.steps.count for profile in watched.profiles] == [2, 3]
    assert [len(profile.measured.iterations) for profile in watched.profiles if profile.measured] == [2, 2]
    assert watched.profiles[0].total.macs == diffprof.profile(pipe, num_inference_steps=2).total.macs
    assert "2 pipelines" in repr(watched)


def test_without_a_call_there_is_nothing() -> None:
    with diffprof.watch() as watched:
        pass
    assert watched.profiles == ()
    assert "nothing was measured" in str(watched)
