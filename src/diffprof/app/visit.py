"""What belongs to one visitor: the runs of this visit, and the switches that stop what is under way."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from diffprof.record.profile import Profile

MOST_RUNS = 50
"""Of a visit; the oldest counts go first: each move of a slider is one, and must not push a picture out."""


@dataclass(frozen=True)
class VisitRun:
    """Something that was made during this visit."""

    number: int
    kind: str
    """profile or generate."""
    made_at: datetime
    profile: Profile
    picture: bytes | None = None
    """As PNG."""


class Switch(threading.Event):
    """Set to stop work; `over` is set when nothing more will be told of it."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()


@dataclass
class Visit:
    """One visitor, from the first look at the page to the last. Gradio copies the one that it was given for each."""

    runs: list[VisitRun] = field(default_factory=list)
    switches: dict[str, Switch] = field(default_factory=dict)
    """By tab."""
    _made: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Visit:
        """A new visitor has made nothing yet."""
        return Visit()

    def begin(self, tab: str) -> Switch:
        """The switch for work that begins now; what the tab did before is stopped."""
        self.stop(tab)
        self.switches[tab] = Switch()
        return self.switches[tab]

    def stop(self, tab: str, patience_seconds: float = 0) -> bool:
        """Stop what the tab is doing, and wait so long for the last that is told of it; False when it did nothing."""
        switch = self.switches.pop(tab, None)
        if switch is None:
            return False
        switch.set()
        switch.over.wait(patience_seconds)
        return True

    def ended(self, tab: str, switch: Switch) -> None:
        """The work of this switch is over."""
        switch.over.set()
        if self.switches.get(tab) is switch:
            del self.switches[tab]

    def add(self, kind: str, profile: Profile, picture: bytes | None = None) -> VisitRun:
        """Remember a run until the visit ends."""
        self._made += 1
        run = VisitRun(self._made, kind, datetime.now(timezone.utc), profile, picture)
        self.runs = [*self.runs, run]
        if len(self.runs) > MOST_RUNS:
            self.runs.remove(next((old for old in self.runs if old.kind == "profile"), self.runs[0]))
        return run
