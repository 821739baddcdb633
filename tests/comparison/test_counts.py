"""The counted figures side by side, exactly."""

from __future__ import annotations

from dataclasses import replace

from diffprof.comparison.counts import (
    ADDED,
    CHANGED,
    COMPONENT_METRICS,
    METRICS,
    REMOVED,
    SAME,
    CountChange,
    component_changes,
    peak_memory,
    total_changes,
)
from tests.sample_profiles import UNET_MACS, nothing, stable_diffusion


def test_ten_steps_less_are_ten_calls_of_the_unet_less() -> None:
    before, after = stable_diffusion(), stable_diffusion(steps=20, unet_calls=21)
    totals = {figure.name: figure for figure in total_changes(before, after)}
    assert list(totals) == list(METRICS)
    assert totals["macs"].difference == -10 * UNET_MACS
    assert totals["flops"].difference == -20 * UNET_MACS
    assert totals["calls"].difference == -10
    assert totals["steps"] == CountChange("steps", 31, 21)
    assert [name for name, figure in totals.items() if not figure.difference] == [
        *("parameters", "buffers", "weights", "peak_memory", "operations", "step_macs")
    ]


def test_the_numbers_of_the_components_add_up_to_the_total() -> None:
    before, after = stable_diffusion(), stable_diffusion(steps=20, unet_calls=21)
    totals = {figure.name: figure for figure in total_changes(before, after)}
    components = component_changes(before, after)
    for name in set(COMPONENT_METRICS) - {"peak_memory"}:
        figures = [figure for change in components for figure in change.figures if figure.name == name]
        assert sum(figure.before for figure in figures) == totals[name].before
        assert sum(figure.after for figure in figures) == totals[name].after


def test_peak_memory_is_all_weights_and_the_hungriest_call() -> None:
    profile = stable_diffusion()
    assert peak_memory(profile) == profile.total.weight_bytes + profile.components["vae"].peak_live_bytes
    assert peak_memory(nothing()) == 0


def test_components_come_go_and_change() -> None:
    before = stable_diffusion()
    other = {slot: part for slot, part in before.components.items() if slot != "text_encoder"}
    other["unet"] = replace(other["unet"], dtype="float32")
    other["controlnet"] = replace(other["vae"], slot="controlnet")
    changes = {change.component: change for change in component_changes(before, replace(before, components=other))}
    assert {slot: change.change for slot, change in changes.items()} == {
        "vae": SAME,
        "text_encoder": REMOVED,
        "unet": CHANGED,
        "controlnet": ADDED,
    }
    assert (changes["controlnet"].before_class, changes["controlnet"].after_class) == (None, "AutoencoderKL")
    assert {figure.after for figure in changes["text_encoder"].figures} == {0}


def test_a_number_that_was_zero_has_no_ratio() -> None:
    assert CountChange("macs", 0, 5).ratio is None
    assert CountChange("macs", 4, 5).ratio == 1.25
