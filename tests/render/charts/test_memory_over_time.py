"""The memory of a run over time."""

from __future__ import annotations

from diffprof.record.measured import SystemPoint
from diffprof.render import charts
from diffprof.render.charts.memory_over_time import MAX_POINTS
from tests.sample_profiles import measured_profile


def test_the_highest_of_neighbouring_points_is_kept() -> None:
    points = [SystemPoint(10**12 + number, 0, 10**9 if number != 777 else 5 * 10**10) for number in range(20_000)]
    chart = charts.memory_chart(measured_profile(system=points))
    line = next(trace for trace in chart.data if trace.name == "resident memory of the process")
    assert len(line.x) <= MAX_POINTS
    assert max(line.y) == 5 * 10**10
