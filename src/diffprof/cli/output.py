"""Where a profile goes and as what: the console, JSON or CSV on standard output, or a file."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.cli.request import whole_number
from diffprof.cli.terminal import console, write_text
from diffprof.errors import OutputError, RequestError
from diffprof.record.profile import Profile
from diffprof.render.profile_tables import DEFAULT_DEPTH, ProfileTable
from diffprof.render.run_tables import RunTable

if TYPE_CHECKING:
    from rich.console import Console

TEXT_FILE_WIDTH = 100


class Form(Enum):
    """What the output is written as."""

    console = "the console"
    json = "JSON"
    csv = "CSV"
    text = "text"


ENDINGS = {".json": Form.json, ".json.gz": Form.json, ".csv": Form.csv, ".txt": Form.text}


@dataclass(frozen=True)
class Output:
    """What was asked for, checked before any work is done."""

    form: Form
    file: Path | None
    by: ProfileTable | RunTable | None
    """A table of what was counted or of what was measured; None for all of what was measured."""
    depth: int
    verbose: bool
    quiet: bool

    def write(self, profile: Profile) -> None:
        """Write the profile as it was asked for."""
        if self.file is not None:
            self._write_file(profile, self.file)
            if not self.quiet:
                sys.stderr.write(f"Wrote {self.file}\n")
        elif self.form is Form.console and console().is_terminal:
            self._show(profile, console())
        else:
            write_text(self._text(profile))

    def _write_file(self, profile: Profile, file: Path) -> None:
        from diffprof.record.atomic_files import replace_file

        if self.form is Form.json:
            profile.save(file)
        else:
            replace_file(file, self._text(profile).encode("utf-8", "backslashreplace"))

    def _text(self, profile: Profile) -> str:
        if self.form is Form.json:
            from diffprof.record.files import dumps

            return dumps(profile)
        if self.form is Form.csv:
            from diffprof.render.csv import csv_text, run_csv

            if isinstance(self.by, ProfileTable):
                return csv_text(profile, self.by, self.depth)
            return run_csv(profile, self.by or RunTable.section)
        from diffprof.render.console import render_text

        encoding = "utf-8" if self.file else sys.stdout.encoding or "utf-8"
        width = TEXT_FILE_WIDTH if self.file else console().width
        return render_text(lambda plain: self._show(profile, plain), width, encoding)

    def _show(self, profile: Profile, console: Console) -> None:
        if isinstance(self.by, ProfileTable):
            from diffprof.render.profile_console import print_profile

            print_profile(profile, console, self.by, self.depth, self.verbose)
        else:
            from diffprof.render.run_console import print_run

            print_run(profile, console, self.by, self.verbose)


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
    form = Form.json if json else Form.csv if csv else Form.console
    if file is not None:
        form = _form_of(file, form)
        check_place(file)
    # A depth is a depth of modules: asking for one asks for them.
    view = by or (ProfileTable.module if depth is not None else ProfileTable.component)
    return Output(form, file, view, DEFAULT_DEPTH if depth is None else _depth(depth), verbose, quiet)


def _depth(typed: str) -> int:
    depth = whole_number("--depth", typed)
    if depth < 0:
        raise RequestError(f"--depth must be 0 or more, not {depth}.")
    return depth


def _form_of(file: Path, asked: Form) -> Form:
    ending = next((form for name, form in ENDINGS.items() if file.name.lower().endswith(name)), None)
    if ending is None and asked is Form.console:
        raise RequestError(f"Cannot tell the format of {file} from its ending; use one of {', '.join(ENDINGS)}.")
    if ending is not None and asked not in (Form.console, ending):
        raise RequestError(f"--{asked.name} and the ending of {file} contradict each other; leave one out.")
    return ending or asked


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
