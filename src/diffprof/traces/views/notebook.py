"""A trace in a notebook and in Python's own ``print``."""

from __future__ import annotations

from diffprof.render.console import render_text
from diffprof.render.notebook import blocks_html
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.views.console import print_trace, trace_blocks

TEXT_WIDTH = 100


def trace_text(explanation: TraceExplanation) -> str:
    """The text that ``diffprof trace`` prints."""
    return render_text(lambda console: print_trace(explanation, console), TEXT_WIDTH)


def trace_notebook(explanation: TraceExplanation) -> str:
    """The headline and the tables as HTML."""
    return blocks_html(trace_blocks(explanation))
