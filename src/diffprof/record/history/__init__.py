"""Kept profiles: one SQLite file that many processes may write at once, searched without torch."""

from diffprof.record.history.filters import KINDS, METRICS, ORDERS, Filters
from diffprof.record.history.history import History, default_path
from diffprof.record.history.records import FoundRuns, KeptRun, PruneResult, RepairResult, Series, Trend

__all__ = [
    "KINDS",
    "METRICS",
    "ORDERS",
    "Filters",
    "FoundRuns",
    "History",
    "KeptRun",
    "PruneResult",
    "RepairResult",
    "Series",
    "Trend",
    "default_path",
]
