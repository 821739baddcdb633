"""``diffprof show FILE``"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.sources import ENDINGS, saved_file
from diffprof.errors import FileFormatError, RequestError

if TYPE_CHECKING:
    from diffprof.record.profile import Profile


class Table(str, Enum):
    """What the rows of the table are: of what was measured, and of what was counted."""

    section = "section"
    component = "component"
    step = "step"
    memory = "memory"
    peak = "peak"
    cache = "cache"
    move = "move"
    kind = "kind"
    module = "module"
    attention = "attention"
    call = "call"


app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def show(
    profile: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A saved profile, .json or .json.gz, or the folder of `diffprof run`."),
    ],
    by: Annotated[Table | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    depth: Annotated[
        str | None, typer.Option(metavar="N", help="Show the module tree to this depth; implies --by module.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv or .txt file."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages; errors only.")] = False,
) -> None:
    """Print a saved profile.

    Of a run that was measured all of it, or the table that is asked for. Nothing is counted or measured again, and
    neither torch nor diffusers is needed.
    """
    shown(
        lambda: load_saved(saved_file(str(profile)) or profile), str(profile),
        by=by, depth=depth, json=json, csv=csv, file=file, verbose=verbose, quiet=quiet,
    )  # fmt: skip


def shown(
    load: Callable[[], Profile],
    name: str,
    *,
    by: Table | None,
    depth: str | None,
    json: bool,
    csv: bool,
    file: Path | None,
    verbose: bool,
    quiet: bool,
    heading: str = "",
) -> None:
    """Write the profile that `load` gives as the options say; `name` is what it is called in an error.

    The `heading` is for people: it stands above a table that goes to the console.
    """
    from diffprof.cli.output import output
    from diffprof.cli.terminal import write_text
    from diffprof.render.profile_tables import ProfileTable
    from diffprof.render.run_tables import RunTable

    view = (
        None if by is None else ProfileTable(by.value) if by.value in ProfileTable.__members__ else RunTable(by.value)
    )
    result = output(json=json, csv=csv, file=file, by=view, depth=depth, verbose=verbose, quiet=quiet)
    loaded = load()
    if loaded.measured is None and isinstance(view, RunTable):
        counted = ", ".join(ProfileTable.__members__)
        raise RequestError(
            f"{name} was only counted, so it has no table by {view.value}; use one of {counted}, or measure a run."
        )
    if loaded.measured is not None and depth is None and (by is None or by.value in RunTable.__members__):
        result = replace(result, table=None if by is None else RunTable(by.value))
    if heading and result.format is None:
        write_text(f"{heading}\n")
    result.write(loaded)


def load_saved(file: Path) -> Profile:
    """The saved profile; an error says what to do about a file that is none."""
    from diffprof.record.files import load

    try:
        return load(file)
    except FileFormatError as error:
        advice = _advice(file, error)
        if not advice:
            raise
        raise FileFormatError(f"{str(error).rstrip('.')}; {advice}.") from error


def _advice(file: Path, error: FileFormatError) -> str:
    """What to do about a file that cannot be read; nothing where the error says it, or where nobody can know."""
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError):
        from diffprof import catalogue

        known = catalogue.content(str(file)) is not None
        return f"it is a model's name: count it with `diffprof profile {file}`" if known else ""
    if isinstance(cause, IsADirectoryError):
        return "name the profile in it"
    unreadable = isinstance(cause, OSError) and cause.errno is not None
    if unreadable or any(words in str(error) for words in ("upgrade diffprof", "make one with", "read it with")):
        return ""
    if isinstance(cause, UnicodeDecodeError) or not file.name.lower().endswith(ENDINGS):
        # It is something else, such as weights or a picture, that must not be written over.
        return "a profile is what `diffprof profile MODEL -o FILE.json` writes"
    again = f"make it again with `diffprof profile ... -o {file}`"
    return f"despite its name it is not compressed with gzip, {again}" if _is_falsely_gz(file) else again


def _is_falsely_gz(file: Path) -> bool:
    if not file.name.lower().endswith(".gz"):
        return False
    with file.open("rb") as opened:
        return opened.read(2) != b"\x1f\x8b"
