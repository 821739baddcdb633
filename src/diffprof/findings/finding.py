"""What a rule is, and what it finds. `diffprof.render.finding_words` has the text of diffprof's own rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

Value = str | int | float | None
"""A name, a count, or a number whose unit is the end of its name: `_seconds`, `_bytes`, `_share` (1 is all of it)."""
Evidence = Mapping[str, Value]


@dataclass(frozen=True)
class Finding:
    """Something in a measured run that is worth a look, and the numbers that show it."""

    rule: str
    case: str
    """Which of the rule's cases it is: each has a text of its own."""
    stake: float
    """Share of the time or the memory that it is about; 1 where it puts all numbers in doubt."""
    evidence: Evidence
    """None where a value is not known: sentences with it are left out."""


@dataclass(frozen=True)
class Threshold:
    """The value above which something is worth a finding, and why."""

    name: str
    """It ends in the unit, as the names of evidence do."""
    value: float
    reason: str


class FindingText(NamedTuple):
    """What is shown for one case of a rule. Names in braces are those of the evidence."""

    title: str
    evidence: tuple[str, ...] = ()
    """Sentences; one whose values are not known is left out."""
    advice: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    """Lines of Python that do it, ready to copy; a line whose values are not known is left out."""
    command: tuple[str, ...] = ()
    """The same on the command line: options of ``diffprof run``."""


@dataclass(frozen=True)
class Rule:
    """Looks for one thing in the profile of a measured run."""

    name: str
    description: str
    cases: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    find: Callable[[Profile, Measured], Iterator[Finding]]
    texts: Mapping[str, FindingText] = field(default_factory=dict)
    """By case, for rules that are added from outside; diffprof's own have theirs in render."""
