"""What a rule is, and what it finds. The words for it are in `diffprof.render.findings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

Value = str | int | float | None
"""A name, a count, or a figure whose unit is the end of its name: `_seconds`, `_bytes`, `_share` (1 is all of it)."""
Evidence = Mapping[str, Value]


@dataclass(frozen=True)
class Finding:
    """Something in a measured run that is worth a look, and the figures that show it."""

    rule: str
    case: str
    """Which of the rule's cases it is: each has words of its own."""
    stake: float
    """Share of the time or the memory that it is about; 1 where it puts all figures in doubt."""
    evidence: Evidence
    """None: not known here; a sentence that needs it is left out."""


@dataclass(frozen=True)
class Threshold:
    """From where on something is worth a finding, and why there."""

    name: str
    """It ends in the unit, as the names of evidence do."""
    value: float
    reason: str


@dataclass(frozen=True)
class Rule:
    """Looks for one thing in the profile of a measured run."""

    name: str
    description: str
    cases: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    find: Callable[[Profile, Measured], Iterator[Finding]]
