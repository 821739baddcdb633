"""Traces of torch.profiler (Kineto's Chrome traces): reading, explaining and comparing them, and showing the result.

    from diffprof.traces import explain_trace

    explanation = explain_trace("trace.json.gz")
    print(explanation.idle_ns, explanation.causes[0].what)

`reading` turns a file into columns of events, `analysis` turns them into facts (`facts`), `views` shows the facts.
torch is not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffprof.traces.analysis.comparison import TraceComparison, compare_traces
    from diffprof.traces.analysis.explain import explain_trace
    from diffprof.traces.analysis.ranks import RankComparison, compare_ranks
    from diffprof.traces.facts import TraceExplanation
    from diffprof.traces.overlay import write_overlay
    from diffprof.traces.reading.columns import RecordedTrace
    from diffprof.traces.reading.reader import read_trace
    from diffprof.traces.request import TraceRequest, explain_request
    from diffprof.traces.result import TraceResult

_MODULES = {
    "RankComparison": "analysis.ranks",
    "RecordedTrace": "reading.columns",
    "TraceComparison": "analysis.comparison",
    "TraceExplanation": "facts",
    "TraceRequest": "request",
    "TraceResult": "result",
    "compare_ranks": "analysis.ranks",
    "compare_traces": "analysis.comparison",
    "explain_request": "request",
    "explain_trace": "analysis.explain",
    "read_trace": "reading.reader",
    "write_overlay": "overlay",
}

__all__ = [
    "RankComparison",
    "RecordedTrace",
    "TraceComparison",
    "TraceExplanation",
    "TraceRequest",
    "TraceResult",
    "compare_ranks",
    "compare_traces",
    "explain_request",
    "explain_trace",
    "read_trace",
    "write_overlay",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that the command line's help does not import numpy."""
    if name not in _MODULES:
        raise AttributeError(f"module 'diffprof.traces' has no attribute {name!r}")
    return getattr(import_module(f"diffprof.traces.{_MODULES[name]}"), name)
