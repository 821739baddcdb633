"""A trace in a notebook and in Python's own ``print``."""

from __future__ import annotations

from diffprof.render.blocks import Block
from diffprof.render.console import render_text
from diffprof.render.notebook import blocks_html
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.views import sentences
from diffprof.traces.views.console import TABLES, TABLES_WITHOUT_GPU, TOP, print_trace
from diffprof.traces.views.tables import TraceBy, row_count, table_columns

TEXT_WIDTH = 100


def trace_text(explanation: TraceExplanation) -> str:
    """What ``diffprof trace`` prints."""
    return render_text(lambda console: print_trace(explanation, console), TEXT_WIDTH)


def trace_notebook(explanation: TraceExplanation) -> str:
    """The headline and the tables as HTML."""
    heading = Block(
        sentences.source_line(explanation), [sentences.headline(explanation), *sentences.notes(explanation)]
    )
    tables = [
        Block(columns=table_columns(explanation, table, TOP, ascii_only=False))
        for table in (TABLES if explanation.timelines else TABLES_WITHOUT_GPU)
        if table is not TraceBy.check and row_count(explanation, table)
    ]
    return blocks_html([heading, *tables])
