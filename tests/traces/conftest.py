"""From a trace made by hand to what diffprof finds in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diffprof.traces.analysis.explanation import trace_report
from diffprof.traces.facts import TraceReport
from tests.traces.made_by_hand import HandMade

Reported = Callable[..., TraceReport]


@pytest.fixture
def reported(tmp_path: Path) -> Reported:
    """``reported(made)`` writes the trace and reads it again."""

    def report(made: HandMade, threshold_ns: int = 10_000) -> TraceReport:
        return trace_report(made.write(tmp_path / "trace.json"), threshold_ns)

    return report
