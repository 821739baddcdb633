"""The runs that a visitor can look at again: those of this visit, and those that are kept on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from diffprof import settings as config
from diffprof.app.setup import Setup
from diffprof.app.visit import Visit, VisitRun
from diffprof.errors import RequestError
from diffprof.record.history import Filters, History, KeptRun
from diffprof.record.profile import Profile

MOST = 200
"""Kept runs that are listed at once; a search finds the others."""
VISIT, KEPT = "visit", "kept"


@dataclass(frozen=True)
class Found:
    """What a search found."""

    visit: Sequence[KeptRun]
    kept: Sequence[KeptRun]
    total: int
    """Of the kept ones, those that are not listed included."""


@dataclass(frozen=True)
class Opened:
    """One run, as a whole."""

    name: str
    profile: Profile
    picture: bytes | None


def history() -> History:
    """The one that the settings name."""
    return History(config.HISTORY)


def found(visit: Visit, setup: Setup, text: str, kind: str | None) -> Found:
    """The newest first. Who comes from another machine sees nothing but what they made themselves."""
    words = text.strip()
    mine = [run for run in reversed(visit.runs) if _is_meant(run, words, kind)]
    if not setup.is_local:
        return Found([_figures(run) for run in mine], (), 0)
    filters = Filters(text=words or None, kind=kind)
    store = history()
    return Found([_figures(run) for run in mine], store.find(filters, limit=MOST), store.count(filters))


def key(place: str, run: KeptRun) -> str:
    """What stands for a run where one is chosen."""
    return f"{place} {run.id}"


def opened(visit: Visit, setup: Setup, chosen: str) -> Opened:
    """The run that a key stands for, if this visitor may see it."""
    place, _, number = chosen.partition(" ")
    if place == VISIT:
        run = _of_visit(visit, number)
        return Opened(f"visit {run.number}", run.profile, run.picture)
    if place != KEPT or not setup.is_local or not number.isdecimal():
        raise RequestError(f"There is no run {chosen!r} here.")
    store = history()
    return Opened(f"run {number}", store.get(int(number)), store.picture(int(number)))


def keep(visit: Visit, setup: Setup, chosen: str) -> int:
    """Put a run of this visit into the history, where all who use this machine find it."""
    if not setup.is_local:
        raise RequestError("Runs are kept only where the page is served to this machine alone.")
    place, _, number = chosen.partition(" ")
    if place != VISIT:
        raise RequestError(f"Run {number} is kept already.")
    run = _of_visit(visit, number)
    return history().add(run.profile, run.kind, picture=run.picture)


def _of_visit(visit: Visit, number: str) -> VisitRun:
    run = next((run for run in visit.runs if str(run.number) == number), None)
    if run is None:
        raise RequestError(f"There is no run {number} of this visit any more.")
    return run


def _is_meant(run: VisitRun, words: str, kind: str | None) -> bool:
    from diffprof.record.history.summary import summary

    return kind in (None, run.kind) and words.casefold() in summary(run.profile)["words"]


def _figures(run: VisitRun) -> KeptRun:
    from diffprof.record.history.summary import summary

    known = summary(run.profile)
    names = {field.name for field in fields(KeptRun)}
    return KeptRun(
        id=run.number,
        created_at=run.made_at.isoformat(),
        kind=run.kind,
        picture=run.picture is not None,
        **{name: value for name, value in known.items() if name in names},
    )
