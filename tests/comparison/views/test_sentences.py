"""A comparison in sentences."""

from __future__ import annotations

from dataclasses import replace

from diffprof.comparison.image_difference import ImageDifference
from tests.comparison.noise import SECOND, run_of
from tests.comparison.views.comparisons import compare_as_letters, console_text
from tests.sample_iterations import CPU
from tests.sample_profiles import stable_diffusion


def test_times_of_different_devices_compare_the_devices() -> None:
    shown = console_text(compare_as_letters(run_of([SECOND] * 9), run_of([SECOND] * 9, device=CPU)))
    assert "device: name: NVIDIA A100-SXM4-80GB / AMD EPYC 7763" in shown
    assert "the times compare the devices, not the code" in shown


def test_too_few_samples_and_a_busy_machine_come_with_advice() -> None:
    few = " ".join(console_text(compare_as_letters(run_of([SECOND] * 3), run_of([SECOND] * 3))).split())
    assert "3 and 3 iterations are too few to tell a difference from noise; measure 20 or more" in few
    waited = [run_of([SECOND] * 9, device=CPU, cpu_share=share) for share in (1.0, 0.4)]
    busy = " ".join(console_text(compare_as_letters(*waited)).split())
    assert "Other processes used the CPU meanwhile: B had 40.0 % of one core; measure on a quieter machine" in busy


def test_images_are_identical_close_or_of_different_sizes() -> None:
    same = ImageDifference("a.png", "b.png", True, None, 1.0)
    other = ImageDifference("a.png", "b.png", False, 31.4159, 0.99996)
    sizes = ImageDifference("a.png", "b.png", False, None, None, "not of the same size: 8 x 8 and 9 x 9")
    shown = console_text(
        replace(compare_as_letters(stable_diffusion(), stable_diffusion()), images=(same, other, sizes))
    )
    assert "a.png and b.png: identical, pixel by pixel" in shown
    assert "PSNR 31.42 dB, SSIM 0.9999" in shown
    assert "not of the same size: 8 x 8 and 9 x 9" in shown
