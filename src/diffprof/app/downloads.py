"""Downloads: files that are created on request, under links that cannot be guessed."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffprof.app.model_choices import model_title
from diffprof.comparison import compare
from diffprof.record.profile import Profile
from diffprof.render.report.markup import Markup, element

MAX_RESULTS = 200
"""How many results keep their links; the oldest are dropped first."""
MAX_PAGES = 20
PAGE = "page"
"""The last part of an address that is shown in the page instead of downloaded."""


@dataclass(frozen=True)
class DownloadFile:
    """A file to send to the browser."""

    name: str
    media_type: str
    content: str


class Downloads:
    """The results that have links."""

    def __init__(self) -> None:
        self._results: dict[str, tuple[tuple[Profile, ...], tuple[str, ...]]] = {}
        self._pages: dict[str, str] = {}
        self._lock = threading.Lock()

    def page_address(self, html: str) -> str:
        """Store a page, and return its address; the oldest pages are dropped."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._pages[token] = html
            while len(self._pages) > MAX_PAGES:
                del self._pages[next(iter(self._pages))]
        return f"files/{token}/{PAGE}"

    def page(self, token: str) -> str | None:
        """The page at an address; None if it does not exist or was dropped."""
        with self._lock:
            return self._pages.get(token)

    def links(self, profiles: Sequence[Profile], names: Sequence[str]) -> Markup:
        """Links to the files of one profile, or to the report of several."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._results[token] = (tuple(profiles), tuple(names))
            while len(self._results) > MAX_RESULTS:
                del self._results[next(iter(self._results))]
        links = [
            element("a", format_.label, href=f"files/{token}/{ending}", download=True, class_="download")
            for ending, format_ in _file_formats(profiles).items()
        ]
        return element("p", *links, class_="downloads")

    def file(self, token: str, ending: str) -> DownloadFile | None:
        """The file behind a link; None if it does not exist or was dropped."""
        with self._lock:
            found = self._results.get(token)
        format_ = _file_formats(found[0]).get(ending) if found is not None else None
        if found is None or format_ is None:
            return None
        profiles, names = found
        title = model_title(profiles[0].request.model) if len(profiles) == 1 else "comparison"
        # A header takes only plain ASCII.
        title = re.sub(r"[^\w.-]+", "-", title, flags=re.ASCII)
        return DownloadFile(f"{title}.{ending}", format_.media_type, format_.write(profiles, names))


@dataclass(frozen=True)
class FileFormat:
    """A format to download, and the function that writes it."""

    label: str
    media_type: str
    write: Callable[[Sequence[Profile], Sequence[str]], str]


def _file_formats(profiles: Sequence[Profile]) -> dict[str, FileFormat]:
    """The available formats, by file name ending."""
    report = FileFormat("Download report", "text/html", _report)
    if len(profiles) > 1:
        return {
            "json": FileFormat("Download JSON", "application/json", _comparison_json),
            "csv": FileFormat("Download CSV", "text/csv", _comparison_csv),
            "html": report,
        }
    measured = {"times.csv": FileFormat("Download times (CSV)", "text/csv", _times_csv)} if profiles[0].measured else {}
    return {
        "json": FileFormat("Download JSON", "application/json", _json),
        "csv": FileFormat("Download CSV", "text/csv", _csv),
        **measured,
        "html": report,
    }


def _json(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.record.files import dumps

    return dumps(profiles[0])


def _csv(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    from diffprof.render.exports.tables import profile_csv

    return profile_csv(profiles[0])


def _times_csv(profiles: Sequence[Profile], names: Sequence[str]) -> str:
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
