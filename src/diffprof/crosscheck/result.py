"""The record of a crosscheck: what several tools counted for one call of one component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MATRIX_PRODUCTS = "matrix products"
CONVOLUTIONS = "convolutions"
ATTENTION = "attention"
NORMS = "norms"
SOFTMAX = "softmax"
RESAMPLING = "resampling"
SQUARED = "cross-attention as N²"
"""What a formula with the square of the query tokens counts beyond query tokens times key tokens."""
OTHER = "other operations"

REAL_PRODUCTS = (MATRIX_PRODUCTS, CONVOLUTIONS, ATTENTION)
"""The parts that hold multiply-accumulates; any other part of a count is something else counted as if it did."""

DIFFPROF = "diffprof"


@dataclass(frozen=True)
class Count:
    """What one tool counted, and what counting took in a process of its own; or why there is no count."""

    tool: str
    title: str
    macs: int | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    """MACs by what the tool took them for."""
    seconds: float | None = None
    """To count, once the model and its inputs were there."""
    peak_bytes: int | None = None
    """Most memory of the whole process, the libraries included."""
    reason: str = ""
    """Why the tool has no count."""
    needed_bytes: int | None = None
    """What a real run would take, where that is more than `free_bytes`."""
    free_bytes: int | None = None


@dataclass(frozen=True)
class Crosscheck:
    """One call of one component, counted by several tools on the same inputs."""

    model: str
    component: str
    class_name: str
    method: str
    inputs: str
    parameters: int
    counts: tuple[Count, ...]

    @property
    def truth(self) -> Count:
        """The count of diffprof, which the others are compared with."""
        return next(count for count in self.counts if count.tool == DIFFPROF)
