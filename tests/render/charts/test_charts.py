"""Every chart: present if there is something to show, with the right values, and with names that stay text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from diffprof.comparison.views import charts as comparison_charts
from diffprof.record.measured import SystemPoint
from diffprof.record.profile import Profile
from diffprof.render import charts
from diffprof.render.charts import Measure
from diffprof.render.charts.memory_over_time import MOST_POINTS
from diffprof.render.charts.style import INK, text_colour_on
from tests.iterations_made_by_hand import CPU, GPU
from tests.profiles_made_by_hand import (
    TEXT_ENCODER_MACS,
    UNET_MACS,
    VAE_MACS,
    everything_measured,
    measured_profile,
    nothing,
    stable_diffusion,
)
from tests.render.report.reports import hostile_everywhere

COUNTED = {
    "components by MACs": lambda one: charts.components_chart(one, Measure.macs),
    "components by parameters": lambda one: charts.components_chart(one, Measure.parameters),
    "kinds": charts.kinds_chart,
    "attention": charts.attention_chart,
    "step MACs": charts.step_macs_chart,
}
MEASURED = {
    "components by time": lambda one: charts.components_chart(one, Measure.time),
    "step times": charts.step_times_chart,
    "time line": charts.timeline_chart,
    "rates": charts.rates_chart,
    "memory": charts.memory_chart,
    "caches": charts.cache_chart,
    "moves": charts.moves_chart,
}
COMPARED = {
    "components": comparison_charts.components_chart,
    "parameters": comparison_charts.parameters_chart,
    "times": comparison_charts.times_chart,
    "component times": comparison_charts.component_times_chart,
}
Draw = Callable[[Profile], Any]


def each_of(drawings: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("draw", drawings.values(), ids=drawings)


@each_of({**COUNTED, **MEASURED})
def test_a_measured_profile_has_every_chart(draw: Draw) -> None:
    made = draw(everything_measured())
    assert made.data
    assert made.layout.height >= 100


@each_of(MEASURED)
def test_a_counted_profile_has_no_charts_of_measurements(draw: Draw) -> None:
    assert draw(stable_diffusion()) is None


@each_of({**COUNTED, **MEASURED})
def test_a_profile_of_nothing_has_no_chart(draw: Draw) -> None:
    assert draw(nothing()) is None


@each_of({**COUNTED, **MEASURED})
def test_a_chart_is_plain_json_without_the_tags_of_hostile_names(draw: Draw) -> None:
    made = draw(hostile_everywhere())
    written = json.dumps(made.to_plotly_json(), allow_nan=False)
    assert [tag for tag in ("<script", "</script", "<img", "<a ", "<b>not") if tag in written] == []
    shows_no_name = draw in (charts.kinds_chart, charts.step_times_chart)
    assert "&lt;" in written or shows_no_name


@each_of(COMPARED)
def test_several_profiles_are_rows_by_number_so_that_equal_names_stay_apart(draw: Callable[..., Any]) -> None:
    several = [measured_profile(device=GPU), measured_profile(device=GPU), measured_profile(device=GPU, steps=8)]
    made = draw(several, ["the same", "the same", "<b>other</b>"])
    assert made.layout.yaxis.tickvals == (0, 1, 2)
    assert made.layout.yaxis.ticktext == ("the same", "the same", "&lt;b&gt;other&lt;/b&gt;")
    assert {place for trace in made.data for place in trace.y} == {0, 1, 2}


def paths_of(trace: Any) -> list[str]:
    """The names of each block and of those around it."""
    parent, label = (dict(zip(trace.ids, values, strict=True)) for values in (trace.parents, trace.labels))

    def path(block: str) -> str:
        return f"{path(parent[block])}/{label[block]}" if parent[block] else str(label[block])

    return [path(block) for block in trace.ids]


def test_the_blocks_of_the_components_add_up_to_the_whole() -> None:
    trace = charts.components_chart(stable_diffusion()).data[0]
    assert sum(trace.values) == pytest.approx(1, abs=1e-4)
    text = dict(zip(paths_of(trace), trace.text, strict=True))
    assert text["all"] == "26.23 TMACs · 100 %"
    assert text["all/unet"] == "24.93 TMACs · 95.0 %"
    assert text["all/unet/down_blocks"] == "18.60 TMACs · 70.9 %"


def test_equal_neighbours_are_one_block_and_a_number_has_the_name_before_it() -> None:
    paths = paths_of(charts.components_chart(stable_diffusion()).data[0])
    assert "all/unet/down_blocks/down_blocks.0-2" in paths
    assert "all/unet/down_blocks/down_blocks.0" not in paths


def test_modules_are_shown_no_deeper_than_there_may_be_blocks() -> None:
    trace = charts.components_chart(stable_diffusion(), most_blocks=3).data[0]
    assert set(paths_of(trace)) == {"all", "all/unet", "all/vae", "all/text_encoder"}


def test_weights_that_two_modules_share_do_not_burst_their_component() -> None:
    whole = stable_diffusion()
    unet = replace(whole.components["unet"], parameters=400_000_000)
    shared = replace(whole, components={**whole.components, "unet": unet})
    trace = charts.components_chart(shared, Measure.parameters).data[0]
    own = dict(zip(paths_of(trace), trace.values, strict=True))
    inside = sum(value for name, value in own.items() if name.startswith("all/unet"))
    assert inside == pytest.approx(400_000_000 / shared.total.parameters, rel=1e-4)


def test_sections_are_blocks_of_the_mean_time() -> None:
    trace = charts.components_chart(measured_profile(device=GPU), Measure.time).data[0]
    text = dict(zip(paths_of(trace), trace.text, strict=True))
    assert text["generation"] == "59.70ms · 100 %"
    assert text["generation/unet_forward"] == "40.00ms · 67.0 %"
    assert text["generation/encode_prompt/text_encoder_forward"] == "1.000ms · 1.7 %"


def test_kinds_show_their_share_of_macs_and_of_bytes() -> None:
    macs, moved = charts.kinds_chart(stable_diffusion()).data
    assert macs.y == ("convolution", "linear", "attention", "norm")
    assert sum(macs.x) == pytest.approx(1)
    assert sum(moved.x) == pytest.approx(1)
    assert macs.x[3] == 0
    assert moved.x[3] > 0


def test_attention_shows_qk_and_av_of_every_layer() -> None:
    qk, av = charts.attention_chart(stable_diffusion()).data
    assert qk.x == av.x
    assert qk.x[0] == 31 * 3 * 2 * 5 * 4096 * 4096 * 64
    assert "self, 4,096 x 4,096 tokens" in charts.attention_chart(stable_diffusion()).layout.yaxis.ticktext[0]


def test_each_denoising_step_has_its_macs() -> None:
    (bars,) = charts.step_macs_chart(stable_diffusion()).data
    assert bars.x == tuple(range(31))
    assert set(bars.y) == {UNET_MACS}


def test_step_times_show_every_iteration_and_the_median() -> None:
    drawn = charts.step_times_chart(measured_profile(device=GPU)).data
    assert [(line.name, line.showlegend) for line in drawn] == [
        ("warm-ups", True), ("iterations", True), ("iterations", False), ("iterations", False), ("median", None),
    ]  # fmt: skip
    assert drawn[-1].y == pytest.approx([0.01015] * 4)
    assert drawn[0].y == pytest.approx([0.013195] * 4)


def test_the_timeline_has_steps_and_nested_sections() -> None:
    made = charts.timeline_chart(everything_measured())
    assert made.layout.yaxis.ticktext == ("steps", "sections", "inside", "moves")
    unet = next(trace for trace in made.data if trace.name == "unet_forward")
    assert list(unet.x) == [0.01] * 4
    assert set(unet.y) == {1}
    text = next(trace for trace in made.data if trace.name == "text_encoder_forward")
    assert set(text.y) == {2}


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


def test_memory_keeps_the_highest_of_the_points_that_share_a_place() -> None:
    seen = [SystemPoint(10**12 + number, 0, 10**9 if number != 777 else 5 * 10**10) for number in range(20_000)]
    made = charts.memory_chart(measured_profile(system=seen))
    line = next(trace for trace in made.data if trace.name == "resident memory of the process")
    assert len(line.x) <= MOST_POINTS
    assert max(line.y) == 5 * 10**10


def test_caches_show_the_share_of_hits_in_each_step() -> None:
    (fields,) = charts.cache_chart(everything_measured()).data
    assert [list(row) for row in fields.z] == [[0]]


def test_shares_of_a_comparison_are_bars_of_one_length() -> None:
    two = ([stable_diffusion(), stable_diffusion(unet_calls=1)], ["a", "b"])
    assert comparison_charts.components_chart(*two, shares_of_each=True).layout.barnorm == "fraction"
    bars = {trace.name: list(trace.x) for trace in comparison_charts.components_chart(*two).data}
    assert bars == {
        "unet": [31 * UNET_MACS, UNET_MACS],
        "vae": [VAE_MACS, VAE_MACS],
        "text_encoder": [2 * TEXT_ENCODER_MACS] * 2,
    }


def test_cost_against_parameters_needs_profiles_that_differ_in_them() -> None:
    same = [stable_diffusion(), stable_diffusion(unet_calls=1)]
    assert comparison_charts.cost_chart(same, ["a", "b"]) is None
    other = everything_measured()
    smaller = {slot: part for slot, part in other.components.items() if slot != "vae"}
    (points,) = comparison_charts.cost_chart([same[0], replace(other, components=smaller)], ["a", "b"]).data
    assert points.x[0] == same[0].total.parameters
    assert points.y[0] == same[0].total.macs


def test_light_and_dark_differ_in_ink_and_agree_in_colours() -> None:
    light, dark = charts.template(dark=False).layout, charts.template(dark=True).layout
    assert light.font.color != dark.font.color
    assert light.colorway == dark.colorway
    assert "http" not in str(light)


def test_a_component_has_one_colour_in_every_chart() -> None:
    whole = everything_measured()
    time_line = {trace.name: trace.marker.color for trace in charts.timeline_chart(whole).data}
    (steps,) = charts.step_macs_chart(whole).data
    assert time_line["unet_forward"] == steps.marker.color


def test_text_on_a_colour_is_readable() -> None:
    assert [text_colour_on(colour) for colour in ("#000000", "#4269d0", "#ffffff", "#efb118")] == [
        "#ffffff", "#ffffff", INK[False], INK[False],
    ]  # fmt: skip
    (blocks,) = charts.components_chart(everything_measured()).data
    assert list(blocks.textfont.color) == [text_colour_on(colour) for colour in blocks.marker.colors]
