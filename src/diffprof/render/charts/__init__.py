"""Profiles as plotly figures, for reports and for the page.

Each function takes a profile, or several with their names, and gives a figure, or None where there is nothing to
show. `template(dark)` is the look of all of them; everything that comes from outside is drawn as plain text.
"""

from diffprof.render.charts.caches import cache_chart
from diffprof.render.charts.components import Measure, components_chart
from diffprof.render.charts.memory_over_time import memory_chart, moves_chart
from diffprof.render.charts.rates import rates_chart
from diffprof.render.charts.steps import step_macs_chart, step_times_chart
from diffprof.render.charts.style import template
from diffprof.render.charts.timeline import timeline_chart
from diffprof.render.charts.work import attention_chart, kinds_chart

__all__ = [
    "Measure",
    "attention_chart",
    "cache_chart",
    "components_chart",
    "kinds_chart",
    "memory_chart",
    "moves_chart",
    "rates_chart",
    "step_macs_chart",
    "step_times_chart",
    "template",
    "timeline_chart",
]
