"""Profiles that were kept: one SQLite file that many processes may write at once, searched without torch."""

from diffprof.record.history.filters import KINDS, METRICS, ORDERS, Filters
from diffprof.record.history.history import History, default_path
from diffprof.record.history.records import KeptRun, PruneResult, Series, Trend

__all__ = [
    "KINDS",
    "METRICS",
    "ORDERS",
    "Filters",
    "History",
    "KeptRun",
    "PruneResult",
    "Series",
    "Trend",
    "default_path",
]
