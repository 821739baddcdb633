"""The result of a crosscheck: the counts of several tools for one call of a component."""

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
"""The excess of a formula that uses the square of the query tokens instead of query times key tokens."""
OTHER = "other operations"

REAL_PRODUCTS = (MATRIX_PRODUCTS, CONVOLUTIONS, ATTENTION)
"""The parts that are multiply-accumulates; all other parts are other work that a tool counts as such."""

DIFFPROF = "diffprof"


@dataclass(frozen=True)
class Count:
    """The count of one tool with its time and memory, or why there is none."""

    tool: str
    title: str
    macs: int | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    """MACs by part."""
    seconds: float | None = None
    """Time of the count, without creating the model and its inputs."""
    peak_bytes: int | None = None
    """Peak memory of the whole process, including libraries."""
    reason: str = ""
    """Why the tool has no count."""
    needed_bytes: int | None = None
    """The memory of a real run, if that is more than `free_bytes`."""
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
        """The count of diffprof, with which the others are compared."""
        return next(count for count in self.counts if count.tool == DIFFPROF)
