"""Workloads are counted one after another, each as if it were the only one."""

from __future__ import annotations

from calibration.count_workloads import count_image_to_image

from diffprof.pipelines.opening import open_virtual


def test_a_switch_is_on_for_its_own_count_only() -> None:
    vae = open_virtual("sd-1.5", "float16", None).pipeline.vae
    size = {"height": 64, "width": 64, "num_inference_steps": 1}
    assert count_image_to_image("sd-1.5", "float16", size, ["vae_tiling"]).request.enable == ("vae_tiling",)
    assert not vae.use_tiling
