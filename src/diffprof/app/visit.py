"""What belongs to one visitor: the runs of this visit, and the switches that stop what is under way."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from diffprof.profiles.record import Profile

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


@dataclass
class Visit:
    """One visitor, from the first look at the page to the last. Gradio copies the one that it was given for each."""

    runs: list[VisitRun] = field(default_factory=list)
    switches: dict[str, threading.Event] = field(default_factory=dict)
    """By tab: set to stop what it is doing."""
    _made: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Visit:
        """A new visitor has made nothing yet."""
        return Visit()

    def begin(self, tab: str) -> threading.Event:
        """The switch for work that begins now; what the tab did before is stopped."""
        self.stop(tab)
        self.switches[tab] = threading.Event()
        return self.switches[tab]

    def stop(self, tab: str) -> bool:
        """Stop what the tab is doing; False when it was doing nothing."""
        switch = self.switches.pop(tab, None)
        if switch is None:
            return False
        switch.set()
        return True

    def ended(self, tab: str, switch: threading.Event) -> None:
        """The work of this switch is over."""
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
