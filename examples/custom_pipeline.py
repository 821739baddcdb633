"""A pipeline of your own, made of modules of your own: counted as it stands.

python examples/custom_pipeline.py
"""

from __future__ import annotations

from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

import diffprof


def main() -> None:
    """Count, and then measure, a pipeline that no catalogue knows."""
    unet = UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    pipe = DDPMPipeline(unet, DDPMScheduler())
    profile = diffprof.profile(pipe, num_inference_steps=4)
    print(profile)
    run = diffprof.measure(pipe, num_inference_steps=4, iterations=2)
    assert run.profile.total.macs == profile.total.macs  # what ran is what was counted
    print(run)


if __name__ == "__main__":
    main()
