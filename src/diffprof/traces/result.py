"""The result of a request about traces: the input of every view."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.traces.analysis.comparison import TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import TraceExplanation


@dataclass(frozen=True)
class TraceResult:
    """The explanations of all traces of a request, and their comparison."""

    explanations: tuple[TraceExplanation, ...]
    """One for each trace of the request."""
    comparison: TraceComparison | None = None
    ranks: RankComparison | None = None
