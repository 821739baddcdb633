"""What ``diffprof doctor`` found out about a machine: one verdict for each promise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a check."""

    ok = "ok"
    failed = "failed"
    skipped = "skipped"


@dataclass(frozen=True)
class Check:
    """One promise, and whether it holds here."""

    name: str
    """One of the names in `render.examination`."""
    verdict: Verdict
    detail: str = ""
    """What was seen: numbers, or the message of an error."""


@dataclass(frozen=True)
class Examination:
    """All checks of one machine, and what it is."""

    machine: dict[str, str]
    """Versions and devices, by name."""
    checks: tuple[Check, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether no promise was broken."""
        return all(check.verdict is not Verdict.failed for check in self.checks)
