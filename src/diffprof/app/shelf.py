"""Files that visitors may download: made when they are asked for, found only by who was given the link."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffprof.app.choices import model_title
from diffprof.comparison import compare
from diffprof.record.profile import Profile
from diffprof.render.report.markup import Markup, element

MOST = 200
"""Results whose links work; the oldest go first."""


@dataclass(frozen=True)
class File:
    """What a browser gets."""

    name: str
    media: str
    content: str


class Shelf:
    """The results that there are links to."""

    def __init__(self) -> None:
        self._results: dict[str, tuple[tuple[Profile, ...], tuple[str, ...]]] = {}
        self._lock = threading.Lock()

    def links(self, profiles: Sequence[Profile], names: Sequence[str]) -> Markup:
        """Links to the files of one profile, or to the report of several."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._results[token] = (tuple(profiles), tuple(names))
            while len(self._results) > MOST:
                del self._results[next(iter(self._results))]
        made = [
            element("a", kind.label, href=f"files/{token}/{ending}", download=True, class_="download")
            for ending, kind in _kinds(profiles).items()
        ]
        return element("p", *made, class_="downloads")

    def file(self, token: str, ending: str) -> File | None:
        """The file of a link; None where there is none, or not any more."""
        with self._lock:
            found = self._results.get(token)
        kind = _kinds(found[0]).get(ending) if found is not None else None
        if found is None or kind is None:
            return None
        profiles, names = found
        title = model_title(profiles[0].request.model) if len(profiles) == 1 else "comparison"
        # Headers hold no letters but these.
        title = re.sub(r"[^\w.-]+", "-", title, flags=re.ASCII)
        return File(f"{title}.{ending}", kind.media, kind.made(profiles, names))


@dataclass(frozen=True)
class Kind:
    """A kind of file, and how it is made."""

    label: str
    media: str
    made: Callable[[Sequence[Profile], Sequence[str]], str]


def _kinds(profiles: Sequence[Profile]) -> dict[str, Kind]:
    """The files that there are, by how their names end."""
    report = Kind("Download report", "text/html", _report)
    if len(profiles) > 1:
        return {
            "json": Kind("Download JSON", "application/json", _comparison_json),
            "csv": Kind("Download CSV", "text/csv", _comparison_csv),
            "html": report,
        }
    measured = {"times.csv": Kind("Download times (CSV)", "text/csv", _times)} if profiles[0].measured else {}
    return {
        "json": Kind("Download JSON", "application/json", _json),
        "csv": Kind("Download CSV", "text/csv", _csv),
        **measured,
        "html": report,
    }


def _json(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.record.files import dumps

    return dumps(profiles[0])


def _csv(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.render.exports.tables import profile_csv

    return profile_csv(profiles[0])


def _times(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.render.exports.tables import run_csv

    return run_csv(profiles[0])


def _comparison_json(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.comparison.views.data import comparison_json

    return comparison_json(compare(profiles, names))


def _comparison_csv(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.comparison.views.data import comparison_csv

    return comparison_csv(compare(profiles, names))


def _report(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.comparison.views.report import report_html

    return report_html(profiles, names)
