"""Profiles that were kept: one SQLite file that many processes may write at once, searched without torch."""

from diffprof.profiles.history.filters import KINDS, METRICS, ORDERS, Filters
from diffprof.profiles.history.history import History
from diffprof.profiles.history.kept import Kept, Pruned, Series, Trend
from diffprof.profiles.history.place import default_path

__all__ = [
    "KINDS",
    "METRICS",
    "ORDERS",
    "Filters",
    "History",
    "Kept",
    "Pruned",
    "Series",
    "Trend",
    "default_path",
]
