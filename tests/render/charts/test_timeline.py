"""The timeline of one iteration."""

from __future__ import annotations

from diffprof.render import charts
from tests.sample_profiles import everything_measured


def test_the_timeline_has_steps_and_nested_sections() -> None:
    chart = charts.timeline_chart(everything_measured())
    assert chart.layout.yaxis.ticktext == ("steps", "sections", "inside", "moves")
    unet = next(trace for trace in chart.data if trace.name == "unet_forward")
    assert list(unet.x) == [0.01] * 4
    assert set(unet.y) == {1}
    text = next(trace for trace in chart.data if trace.name == "text_encoder_forward")
    assert set(text.y) == {2}
