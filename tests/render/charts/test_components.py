"""The components as nested blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.render import charts
from diffprof.render.charts import Measure
from tests.sample_iterations import GPU
from tests.sample_profiles import measured_profile, stable_diffusion


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
    assert text["generation"] == "26.2 TMACs · 100 %"
    assert text["generation/unet"] == "24.9 TMACs · 95.0 %"
    assert text["generation/unet/down_blocks"] == "18.6 TMACs · 70.9 %"


def test_equal_neighbours_are_one_block_and_an_index_gets_the_name_before_it() -> None:
    paths = paths_of(charts.components_chart(stable_diffusion()).data[0])
    assert "generation/unet/down_blocks/down_blocks.0-2" in paths
    assert "generation/unet/down_blocks/down_blocks.0" not in paths


def test_the_module_tree_is_cut_at_the_depth_that_has_few_enough_blocks() -> None:
    trace = charts.components_chart(stable_diffusion(), most_blocks=3).data[0]
    assert set(paths_of(trace)) == {"generation", "generation/unet", "generation/vae", "generation/text_encoder"}


def test_modules_that_share_weights_are_drawn_within_their_component() -> None:
    whole = stable_diffusion()
    unet = replace(whole.components["unet"], parameters=400_000_000)
    shared = replace(whole, components={**whole.components, "unet": unet})
    trace = charts.components_chart(shared, Measure.parameters).data[0]
    own = dict(zip(paths_of(trace), trace.values, strict=True))
    inside = sum(value for name, value in own.items() if name.startswith("generation/unet"))
    assert inside == pytest.approx(400_000_000 / shared.total.parameters, rel=1e-4)


def test_sections_are_blocks_of_the_mean_time() -> None:
    trace = charts.components_chart(measured_profile(device=GPU), Measure.time).data[0]
    text = dict(zip(paths_of(trace), trace.text, strict=True))
    assert text["generation"] == "59.7 ms · 100 %"
    assert text["generation/unet_forward"] == "40.0 ms · 67.0 %"
    assert text["generation/encode_prompt/text_encoder_forward"] == "1.00 ms · 1.7 %"
