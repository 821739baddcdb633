"""Profiles as plotly figures, for reports and for the page.

Each function takes a profile, or several with their names, and gives a figure, or None where there is nothing to
show. `template(dark)` is the look of all of them; everything that comes from outside is drawn as plain text.
"""

from diffprof.render.figures.caches import cache_figure
from diffprof.render.figures.comparison import (
    compared_component_times_figure,
    compared_components_figure,
    compared_parameters_figure,
    compared_times_figure,
    cost_against_parameters_figure,
)
from diffprof.render.figures.components import Measure, components_figure
from diffprof.render.figures.memory import memory_figure, moves_figure
from diffprof.render.figures.rates import rates_figure
from diffprof.render.figures.steps import step_macs_figure, step_times_figure
from diffprof.render.figures.style import template
from diffprof.render.figures.timeline import timeline_figure
from diffprof.render.figures.work import attention_figure, kinds_figure

__all__ = [
    "Measure",
    "attention_figure",
    "cache_figure",
    "compared_component_times_figure",
    "compared_components_figure",
    "compared_parameters_figure",
    "compared_times_figure",
    "components_figure",
    "cost_against_parameters_figure",
    "kinds_figure",
    "memory_figure",
    "moves_figure",
    "rates_figure",
    "step_macs_figure",
    "step_times_figure",
    "template",
    "timeline_figure",
]
