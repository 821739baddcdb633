"""Pages about files that a visitor drops: profiles, traces, memory snapshots and pictures."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from diffprof.app.comparison import load_upload
from diffprof.comparison.image_difference import ImageDifference
from diffprof.errors import FileFormatError, RequestError
from diffprof.render import numbers
from diffprof.render.report.markup import element
from diffprof.render.report.page import Page, paragraph
from diffprof.render.report.pictures import MAX_BYTES, embedded_image
from diffprof.version import __version__

MAX_FILES = 12
PICTURES = (".png", ".jpg", ".jpeg", ".webp")
SNAPSHOTS = (".pickle", ".pkl")
ENDINGS = (".json", ".gz", *PICTURES, *SNAPSHOTS)
TRACE_MARK = b'"traceEvents"'
SEARCHED_BYTES = 1 << 20
"""How many bytes at the start of a file are searched for the mark of a trace."""


def page_of_files(paths: Sequence[str]) -> str:
    """One page about all files: a report, a comparison, a trace with its ranks, a memory snapshot, or pictures."""
    files = [Path(path) for path in paths]
    if not files:
        raise RequestError("Drop a file, or choose one.")
    if len(files) > MAX_FILES:
        raise RequestError(f"At most {MAX_FILES} files can be opened at once, not {len(files)}.")
    if all(file.suffix.lower() in PICTURES for file in files):
        return _pictures(files)
    if any(file.suffix.lower() in SNAPSHOTS for file in files):
        return _snapshot(files)
    traces = [_is_trace(file) for file in files]
    if all(traces):
        return _traces(files)
    if any(traces):
        raise RequestError("Open traces and profiles one after the other: they cannot be compared with each other.")
    return _profiles(files)


def _profiles(files: Sequence[Path]) -> str:
    """The report of one profile or the comparison of several, with the pictures that belong to them."""
    from diffprof.comparison.views.report import report_html

    pictures = [file for file in files if file.suffix.lower() in PICTURES]
    saved = [file for file in files if file not in pictures]
    images = [_picture_of(file, pictures) for file in saved]
    return report_html([load_upload(file) for file in saved], [file.name for file in saved], images)


def _picture_of(profile: Path, pictures: Sequence[Path]) -> Path | None:
    """The picture that `diffprof generate` saved under the same name."""
    return next((picture for picture in pictures if profile.name.startswith(f"{picture.stem}.")), None)


def _traces(files: Sequence[Path]) -> str:
    from diffprof.traces.request import TraceRequest, explain_request
    from diffprof.traces.views.page import result_html

    return result_html(explain_request(TraceRequest(tuple(files))))


def _snapshot(files: Sequence[Path]) -> str:
    from diffprof.traces.memory.explain import explain_snapshot
    from diffprof.traces.memory.page import snapshot_html

    if len(files) > 1:
        raise RequestError("Open one memory snapshot at a time.")
    return snapshot_html(explain_snapshot(files[0]), files[0].name)


def _pictures(files: Sequence[Path]) -> str:
    """Pictures side by side, and how much each differs from the first."""
    from diffprof.comparison.images import image_difference

    page = Page(", ".join(file.name for file in files))
    differences = [image_difference(files[0], file) for file in files[1:]]
    figures = [embedded_image(file.name, file, MAX_BYTES // len(files)) for file in files]
    lines = [paragraph(f"{file.name}: {_distance(one)}") for file, one in zip(files[1:], differences, strict=True)]
    page.add("Pictures", element("div", *figures, class_="pictures"))
    page.add(f"How far from {files[0].name}", *lines)
    header = [paragraph("diffprof pictures", "made-by"), element("h1", page.title)]
    return page.html(header, f"Made with diffprof {__version__}.")


def _distance(difference: ImageDifference) -> str:
    if difference.identical:
        return "identical."
    if difference.psnr_db is None or difference.ssim is None:
        return f"{difference.note}."
    return (
        f"PSNR {numbers.decibels(difference.psnr_db)}, structural similarity {numbers.similarity(difference.ssim)} "
        "(1 is identical)."
    )


def _is_trace(file: Path) -> bool:
    """Whether the file is a trace of torch.profiler; if not, it is read as a profile, which checks it."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            return TRACE_MARK in opened.read(SEARCHED_BYTES)
    except (OSError, EOFError) as error:
        raise FileFormatError(f"{file.name}: it cannot be read ({error}).") from error
