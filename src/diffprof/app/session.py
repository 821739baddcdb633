"""The session of a visitor: its runs, and the signals that stop its work."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from diffprof.record.profile import Profile

MAX_RUNS = 50
"""How many runs a session remembers. The oldest counts are dropped first, as every move of a slider adds one."""


@dataclass(frozen=True)
class SessionRun:
    """A profile that was created during this session."""

    number: int
    kind: str
    """profile or generate."""
    created_at: datetime
    profile: Profile
    picture: bytes | None = None
    """The generated image, as PNG."""


class StopSignal(threading.Event):
    """An event that stops work when it is set; `finished` is set once the work sends no more messages."""

    def __init__(self) -> None:
        super().__init__()
        self.finished = threading.Event()


@dataclass
class Session:
    """The state of one visitor. Gradio copies the initial one whenever the page is opened."""

    runs: list[SessionRun] = field(default_factory=list)
    stop_signals: dict[str, StopSignal] = field(default_factory=dict)
    """By tab."""
    _run_count: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """A new visitor starts with an empty session."""
        return Session()

    def begin(self, tab: str) -> StopSignal:
        """Stop earlier work of the tab, and return the signal for new work."""
        self.stop(tab)
        self.stop_signals[tab] = StopSignal()
        return self.stop_signals[tab]

    def stop(self, tab: str, timeout_seconds: float = 0) -> bool:
        """Stop the work of a tab, and wait for its last message; False if there was none."""
        signal = self.stop_signals.pop(tab, None)
        if signal is None:
            return False
        signal.set()
        signal.finished.wait(timeout_seconds)
        return True

    def end(self, tab: str, signal: StopSignal) -> None:
        """Report that the work of this signal has ended."""
        signal.finished.set()
        if self.stop_signals.get(tab) is signal:
            del self.stop_signals[tab]

    def add(self, kind: str, profile: Profile, picture: bytes | None = None) -> SessionRun:
        """Remember a run until the session ends."""
        self._run_count += 1
        run = SessionRun(self._run_count, kind, datetime.now(timezone.utc), profile, picture)
        self.runs = [*self.runs, run]
        if len(self.runs) > MAX_RUNS:
            self.runs.remove(next((old for old in self.runs if old.kind == "profile"), self.runs[0]))
        return run
