"""Every chart: there if there is something to show, and names in it stay text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from diffprof.record.profile import Profile
from diffprof.render import charts
from diffprof.render.charts import Measure
from tests.render.report.reports import hostile_everywhere
from tests.sample_profiles import everything_measured, nothing, stable_diffusion

COUNTED = {
    "components by MACs": lambda one: charts.components_chart(one, Measure.macs),
    "components by parameters": lambda one: charts.components_chart(one, Measure.parameters),
    "kinds": charts.kinds_chart,
    "attention": charts.attention_chart,
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
Draw = Callable[[Profile], Any]


def each_of(charts_by_name: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("draw", charts_by_name.values(), ids=charts_by_name)


@each_of({**COUNTED, **MEASURED})
def test_a_measured_profile_has_every_chart(draw: Draw) -> None:
    chart = draw(everything_measured())
    assert chart.data
    assert chart.layout.height >= 100


@each_of(MEASURED)
def test_a_counted_profile_has_no_charts_of_measurements(draw: Draw) -> None:
    assert draw(stable_diffusion()) is None


@each_of({**COUNTED, **MEASURED})
def test_a_profile_of_nothing_has_no_chart(draw: Draw) -> None:
    assert draw(nothing()) is None


@each_of({**COUNTED, **MEASURED})
def test_a_chart_is_plain_json_without_the_tags_of_hostile_names(draw: Draw) -> None:
    chart = draw(hostile_everywhere())
    written = json.dumps(chart.to_plotly_json(), allow_nan=False)
    assert [tag for tag in ("<script", "</script", "<img", "<a ", "<b>not") if tag in written] == []
    shows_no_name = draw in (charts.kinds_chart, charts.step_times_chart)
    assert "&lt;" in written or shows_no_name
