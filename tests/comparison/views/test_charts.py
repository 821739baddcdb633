"""Several profiles in one chart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from diffprof.comparison.views import charts
from tests.sample_iterations import GPU
from tests.sample_profiles import (
    TEXT_ENCODER_MACS,
    UNET_MACS,
    VAE_MACS,
    everything_measured,
    measured_profile,
    stable_diffusion,
)

COMPARED = {
    "components": charts.components_chart,
    "parameters": charts.parameters_chart,
    "times": charts.times_chart,
    "component times": charts.component_times_chart,
}


@pytest.mark.parametrize("draw", COMPARED.values(), ids=COMPARED)
def test_several_profiles_are_rows_by_number_so_that_equal_names_stay_apart(draw: Callable[..., Any]) -> None:
    several = [measured_profile(device=GPU), measured_profile(device=GPU), measured_profile(device=GPU, steps=8)]
    chart = draw(several, ["the same", "the same", "<b>other</b>"])
    assert chart.layout.yaxis.tickvals == (0, 1, 2)
    assert chart.layout.yaxis.ticktext == ("the same", "the same", "&lt;b&gt;other&lt;/b&gt;")
    assert {place for trace in chart.data for place in trace.y} == {0, 1, 2}


def test_shares_of_a_comparison_are_bars_of_one_length() -> None:
    two = ([stable_diffusion(), stable_diffusion(unet_calls=1)], ["a", "b"])
    assert charts.components_chart(*two, shares_of_each=True).layout.barnorm == "fraction"
    bars = {trace.name: list(trace.x) for trace in charts.components_chart(*two).data}
    assert bars == {
        "unet": [31 * UNET_MACS, UNET_MACS],
        "vae": [VAE_MACS, VAE_MACS],
        "text_encoder": [2 * TEXT_ENCODER_MACS] * 2,
    }


def test_cost_against_parameters_needs_profiles_that_differ_in_them() -> None:
    same = [stable_diffusion(), stable_diffusion(unet_calls=1)]
    assert charts.cost_chart(same, ["a", "b"]) is None
    other = everything_measured()
    smaller = {slot: part for slot, part in other.components.items() if slot != "vae"}
    two = [same[0], replace(other, components=smaller)]
    assert charts.cost_chart(two, ["a", "b"]) is None, "two points show nothing that bars do not"
    tiny = {slot: part for slot, part in other.components.items() if slot == "vae"}
    (points,) = charts.cost_chart([*two, replace(other, components=tiny)], ["a", "b", "c"]).data
    assert points.x[0] == same[0].total.parameters
    assert points.y[0] == same[0].total.macs
