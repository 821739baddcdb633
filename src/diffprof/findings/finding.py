"""The types of rules and findings. The text of diffprof's own rules is in `diffprof.render.finding_words`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

Value = str | int | float | None
"""A name, a count, or a number whose name ends in its unit: `_seconds`, `_bytes`, `_share` (from 0 to 1)."""
Evidence = Mapping[str, Value]


@dataclass(frozen=True)
class Finding:
    """A possible problem in a measured run, with the numbers that show it."""

    rule: str
    case: str
    """The case of the rule; each has its own text."""
    stake: float
    """The share of the time or the memory that it affects; 1 if it puts all numbers in doubt."""
    evidence: Evidence
    """The values for the text. None for an unknown value: sentences with it are left out."""


@dataclass(frozen=True)
class Threshold:
    """A threshold of a rule, and the reason for its value."""

    name: str
    """Ends in the unit, as the names of evidence do."""
    value: float
    reason: str


class FindingText(NamedTuple):
    """The text for one case of a rule. Names in braces are replaced by values of the evidence."""

    title: str
    evidence: tuple[str, ...] = ()
    """Sentences; those with unknown values are left out."""
    advice: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    """Lines of Python that follow the advice; those with unknown values are left out."""
    command: tuple[str, ...] = ()
    """Options of ``diffprof run`` that follow the advice."""


@dataclass(frozen=True)
class Rule:
    """A rule that looks for one problem in the profile of a measured run."""

    name: str
    description: str
    cases: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    find: Callable[[Profile, Measured], Iterator[Finding]]
    texts: Mapping[str, FindingText] = field(default_factory=dict)
    """The text of each case, for rules that are registered by a program; that of diffprof's own rules is in render."""
