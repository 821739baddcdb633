"""What all charts share: themes, colours, escaped text and axes."""

from __future__ import annotations

import pytest

from diffprof.render import charts
from diffprof.render.charts import style
from diffprof.render.charts.style import INK, text_colour_on
from tests.sample_profiles import everything_measured


def test_light_and_dark_differ_in_ink_and_agree_in_colours() -> None:
    light, dark = charts.template(dark=False).layout, charts.template(dark=True).layout
    assert light.font.color != dark.font.color
    assert light.colorway == dark.colorway
    assert "http" not in str(light)


def test_a_component_has_one_colour_in_every_chart() -> None:
    whole = everything_measured()
    time_line = {trace.name: trace.marker.color for trace in charts.timeline_chart(whole).data}
    layers = {trace.name: trace.marker.color for trace in charts.attention_chart(whole).data}
    assert time_line["unet_forward"] == layers["unet"]


def test_a_time_axis_is_labelled_in_the_unit_of_its_longest_time() -> None:
    assert style.time_axis("time", 12e6)["ticktext"][:3] == ["0 ms", "2 ms", "4 ms"]
    assert style.time_axis("time", 3.1e9)["ticktext"][:2] == ["0 s", "1 s"]
    assert style.time_axis("time", 4e3)["ticktext"][:2] == ["0 µs", "1 µs"]


def test_text_on_a_colour_is_readable() -> None:
    assert [text_colour_on(colour) for colour in ("#000000", "#4269d0", "#ffffff", "#efb118")] == [
        "#ffffff", "#ffffff", INK[False], INK[False],
    ]  # fmt: skip
    (blocks,) = charts.components_chart(everything_measured()).data
    assert list(blocks.textfont.color) == [text_colour_on(colour) for colour in blocks.marker.colors]


def test_a_name_from_outside_is_cut_and_then_escaped() -> None:
    assert style.escape("<b>bold</b> & more") == "&lt;b&gt;bold&lt;/b&gt; &amp; more"
    assert style.escape("<abcdef>", 5) == "&lt;abc…"


def test_lines_are_joined_without_the_empty_ones() -> None:
    assert style.join_lines("a", "", "b") == "a<br>b"


def test_a_colour_mixed_with_white() -> None:
    assert [style.lighten("#004080", amount) for amount in (0, 0.5, 1)] == ["#004080", "#80a0c0", "#ffffff"]


@pytest.mark.parametrize(("steps", "distance"), [(1, 1), (12, 1), (13, 2), (60, 5), (61, 10), (7_000, 7_000)])
def test_an_axis_of_steps_has_a_dozen_ticks_at_most(steps: int, distance: int) -> None:
    assert style.steps_axis(steps)["dtick"] == distance


def test_a_component_has_its_own_colour_on_every_page() -> None:
    first = style.colours_of_components(["unet", "vae", "text_encoder"])
    second = style.colours_of_components(["text_encoder", "transformer", "vae", "adapter"])
    assert (first["vae"], first["text_encoder"]) == (second["vae"], second["text_encoder"])
    assert first["unet"] == second["transformer"] == style.COLOURS[0]
    assert len(set(second.values())) == len(second)


def test_of_two_components_with_the_same_colour_the_first_has_it_and_many_share() -> None:
    both = style.colours_of_components(["transformer", "unet"])
    assert both["transformer"] == style.COLOURS[0] != both["unet"]
    many = style.colours_of_components([f"part {number}" for number in range(12)])
    assert set(many.values()) == set(style.COLOURS)


def test_colours_repeat_from_the_tenth_name_on() -> None:
    colours = style.colours_of([str(number) for number in range(10)])
    assert len(set(colours.values())) == 9
    assert colours["9"] == colours["0"]
