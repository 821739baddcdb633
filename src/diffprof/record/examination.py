"""The result of ``diffprof doctor``: one verdict for each check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of a check."""

    ok = "ok"
    failed = "failed"
    skipped = "skipped"


@dataclass(frozen=True)
class Check:
    """One check of a promise, with its verdict."""

    name: str
    """One of the names in `render.examination`."""
    verdict: Verdict
    detail: str = ""
    """What was observed: numbers, or the message of an error."""


@dataclass(frozen=True)
class Examination:
    """All checks of one machine, and its description."""

    machine: dict[str, str]
    """Versions and devices, by name."""
    checks: tuple[Check, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether no check failed."""
        return all(check.verdict is not Verdict.failed for check in self.checks)
