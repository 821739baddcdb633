"""Kinds of work and attention."""

from __future__ import annotations

import pytest

from diffprof.render import charts
from diffprof.render.charts.style import component_colours
from diffprof.render.charts.work import LONGEST_PLACE, distinct_names
from tests.sample_profiles import stable_diffusion


def test_kinds_show_their_share_of_macs_and_of_bytes() -> None:
    macs, moved = charts.kinds_chart(stable_diffusion()).data
    assert macs.y == ("convolution", "linear", "attention", "norm")
    assert sum(macs.x) == pytest.approx(1)
    assert sum(moved.x) == pytest.approx(1)
    assert macs.x[3] == 0
    assert moved.x[3] > 0


def test_attention_shows_every_layer_in_the_colour_of_its_component() -> None:
    unet, text = charts.attention_chart(stable_diffusion()).data
    assert unet.x[0] == 2 * 31 * 3 * 2 * 5 * 4096 * 4096 * 64
    assert (unet.name, text.name) == ("unet", "text_encoder")
    colours = component_colours(stable_diffusion())
    assert (unet.marker.color, text.marker.color) == (colours["unet"], colours["text_encoder"])
    assert "self, 4,096 x 4,096 tokens" in charts.attention_chart(stable_diffusion()).layout.yaxis.ticktext[0]


def test_long_names_lose_their_middle_but_never_read_the_same() -> None:
    ends = [f"unet.down_blocks.{number}.attentions.*.transformer_blocks.*.attn1" for number in (0, 1)]
    short = distinct_names([*ends, "vae"])
    assert short[2] == "vae"
    assert len(set(short)) == 3
    middles = [f"{'a' * LONGEST_PLACE}{letter}{'b' * LONGEST_PLACE}" for letter in "xy"]
    assert distinct_names(middles) == middles
