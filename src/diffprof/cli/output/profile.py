"""Write a profile to the console, to standard output in one format, or to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.cli.options.groups import OutputOptions
from diffprof.cli.output.formats import check_formats
from diffprof.cli.output.terminal import console, print_written, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable
from diffprof.record.profile import Profile
from diffprof.record.request import parse_number
from diffprof.render.exports.formats import ENDINGS, FORMATS, ExportFormat, View, format_for, write_export
from diffprof.render.table_names import DEFAULT_DEPTH, ProfileTable, RunTable

if TYPE_CHECKING:
    from rich.console import Console


class SavedTable(str, Enum):
    """The tables of a saved profile: those of a measured run, then those of its count."""

    section = "section"
    component = "component"
    step = "step"
    memory = "memory"
    peak = "peak"
    cache = "cache"
    move = "move"
    device = "device"
    rank = "rank"
    kind = "kind"
    module = "module"
    attention = "attention"
    call = "call"


@dataclass(frozen=True)
class Output:
    """The format and the place that a profile is written to; checked before any work is done."""

    format: ExportFormat | None
    """None for the console."""
    file: Path | None
    table: ProfileTable | RunTable | None
    """A table of the count or of the measured run; None for all tables of the run."""
    depth: int
    verbose: bool
    quiet: bool

    def write(self, profile: Profile) -> None:
        """Write the profile to the file, to standard output or to the console."""
        view = View(profile, self.table, self.depth, self.verbose)
        if self.file is not None:
            write_export(view, self.format or FORMATS["text"], self.file)
            print_written(self.file, self.quiet)
        elif self.format is None and console().is_terminal:
            self._print(profile, console())
        else:
            if self.format is None:  # only text is laid out for a width
                view = replace(view, width=console().width, encoding=sys.stdout.encoding or "utf-8")
            write_text((self.format or FORMATS["text"]).render(view))

    def _print(self, profile: Profile, console: Console) -> None:
        if isinstance(self.table, ProfileTable):
            from diffprof.render.profile_console import print_profile

            print_profile(profile, console, self.table, self.depth, self.verbose)
        else:
            from diffprof.render.run_console import print_run

            print_run(profile, console, self.table, self.verbose)


def choose_output(options: OutputOptions, by: ProfileTable | RunTable | None) -> Output:
    """Turn the options into an `Output`; a `RequestError` if they contradict each other or cannot be met."""
    check_formats(options.json, options.csv, options.markdown)
    if options.depth is not None and by not in (None, ProfileTable.module):
        raise RequestError(f"--depth is for --by module; it cannot be combined with --by {by.value if by else ''}.")
    chosen = {"json": options.json, "csv": options.csv, "markdown": options.markdown}
    export_format = next((FORMATS[name] for name, is_chosen in chosen.items() if is_chosen), None)
    if options.file is not None:
        export_format = _file_format(options.file, export_format)
        check_writable(options.file)
    # --depth is the depth of the module tree, so it implies the table of modules.
    table = by or (ProfileTable.module if options.depth is not None else ProfileTable.component)
    depth = DEFAULT_DEPTH if options.depth is None else parse_number("depth", options.depth)
    return Output(export_format, options.file, table, depth, options.verbose, options.quiet)


def write_saved(
    load: Callable[[], Profile], name: str, by: SavedTable | None, options: OutputOptions, heading: str = ""
) -> None:
    """Load a saved profile and write it as the options say.

    `name` identifies the profile in errors. The `heading` is printed above the tables, on the console only.
    """
    table: ProfileTable | RunTable | None = None
    if by is not None:
        table = ProfileTable(by.value) if by.value in ProfileTable.__members__ else RunTable(by.value)
    output = choose_output(options, table)
    profile = load()
    if profile.measured is None and isinstance(table, RunTable):
        raise RequestError(
            f"{name} was counted, not measured, so it has no table by {table.value}; use one of "
            f"{', '.join(ProfileTable.__members__)}, or measure a run."
        )
    if profile.measured is not None and options.depth is None and (by is None or by.value in RunTable.__members__):
        output = replace(output, table=None if by is None else RunTable(by.value))
    if heading and output.format is None:
        write_text(f"{heading}\n")
    output.write(profile)


def _file_format(file: Path, option: ExportFormat | None) -> ExportFormat:
    """The format that the file's ending or the option names."""
    by_ending = format_for(file)
    if by_ending is not None and option not in (None, by_ending):
        raise RequestError(f"--{option.name if option else ''} contradicts the ending of {file}; leave one out.")
    chosen = by_ending or option
    if chosen is None and file.suffix.lower() in (".html", ".htm", ".pdf", ".png"):
        option_name = "-o" if file.suffix.lower().startswith(".htm") else f"--{file.suffix.lower()[1:]}"
        raise RequestError(f"Use `diffprof report MODEL {option_name} {file}`, with the same options, to write a page.")
    if chosen is None:
        raise RequestError(f"Cannot tell the format of {file} from its ending; use one of {', '.join(ENDINGS)}.")
    return chosen
