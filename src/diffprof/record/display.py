"""How records are shown and converted: renderers are named here and imported on use.

Records need none of the rooms above them, so that loading and saving imports nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

TEXT = {
    "Advice": "diffprof.advice.views.advice_views:advice_text",
    "Comparison": "diffprof.comparison.views.console:comparison_text",
    "Watched": "diffprof.render.notebook:runs_text",
    "Fit": "diffprof.advice.views.fit_views:fit_text",
    "Prediction": "diffprof.advice.views.prediction_console:prediction_text",
    "Profile": "diffprof.render.notebook:profile_text",
    "Run": "diffprof.render.notebook:runs_text",
    "Scaling": "diffprof.advice.views.scale_views:scale_text",
    "SweepResult": "diffprof.sweeps.views.tables:sweep_text",
    "TraceExplanation": "diffprof.traces.views.notebook:trace_text",
}
"""The functions for the text that the command prints, by class of record."""

HTML = {
    "Advice": "diffprof.advice.views.advice_views:advice_notebook",
    "Comparison": "diffprof.comparison.views.console:comparison_notebook",
    "Watched": "diffprof.render.notebook:runs_notebook",
    "Fit": "diffprof.advice.views.fit_views:fit_notebook",
    "Prediction": "diffprof.advice.views.prediction_console:prediction_notebook",
    "Profile": "diffprof.render.notebook:profile_notebook",
    "Run": "diffprof.render.notebook:runs_notebook",
    "Scaling": "diffprof.advice.views.scale_views:scale_notebook",
    "SweepResult": "diffprof.sweeps.views.tables:sweep_notebook",
    "TraceExplanation": "diffprof.traces.views.notebook:trace_notebook",
}
"""The functions for the HTML in a notebook, by class of record."""


def find_function(place: str) -> Callable[..., Any]:
    """Import the function of ``package.module:function``."""
    module, _, function = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


class Displayed:
    """A record that prints as its command does, and as HTML in a notebook."""

    def __str__(self) -> str:
        return str(find_function(TEXT[type(self).__name__])(self))

    def _repr_html_(self) -> str:
        return str(find_function(HTML[type(self).__name__])(self))
