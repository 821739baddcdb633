"""The options and the output of ``diffprof compare`` and ``diffprof history compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath  # unlike Path.resolve, it takes links that lead in circles
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options import completion
from diffprof.cli.options.declarations import Quiet, accelerator_names
from diffprof.cli.output.formats import check_ending, check_formats
from diffprof.cli.output.terminal import print_written, write_rendered, write_text
from diffprof.comparison.views.data import ComparisonBy
from diffprof.comparison.views.tables import TOP
from diffprof.errors import RequestError

if TYPE_CHECKING:
    from diffprof.comparison import Comparison
    from diffprof.comparison.curves import Count
    from diffprof.record.profile import Profile


ENDINGS = (".json", ".csv", ".md", ".html", ".txt")


@dataclass(frozen=True)
class ComparisonOptions:
    """Options for a comparison: images and accelerators to include, the format, and the files to write."""

    picture: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Generated images, in the order of the profiles; by default the image next to each profile.",
        ),
    ] = None
    side_by_side: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write the images side by side.")] = None
    by: Annotated[ComparisonBy | None, typer.Option(help="The table for --csv.", show_default=False)] = None
    top: Annotated[
        int, typer.Option(metavar="N", help="Show at most this many rows of calls, operations and modules.")
    ] = TOP
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV.")] = False
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the comparison as Markdown, for a pull request.")
    ] = False
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .csv, .md, .html or .txt file."),
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write one page with charts; models are also counted at other sizes and steps.",
        ),
    ] = None
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]",
            help="Also predict memory and time of each on these accelerators.",
            autocompletion=completion.accelerator_names,
        ),
    ] = None
    quiet: Quiet = False

    def check(self, profiles: int) -> None:
        """Refuse contradicting options and unwritable files before anything is counted."""
        if profiles < 2:
            raise RequestError("A comparison needs at least two profiles or models; add another.")
        check_formats(self.json, self.csv, self.markdown)
        if self.by is not None and not self.csv and (self.file is None or self.file.suffix.lower() != ".csv"):
            raise RequestError("--by selects the table for --csv; add --csv, or leave out --by.")
        if self.file is not None:
            check_ending(self.file, ENDINGS)
        if self.file is not None and self.json + self.csv + self.markdown:
            raise RequestError("The ending of the file sets the format; leave out --json, --csv and --markdown.")
        if self.top < 1:
            raise RequestError(f"--top must be 1 or more, not {self.top}.")
        if self.picture and len(self.picture) != profiles:
            raise RequestError(
                f"--picture is given {len(self.picture)} times for {profiles} profiles; give one for each."
            )
        self.check_accelerators()
        self._check_files()

    @property
    def accelerators(self) -> tuple[str, ...]:
        return accelerator_names(self.gpu)

    def check_accelerators(self) -> None:
        """Refuse unknown accelerators."""
        from diffprof.catalogue.accelerators import find_accelerator
        from diffprof.catalogue.own_accelerators import known_accelerators

        for name in self.accelerators:
            find_accelerator(name, known_accelerators())

    def _check_files(self) -> None:
        from diffprof.record.atomic_files import check_writable

        if self.page is not None:
            from diffprof.render.charts.style import graph_objects

            graph_objects()
        if (
            self.side_by_side is not None
            and self.html is not None
            and realpath(self.side_by_side) == realpath(self.html)
        ):
            raise RequestError("--html and --side-by-side name the same file; name another one.")
        for target in (self.side_by_side, self.html, self.file):
            if target is not None:
                check_writable(target)

    @property
    def page(self) -> Path | None:
        """The HTML page to write, named by --html or by -o."""
        is_page = self.file is not None and self.file.suffix.lower() == ".html"
        return self.html or (self.file if is_page else None)


def write_comparison(
    profiles: Sequence[Profile],
    names: Sequence[str],
    images: Sequence[Path | None],
    options: ComparisonOptions,
    models: Sequence[str | None],
    count: Count,
) -> None:
    """Compare profiles and write the result as the options say.

    For the curves of an HTML page, `count` counts the `models` at more sizes and steps; `models` has None for a profile
    that was loaded from a file.
    """
    from diffprof.comparison import compare

    images = options.picture or images
    comparison = compare(profiles, names, images, models, None if options.page is None else count, options.accelerators)
    if options.side_by_side is not None:
        _write(options.side_by_side, _side_by_side([image for image in images if image]), options.quiet)
    if options.html is not None:
        from diffprof.comparison.views.page import comparison_html

        _write(options.html, comparison_html(comparison).encode(), options.quiet)
    if options.file is None:
        _print(comparison, options)
    else:
        _write(options.file, _file_text(comparison, options).encode("utf-8", "backslashreplace"), options.quiet)


def _file_text(comparison: Comparison, options: ComparisonOptions) -> str:
    from diffprof.comparison.views import console, data, page

    assert options.file is not None
    return {
        ".json": lambda: data.comparison_json(comparison),
        ".csv": lambda: data.comparison_csv(comparison, options.by or ComparisonBy.profile),
        ".md": lambda: console.comparison_markdown(comparison, options.top),
        ".html": lambda: page.comparison_html(comparison),
        ".txt": lambda: console.comparison_text(comparison, options.top),
    }[options.file.suffix.lower()]()


def _print(comparison: Comparison, options: ComparisonOptions) -> None:
    if options.json or options.csv:
        from diffprof.comparison.views.data import comparison_csv, comparison_json

        write_text(
            comparison_json(comparison)
            if options.json
            else comparison_csv(comparison, options.by or ComparisonBy.profile)
        )
        return
    from diffprof.comparison.views.console import comparison_markdown, print_comparison

    if options.markdown:
        write_text(comparison_markdown(comparison, options.top))
    else:
        write_rendered(lambda console: print_comparison(comparison, console, options.top))


def _side_by_side(images: Sequence[Path]) -> bytes:
    if len(images) < 2:
        raise RequestError("--side-by-side needs the images of at least two profiles; give them with --picture.")
    from diffprof.comparison.images import side_by_side

    return side_by_side(list(images))


def _write(target: Path, content: bytes, quiet: bool) -> None:
    from diffprof.record.atomic_files import replace_file

    replace_file(target, content)
    print_written(target, quiet)
