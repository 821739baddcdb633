"""Compare profiles: what differs between them, whether a difference in time is significant, and the gate.

from diffprof.comparison import compare

comparison = compare([diffprof.load("a.json"), diffprof.load("b.json")], ["a", "b"])
"""

from __future__ import annotations

from diffprof.comparison.compare import Comparison, Pair, compare, compare_pair

__all__ = ["Comparison", "Pair", "compare", "compare_pair"]
