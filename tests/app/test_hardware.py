"""What an accelerator makes of a profile, as HTML."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from diffprof.app import views
from diffprof.app.hardware import hardware_view, memory_bar, needed_bytes
from tests.advice.views.answers import FIT, GIB
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


def test_without_allocations_there_is_a_time_and_no_bar() -> None:
    html = str(hardware_view(PROFILE, "l4"))
    assert "On l4" in html and "expected time" in html
    assert "memory-bar" not in html


def test_nothing_is_shown_where_there_is_nothing_to_say() -> None:
    assert hardware_view(PROFILE, "") == hardware_view(nothing(), "l4") == views.NOTHING


def test_an_unknown_accelerator_is_a_sentence() -> None:
    assert "rtx-4090" in str(hardware_view(PROFILE, "rtx-4099"))
