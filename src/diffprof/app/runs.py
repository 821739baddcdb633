"""Find, open and keep runs: those of this session, and those in the history of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from diffprof import settings as config
from diffprof.app.session import Session, SessionRun
from diffprof.app.setup import Setup
from diffprof.errors import RequestError
from diffprof.record.history import Filters, History, KeptRun
from diffprof.record.profile import Profile

MAX_LISTED = 200
"""How many kept runs are listed; a search finds the others."""
SESSION, KEPT = "session", "kept"


@dataclass(frozen=True)
class RunList:
    """The runs that match a search."""

    session: Sequence[KeptRun]
    kept: Sequence[KeptRun]
    total: int
    """Number of kept runs, including those that are not listed."""


@dataclass(frozen=True)
class OpenedRun:
    """One run with its profile and image."""

    name: str
    profile: Profile
    picture: bytes | None


def history() -> History:
    """The history at the configured location."""
    return History(config.HISTORY)


def search_runs(session: Session, setup: Setup, text: str, kind: str | None) -> RunList:
    """Find matching runs, the newest first. Visitors from other machines see only the runs of their session."""
    words = text.strip()
    mine = [run for run in reversed(session.runs) if _matches(run, words, kind)]
    if not setup.is_local:
        return RunList([_history_row(run) for run in mine], (), 0)
    filters = Filters(text=words or None, kind=kind)
    store = history()
    return RunList([_history_row(run) for run in mine], store.find(filters, limit=MAX_LISTED), store.count(filters))


def run_key(place: str, run: KeptRun) -> str:
    """The key of a run in the dropdown."""
    return f"{place} {run.id}"


def open_run(session: Session, setup: Setup, chosen: str) -> OpenedRun:
    """Open the run with this key, if the visitor may see it."""
    place, _, number = chosen.partition(" ")
    if place == SESSION:
        run = _find_session_run(session, number)
        return OpenedRun(f"unsaved {run.number}", run.profile, run.picture)
    if place != KEPT or not setup.is_local or not number.isdecimal():
        raise RequestError(f"There is no run {chosen!r} here.")
    store = history()
    return OpenedRun(f"run {number}", store.get(int(number)), store.picture(int(number)))


def keep_run(session: Session, setup: Setup, chosen: str) -> int:
    """Add a run of this session to the history of this machine."""
    if not setup.is_local:
        raise RequestError("Runs can be kept only if the page is served to this machine alone.")
    place, _, number = chosen.partition(" ")
    if place != SESSION:
        raise RequestError(f"Run {number} is kept already.")
    run = _find_session_run(session, number)
    return history().add(run.profile, run.kind, picture=run.picture)


def _find_session_run(session: Session, number: str) -> SessionRun:
    run = next((run for run in session.runs if str(run.number) == number), None)
    if run is None:
        raise RequestError(f"Run {number} of this session no longer exists.")
    return run


def _matches(run: SessionRun, words: str, kind: str | None) -> bool:
    from diffprof.record.history.summary import summary

    return kind in (None, run.kind) and words.casefold() in summary(run.profile)["words"]


def _history_row(run: SessionRun) -> KeptRun:
    from diffprof.record.history.summary import summary

    known = summary(run.profile)
    names = {field.name for field in fields(KeptRun)}
    return KeptRun(
        id=run.number,
        created_at=run.created_at.isoformat(),
        kind=run.kind,
        picture=run.picture is not None,
        **{name: value for name, value in known.items() if name in names},
    )
