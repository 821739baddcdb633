"""What an accelerator makes of a profile, as HTML."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from diffprof.app import views
from diffprof.app.hardware import AcceleratorOutcome, hardware_view, memory_bar, needed_bytes
from tests.advice.views.answers import FIT, GIB, predicted_time
from tests.sample_profiles import nothing, stable_diffusion

PROFILE = stable_diffusion(unet_calls=2)


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r"width:([\d.]+)%", html)]


def test_the_parts_of_a_bar_are_shares_of_the_peak() -> None:
    html = str(memory_bar(PROFILE, FIT))
    assert sum(widths(html)) == pytest.approx(100, abs=0.1)
    assert "left:80%" in html  # the card has 8 of 10 GiB
    assert "too-much" in html


def test_a_bar_beside_others_stands_for_the_largest_of_them() -> None:
    html = str(memory_bar(PROFILE, replace(FIT, fits=True), whole_bytes=40 * GIB))
    assert sum(widths(html)) == pytest.approx(25, abs=0.1)
    assert "too-much" not in html


def test_a_bar_has_room_for_the_peak_and_for_the_card() -> None:
    assert needed_bytes(FIT) == 10 * GIB
    assert needed_bytes(replace(FIT, usable_bytes=20 * GIB)) == 20 * GIB
    assert needed_bytes(replace(FIT, usable_bytes=None)) == 10 * GIB


@pytest.mark.parametrize("usable", [8 * GIB, 10_000 * GIB])
def test_every_part_of_a_bar_is_named_on_small_and_on_huge_cards(usable: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = AcceleratorOutcome(replace(FIT, usable_bytes=usable), predicted_time(1.0))
    monkeypatch.setattr("diffprof.app.hardware.outcome_on", lambda *_: outcome)
    bar, legend = str(hardware_view(PROFILE, "mi300x")).split("memory-legend")
    parts = set(re.findall('title="([^"]+)"', bar))
    assert parts == set(re.findall("</i>([^<]+)</span>", legend)) and len(parts) == 7


def test_a_part_too_small_to_see_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (FIT.stages[0], replace(FIT.stages[1], workspace_bytes=GIB // 1000))
    outcome = AcceleratorOutcome(replace(FIT, stages=stages), predicted_time(1.0))
    monkeypatch.setattr("diffprof.app.hardware.outcome_on", lambda *_: outcome)
    legend = str(hardware_view(PROFILE, "mi300x")).split("memory-legend")[1]
    assert "activations" in legend and "workspace" not in legend


def test_without_allocations_there_is_a_time_and_no_bar() -> None:
    html = str(hardware_view(PROFILE, "l4"))
    assert "On l4" in html and "expected time" in html
    assert "memory-bar" not in html


def test_nothing_is_shown_where_there_is_nothing_to_say() -> None:
    assert hardware_view(PROFILE, "") == hardware_view(nothing(), "l4") == views.NOTHING


def test_an_unknown_accelerator_is_a_sentence() -> None:
    assert "rtx-4090" in str(hardware_view(PROFILE, "rtx-4099"))
