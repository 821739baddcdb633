"""The section about hardware."""

from __future__ import annotations

from dataclasses import replace

from diffprof.prediction.on_accelerator import USUAL
from diffprof.record.profile import Profile
from diffprof.render.report.hardware import TITLE, add_hardware
from diffprof.render.report.page import Page
from tests.sample_profiles import nothing, stable_diffusion


def section(profile: Profile) -> str:
    page = Page("a page")
    add_hardware(page, profile)
    return page.html([], "")


def test_the_usual_accelerators_are_listed_the_fastest_first() -> None:
    html = section(stable_diffusion(unet_calls=2))
    places = {name: html.index(name) for name in USUAL}
    assert places["h100-sxm"] < places["l4"] < places["t4"]


def test_a_profile_that_cannot_be_predicted_from_has_no_such_section() -> None:
    counted = stable_diffusion(unet_calls=2)
    assert TITLE in section(counted)
    without = [replace(call, cost=replace(call.cost, operations=())) for call in counted.calls]
    assert TITLE not in section(replace(counted, calls=tuple(without)))
    assert TITLE not in section(nothing())
