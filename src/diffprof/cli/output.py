"""Where a profile goes and as what: the console, JSON or CSV on standard output, or a file."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.cli.request import whole_number
from diffprof.cli.terminal import console, write_text
from diffprof.errors import OutputError, RequestError
from diffprof.record.profile import Profile
from diffprof.render.exports.formats import ENDINGS, FORMATS, ExportFormat, View, format_for, write_export
from diffprof.render.profile_tables import DEFAULT_DEPTH, ProfileTable
from diffprof.render.run_tables import RunTable

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Output:
    """Where and how a profile is written, checked before any work is done."""

    format: ExportFormat | None
    """None for the console."""
    file: Path | None
    table: ProfileTable | RunTable | None
    """A table of what was counted or of what was measured; None for everything that was measured."""
    depth: int
    verbose: bool
    quiet: bool

    def write(self, profile: Profile) -> None:
        """Write the profile to the file, to standard output or to the console."""
        view = View(profile, self.table, self.depth, self.verbose)
        if self.file is not None:
            write_export(view, self.format or FORMATS["text"], self.file)
            if not self.quiet:
                sys.stderr.write(f"Wrote {self.file}\n")
        elif self.format is None and console().is_terminal:
            self._print(profile, console())
        else:
            encoding = sys.stdout.encoding or "utf-8"
            view = replace(view, width=console().width, encoding=encoding)
            write_text((self.format or FORMATS["text"]).render(view))

    def _print(self, profile: Profile, console: Console) -> None:
        if isinstance(self.table, ProfileTable):
            from diffprof.render.profile_console import print_profile

            print_profile(profile, console, self.table, self.depth, self.verbose)
        else:
            from diffprof.render.run_console import print_run

            print_run(profile, console, self.table, self.verbose)


def output(
    *,
    json: bool,
    csv: bool,
    file: Path | None,
    by: ProfileTable | RunTable | None,
    depth: str | None,
    verbose: bool = False,
    quiet: bool = False,
) -> Output:
    """The output that the options describe; a `RequestError` when they contradict each other or cannot be met."""
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    if depth is not None and by not in (None, ProfileTable.module):
        raise RequestError(f"--depth belongs to --by module; it means nothing for --by {by.value if by else ''}.")
    form = FORMATS["json"] if json else FORMATS["csv"] if csv else None
    if file is not None:
        form = _format_of(file, form)
        check_place(file)
    # A depth is a depth of modules: asking for one asks for them.
    view = by or (ProfileTable.module if depth is not None else ProfileTable.component)
    return Output(form, file, view, DEFAULT_DEPTH if depth is None else _depth(depth), verbose, quiet)


def _depth(typed: str) -> int:
    depth = whole_number("--depth", typed)
    if depth < 0:
        raise RequestError(f"--depth must be 0 or more, not {depth}.")
    return depth


def _format_of(file: Path, option: ExportFormat | None) -> ExportFormat:
    """The format that the option or the file's ending asks for."""
    by_ending = format_for(file)
    if by_ending is not None and option not in (None, by_ending):
        raise RequestError(
            f"--{option.name if option else ''} and the ending of {file} contradict each other; leave one out."
        )
    chosen = by_ending or option
    if chosen is None:
        raise RequestError(f"Cannot tell the format of {file} from its ending; use one of {', '.join(ENDINGS)}.")
    return chosen


def check_place(file: Path) -> None:
    """Find out before the work, not after it, that the result has nowhere to go."""
    try:
        if file.is_dir():
            raise OutputError(f"Cannot write {file}: it is a folder; name a file in it.")
        if not file.parent.is_dir():
            wrong = f"{file.parent} is not a folder" if file.parent.exists() else f"there is no folder {file.parent}"
            raise OutputError(f"Cannot write {file}: {wrong}.")
        if file.exists() and not os.access(file, os.W_OK):
            raise OutputError(f"Cannot write {file}: it is write-protected.")
        # A pipe or a device is written to as it is; any other file is made next to its place first.
        if file.is_file() or not file.exists():
            _probe(Path(os.path.realpath(file)))
    except OSError as error:
        raise OutputError(f"Cannot write {file}: {error.strerror or error}.") from error


def _probe(target: Path) -> None:
    """Make and remove a file as writing the result will."""
    probe = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        probe.touch(exist_ok=False)
    except FileNotFoundError:
        # The folder is there, so "no such file" would be no reason: some file systems, as /proc, make no files.
        raise OutputError(f"Cannot write {target}: no file can be made in {target.parent}.") from None
    probe.unlink()
