"""Throughput of the components below the peak of the device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.render import charts
from tests.sample_iterations import CPU, GPU
from tests.sample_profiles import UNET_MACS, measured_profile


def test_rates_lie_below_the_roof_of_a_known_device() -> None:
    roof, points = charts.rates_chart(measured_profile(device=GPU)).data
    assert max(roof.y) == 312e12
    # An A100 of 80 GB reads 2,039 GB/s: left of the ridge the roof bends down.
    assert roof.y[0] / roof.x[0] == pytest.approx(2039e9)
    assert points.text == ("unet", "vae", "text_encoder")
    assert points.y[0] == pytest.approx(2 * UNET_MACS / 0.01)


def test_a_device_of_unknown_bandwidth_has_a_flat_roof_and_one_of_unknown_peak_has_none() -> None:
    roof, _ = charts.rates_chart(measured_profile()).data
    assert set(roof.y) == {1.2e12}
    (points,) = charts.rates_chart(measured_profile(device=replace(CPU, peak_flops_per_second={}))).data
    assert len(points.x) == 3
