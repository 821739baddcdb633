"""The MACs and the time of each denoising step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.render import charts
from tests.sample_iterations import GPU
from tests.sample_profiles import UNET_MACS, measured_profile, stable_diffusion, unequal_steps


def test_each_denoising_step_has_its_macs() -> None:
    (bars,) = charts.step_macs_chart(unequal_steps()).data
    assert bars.x == tuple(range(31))
    assert set(bars.y) == {UNET_MACS, UNET_MACS // 2}


def test_steps_that_all_cost_the_same_need_no_chart() -> None:
    assert charts.step_macs_chart(stable_diffusion()) is None


def test_a_single_iteration_is_drawn_once() -> None:
    profile = measured_profile(device=GPU)
    assert profile.measured is not None
    once = replace(profile, measured=replace(profile.measured, iterations=profile.measured.timed_iterations[:1]))
    (line,) = charts.step_times_chart(once).data
    assert line.name == "time of the step"


def test_step_times_show_every_iteration_and_the_median() -> None:
    lines = charts.step_times_chart(measured_profile(device=GPU)).data
    assert [(line.name, line.showlegend) for line in lines] == [
        ("warm-ups", True), ("iterations", True), ("iterations", False), ("iterations", False), ("median", None),
    ]  # fmt: skip
    assert lines[-1].y == pytest.approx([0.01015] * 4)
    assert lines[0].y == pytest.approx([0.013195] * 4)
