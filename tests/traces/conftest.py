"""Explain a trace that a test has built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import TraceExplanation
from tests.traces.trace_builder import TraceBuilder

Explain = Callable[..., TraceExplanation]


@pytest.fixture
def explain_built(tmp_path: Path) -> Explain:
    """``explain_built(builder)`` writes the trace and reads it again."""

    def explain(builder: TraceBuilder, threshold_ns: int = 10_000) -> TraceExplanation:
        return explain_trace(builder.write(tmp_path / "trace.json"), threshold_ns)

    return explain
