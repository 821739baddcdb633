"""``diffprof report PROFILE... -o report.html``"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os.path import realpath  # unlike Path.resolve, it takes links that lead in circles
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options import completion
from diffprof.cli.options.declarations import Quiet
from diffprof.cli.options.groups import ProfileOptions, expand_groups
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import print_written
from diffprof.cli.parsing.optional_values import OptionalValueCommand
from diffprof.errors import OutputError, RequestError
from diffprof.record.request import Request
from diffprof.record.saved_profiles import image_of_profile
from diffprof.render.exports.formats import FORMATS, View, report_formats, write_export

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

Profiles = Annotated[
    list[str],
    typer.Argument(
        metavar="PROFILE...",
        help="Saved profiles, or models to count; several are compared.",
        autocompletion=completion.model_or_file,
    ),
]
Page = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE.html", help="Write the report as one page.")]
TablesFolder = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write every table as CSV; several profiles go into subfolders.")
]

PAGE_ENDINGS = (".html", ".htm")
WRITTEN_BY = {".pdf": "--pdf", ".png": "--png", ".json": "--speedscope or --chrome-trace", ".csv": "--tables"}
"""File endings that are not a page, and the option that writes each."""


def _with_export_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option such as ``--speedscope FILE`` for each format of `report_formats`."""
    *own, _ = inspect.signature(command, eval_str=True).parameters.values()
    options = [
        inspect.Parameter(
            entry.name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[Path | None, typer.Option(metavar="FILE", help=entry.help)],
        )
        for entry in report_formats()
    ]
    place = next(number for number, parameter in enumerate(own) if parameter.name == "tables")
    vars(command)["__signature__"] = inspect.Signature([*own[:place], *options, *own[place:]])
    return command


@app.command(cls=OptionalValueCommand)
@_with_export_options
@expand_groups
def report(
    profiles: Profiles,
    requested: ProfileOptions,
    file: Page = None,
    pdf: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as a PDF; needs Chromium.")] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as an image; needs Chromium.")
    ] = None,
    tables: TablesFolder = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the tables as Parquet instead.")] = False,
    quiet: Quiet = False,
    **export_files: Path | None,
) -> None:
    """Write a report to share: one self-contained HTML page.

    Without measured times, the timeline is in MACs. A saved profile is read without torch. A model is counted as
    `diffprof profile` counts it, with the same options.
    """
    request = requested.request("")  # the same for every model: checked before the first is opened
    exports = {name.replace("_", "-"): file for name, file in export_files.items() if file is not None}
    _check(profiles, file, pdf, png, exports, tables, parquet)
    browser = _browser() if pdf or png else ""
    opened_profiles, names = _open_profiles(profiles, request, quiet)
    for name, target in exports.items():
        write_export(View(opened_profiles[0]), FORMATS[name], target)
        print_written(target, quiet)
    if tables is not None:
        _write_tables(opened_profiles, names, tables, parquet, quiet)
    if file or pdf or png:
        images = [image_of_profile(name) for name in profiles]
        _write_page(opened_profiles, names, images, file, pdf, png, browser, quiet)


def _check(
    profiles: Sequence[str],
    file: Path | None,
    pdf: Path | None,
    png: Path | None,
    exports: Mapping[str, Path],
    tables: Path | None,
    parquet: bool,
) -> None:
    """Refuse contradictory options and missing libraries before anything is read or counted."""
    if file is not None and file.suffix.lower() in WRITTEN_BY:
        raise RequestError(
            f"-o writes an HTML page, such as report.html; for {file} use {WRITTEN_BY[file.suffix.lower()]}."
        )
    if file is not None and file.suffix.lower() not in PAGE_ENDINGS:
        raise RequestError(f"-o writes an HTML page; name it {file.with_suffix('.html')}, not {file}.")
    targets = [one for one in (file, pdf, png, *exports.values()) if one is not None]
    if not targets and tables is None:
        options = ", ".join(f"--{entry.name}" for entry in report_formats())
        raise RequestError(f"Specify what to write: -o report.html, --pdf, --png, {options} or --tables.")
    if parquet and tables is None:
        raise RequestError("--parquet sets the format of the tables; specify where they go with --tables FOLDER.")
    if len(profiles) > 1 and exports:
        raise RequestError(f"--{next(iter(exports))} writes one profile, not {len(profiles)}.")
    if len({realpath(path) for path in targets}) < len(targets):
        raise RequestError("Two results would be written to the same file; name another one.")
    if parquet:
        from diffprof.record.parquet_files import parquet_library
        from diffprof.render.exports.tables import INSTEAD_OF_PARQUET

        parquet_library(INSTEAD_OF_PARQUET)
    if file or pdf or png:
        from diffprof.render.charts.style import graph_objects

        graph_objects()
    from diffprof.record.atomic_files import check_writable

    for path in targets:
        check_writable(path)


def _browser() -> str:
    from diffprof.render.exports.browser import find_browser

    return find_browser()


def _open_profiles(names: Sequence[str], request: Request, quiet: bool) -> tuple[list[Profile], list[str]]:
    from diffprof.comparison.labels import distinct_labels
    from diffprof.counting.sources import open_profile

    def count(model: str) -> Profile:
        from diffprof.counting.request_profile import count_request

        with progress_bar(quiet) as progress:
            return count_request(replace(request, model=model), progress=progress)

    return [open_profile(name, count) for name in names], distinct_labels(names)


def _write_page(
    profiles: Sequence[Profile],
    names: Sequence[str],
    images: Sequence[Path | None],
    file: Path | None,
    pdf: Path | None,
    png: Path | None,
    browser: str,
    quiet: bool,
) -> None:
    from diffprof.comparison.views.report import report_html
    from diffprof.render.exports.browser import page_as_pdf, page_as_png

    html = report_html(profiles, names, images)
    if file is not None:
        _write(file, html.encode, quiet)
    if pdf is not None:
        _write(pdf, lambda: page_as_pdf(html, browser), quiet)
    if png is not None:
        _write(png, lambda: page_as_png(html, browser), quiet)


def _write(target: Path, content: Callable[[], bytes], quiet: bool) -> None:
    from diffprof.record.atomic_files import replace_file

    replace_file(target, content())
    print_written(target, quiet)


def _write_tables(profiles: Sequence[Profile], names: Sequence[str], folder: Path, parquet: bool, quiet: bool) -> None:
    from diffprof.render.exports.tables import write_tables

    try:
        for number, (profile, name) in enumerate(zip(profiles, names, strict=True), 1):
            write_tables(profile, folder / f"{number}-{_folder_name(name)}" if len(profiles) > 1 else folder, parquet)
    except OSError as error:
        raise OutputError(f"Cannot write into {folder}: {error.strerror or error}.") from error
    print_written(folder, quiet)


def _folder_name(name: str) -> str:
    """Replace characters that have a meaning in a path."""
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in name)[:100]
