"""``diffprof show FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof import catalogue
from diffprof.cli.output import output
from diffprof.errors import FileFormatError
from diffprof.profiles.record import Profile
from diffprof.render.views import By

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def show(
    profile: Annotated[Path, typer.Argument(metavar="FILE", help="A profile that was saved as .json or .json.gz.")],
    by: Annotated[By | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
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

    Nothing is counted again, and neither torch nor diffusers is needed.
    """
    result = output(json=json, csv=csv, file=file, by=by, depth=depth, verbose=verbose, quiet=quiet)
    result.write(_load(profile))


def _load(file: Path) -> Profile:
    from diffprof.profiles.files import load

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
        known = catalogue.content(str(file)) is not None
        return f"it is a model's name: count it with `diffprof profile {file}`" if known else ""
    unreadable = isinstance(cause, OSError) and cause.errno is not None
    if unreadable or "upgrade diffprof" in str(error) or "make one with" in str(error):
        return ""
    again = f"make it again with `diffprof profile ... -o {file}`"
    return f"despite its name it is not compressed with gzip, {again}" if _is_falsely_gz(file) else again


def _is_falsely_gz(file: Path) -> bool:
    if not file.name.lower().endswith(".gz"):
        return False
    with file.open("rb") as opened:
        return opened.read(2) != b"\x1f\x8b"
