"""Profiles as plotly figures, for reports and for the page.

Each function takes a profile, or several with their names, and gives a figure, or None where there is nothing to
show. `template(dark)` is the look of all of them; everything that comes from outside is drawn as plain text.
"""

from diffprof.render.charts.caches import cache_figure
from diffprof.render.charts.components import Measure, components_figure
from diffprof.render.charts.memory import memory_figure, moves_figure
from diffprof.render.charts.rates import rates_figure
from diffprof.render.charts.steps import step_macs_figure, step_times_figure
from diffprof.render.charts.style import template
from diffprof.render.charts.timeline import timeline_figure
from diffprof.render.charts.work import attention_figure, kinds_figure

__all__ = [
    "Measure",
    "attention_figure",
    "cache_figure",
    "components_figure",
    "kinds_figure",
    "memory_figure",
    "moves_figure",
    "rates_figure",
    "step_macs_figure",
    "step_times_figure",
    "template",
    "timeline_figure",
]
