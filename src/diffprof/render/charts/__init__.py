"""Profiles as plotly charts, for the report and for the app.

Each function takes a profile and returns a chart, or None if there is nothing to show. `template(dark)` is the theme
of all charts; names from outside are drawn as plain text.
"""

from diffprof.render.charts.caches import cache_chart
from diffprof.render.charts.components import Measure, components_chart
from diffprof.render.charts.memory_over_time import memory_chart
from diffprof.render.charts.moves import moves_chart
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
