"""Memory over the stages."""

from __future__ import annotations

import pytest

from diffprof.advice.views.fit_charts import CACHED, CONTEXT, part_colours, stage_parts, stages_chart
from diffprof.render.charts.style import COLOURS
from tests.advice.views.answers import FIT, GIB, STAGES


def test_the_parts_of_a_stage_add_up_to_what_nvidia_smi_shows() -> None:
    for stage in STAGES:
        assert sum(stage_parts(stage).values()) == stage.device_bytes
    parts = stage_parts(STAGES[1])
    assert (parts["weights of unet"], parts[CACHED], parts[CONTEXT]) == (4 * GIB, GIB, GIB)


def test_a_bar_is_a_stack_of_its_parts_below_the_line_of_the_device() -> None:
    chart = stages_chart(FIT)
    assert [sum(trace.y[place] for trace in chart.data) for place in range(2)] == pytest.approx([6, 10])
    assert chart.layout.shapes[0].y0 == 8
    assert (chart.layout.shapes[0].name, chart.layout.shapes[0].showlegend) == ("usable on t4: 8.00 GiB", True)


def test_a_component_has_the_colour_that_it_has_in_every_chart() -> None:
    names = ["weights of unet", "weights of vae", "activations", "workspace", CACHED]
    colours = part_colours(names)
    assert (colours["weights of unet"], colours["weights of vae"]) == (COLOURS[0], COLOURS[1])
    assert len(set(colours.values())) == len(colours)
    assert part_colours(names, {"unet": "#123456"})["weights of unet"] == "#123456"
