"""The answer of a command, and where it is written: the console, standard output in one format, or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options import declarations as options
from diffprof.cli.output.formats import check_ending, check_formats
from diffprof.cli.output.terminal import print_written, write_rendered, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable

if TYPE_CHECKING:
    from rich.console import Console

ENDINGS = (".json", ".csv", ".md", ".txt")
"""Files that every command can write; some can also write an HTML page, or Parquet."""

TEXT_WIDTH = 110


@dataclass(frozen=True)
class Answer:
    """An answer in every output format; each is rendered only when it is needed."""

    show: Callable[[Console], None]
    json: Callable[[], str]
    csv: Callable[[], str]
    markdown: Callable[[], str]
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    """Formats that only a file can have, by the file's ending."""


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the format of an answer, and where it is written."""

    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
    csv: options.AsCsv = False
    markdown: options.AsMarkdown = False
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .csv, .md or .txt file instead."),
    ] = None
    quiet: options.Quiet = False

    @property
    def is_console(self) -> bool:
        """Whether the answer is printed for people."""
        return self.file is None and not (self.json or self.csv or self.markdown)

    @property
    def ending(self) -> str:
        """The ending of the file's name; empty if no file is written."""
        return self.file.suffix.lower() if self.file is not None else ""

    def check(self, *others: str) -> None:
        """Refuse contradicting formats and unwritable files, before any work is done; `others` are more endings."""
        check_formats(self.json, self.csv, self.markdown)
        if self.file is None:
            return
        check_ending(self.file, (*ENDINGS, *others))
        if self.json or self.csv or self.markdown:
            raise RequestError("The ending of the file sets the format; leave out --json, --csv and --markdown.")
        check_writable(self.file)

    def write(self, answer: Answer) -> None:
        """Write the answer to the file, to standard output or to the console."""
        if self.file is not None:
            from diffprof.record.atomic_files import replace_file

            replace_file(self.file, _content(answer, self.ending))
            print_written(self.file, self.quiet)
        elif self.json or self.csv or self.markdown:
            write_text((answer.json if self.json else answer.csv if self.csv else answer.markdown)())
        else:
            write_rendered(answer.show)


ON_CONSOLE = AnswerOptions()


@dataclass(frozen=True)
class PageOptions(AnswerOptions):
    """Options of an answer that can also be written as an HTML page."""

    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .csv, .md, .html or .txt file instead."),
    ] = None

    def check(self, *others: str) -> None:
        """Refuse contradicting formats and unwritable files, before any work is done."""
        super().check(".html", *others)
        if self.ending == ".html":
            from diffprof.render.charts.style import graph_objects

            graph_objects()  # pages have charts: fail now, not after the work, if plotly is missing


@dataclass(frozen=True)
class ResultOptions(PageOptions):
    """Options of an answer that rests on assumptions."""

    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False


def _content(answer: Answer, ending: str) -> bytes:
    if ending in answer.files:
        return answer.files[ending]()
    from diffprof.render.console import render_text

    texts = {
        ".json": answer.json,
        ".csv": answer.csv,
        ".md": answer.markdown,
        ".txt": lambda: render_text(answer.show, TEXT_WIDTH),
    }
    return texts[ending]().encode("utf-8", "backslashreplace")
