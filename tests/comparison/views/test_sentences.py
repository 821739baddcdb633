"""A comparison in sentences."""

from __future__ import annotations

import json
from dataclasses import replace

from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.views.data import comparison_csv, comparison_json
from diffprof.comparison.views.page import comparison_html
from diffprof.record.sizes import ComputedSize
from tests.comparison.noise import SECOND, run_of
from tests.comparison.views.comparisons import compare_as_letters, console_text
from tests.sample_iterations import CPU
from tests.sample_profiles import stable_diffusion


def test_times_of_different_devices_compare_the_devices() -> None:
    shown = console_text(compare_as_letters(run_of([SECOND] * 9), run_of([SECOND] * 9, device=CPU)))
    assert "device: name: NVIDIA A100-SXM4-80GB / AMD EPYC 7763" in shown
    assert "The counts: yes. The times: no, they were measured on different devices." in shown


def test_too_few_samples_and_a_busy_machine_come_with_advice() -> None:
    few = " ".join(console_text(compare_as_letters(run_of([SECOND] * 3), run_of([SECOND] * 3))).split())
    assert "3 and 3 iterations are too few to tell a difference from noise; measure 5 or more" in few
    waited = [run_of([SECOND] * 9, device=CPU, cpu_share=share) for share in (1.0, 0.4)]
    busy = " ".join(console_text(compare_as_letters(*waited)).split())
    assert "Other processes used the CPU: B had 40.0 % of one core; measure on a quieter machine" in busy


def test_what_was_measured_leads_and_a_change_from_few_samples_is_unsure() -> None:
    text = console_text(compare_as_letters(run_of([SECOND] * 3), run_of([2 * SECOND] * 3)))
    few = " ".join(text.split())
    assert "Time: 2.00 s instead of 1.00 s (+100 %, unsure); no verdict: too few samples." in few
    order = [text.index(word) for word in ("Time:", "Counts:", "Can they be compared?", "Measured", "Counted")]
    assert order == sorted(order)
    many = console_text(compare_as_letters(run_of([SECOND] * 9), run_of([2 * SECOND] * 9)))
    assert "Time: B is slower than A: 2.00 s instead of 1.00 s" in many


def test_what_a_profile_warns_of_is_in_its_comparison() -> None:
    resized = replace(stable_diffusion(), computed_size=ComputedSize(1024, 1024, 512, 512))
    comparison = compare_as_letters(stable_diffusion(), resized)
    warning = "the pipeline computes at 1024x1024 and resizes to 512x512"
    shown = " ".join(console_text(comparison).split())
    assert f"Warning: B: {warning}." in shown
    assert "(computed at 1024 x 1024)" in shown
    assert "No, the requests differ (the size that is computed)" in shown
    assert [one["warnings"] for one in json.loads(comparison_json(comparison))["profiles"]] == [[], [warning]]
    assert warning in comparison_csv(comparison)
    assert warning in comparison_html(comparison)


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
